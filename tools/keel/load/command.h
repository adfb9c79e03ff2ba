// `keel load`: options in, report out.

#pragma once

#include <string>
#include <vector>

namespace keel::load {

// The exit code; see help().
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::load
