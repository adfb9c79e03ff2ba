// `keel new`: turns an empty folder into a service.

#pragma once

#include <string>
#include <vector>

namespace keel::create {

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::create
