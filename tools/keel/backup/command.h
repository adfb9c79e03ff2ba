// `keel backup`: copies an SQLite database while a service uses it.

#pragma once

#include <string>
#include <vector>

namespace keel::backup {

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::backup
