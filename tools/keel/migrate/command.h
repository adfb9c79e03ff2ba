// `keel migrate`: applies the migrations of a database by hand.

#pragma once

#include <string>
#include <vector>

namespace keel::migrate {

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::migrate
