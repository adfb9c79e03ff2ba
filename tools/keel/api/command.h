// `keel api`: finds mistakes in an OpenAPI document, and changes to the document that break clients.

#pragma once

#include <string>
#include <vector>

namespace keel::api {

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::api
