// `keel gen`: the C++ of a contract.

#pragma once

#include <string>
#include <vector>

namespace keel::gen {

// The exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::gen
