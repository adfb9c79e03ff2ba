// `keel dev`: rebuilds and restarts a service when a file is saved. The service keeps listening during a restart.

#pragma once

#include <string>
#include <vector>

namespace keel::dev {

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::dev
