// `keel new`: turns an empty folder into a service.

#pragma once

#include <string>
#include <vector>

namespace keel::create {

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::create
