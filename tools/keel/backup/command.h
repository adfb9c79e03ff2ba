// `keel backup`: copies an SQLite database while a service uses it.

#pragma once

#include <string>
#include <vector>

namespace keel::backup {

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::backup
