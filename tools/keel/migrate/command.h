// `keel migrate`: applies the migrations of a database by hand.

#pragma once

#include <string>
#include <vector>

namespace keel::migrate {

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::migrate
