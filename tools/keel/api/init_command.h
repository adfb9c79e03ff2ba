// `keel api init`: the document of a service that has none.

#pragma once

#include <string>
#include <vector>

namespace keel::api {

// The exit code; see the help of `keel api`.
int run_init(const std::vector<std::string>& arguments);

}  // namespace keel::api
