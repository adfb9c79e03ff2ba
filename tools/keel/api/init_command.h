// `keel api init`: writes the document of a service that has none.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::api {

// What --help prints.
extern const std::string_view init_help;

// Returns the exit code, which the command's help explains.
int run_init(const std::vector<std::string>& arguments);

}  // namespace keel::api
