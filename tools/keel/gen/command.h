// `keel gen`: generates the C++ of a contract.

#pragma once

#include <string>
#include <vector>

namespace keel::gen {

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::gen
