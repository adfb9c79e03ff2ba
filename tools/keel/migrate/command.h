// `keel migrate`: the migrations of a database, by hand.

#pragma once

#include <string>
#include <vector>

namespace keel::migrate {

// The exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::migrate
