// `keel api`: finds mistakes in an OpenAPI document, and what a change of it breaks.

#pragma once

#include <string>
#include <vector>

namespace keel::api {

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::api
