// `keel load`: reads options, and prints a report.

#pragma once

#include <string>
#include <vector>

namespace keel::load {

// Returns the exit code; see help().
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::load
