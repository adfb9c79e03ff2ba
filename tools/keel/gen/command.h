// `keel gen`: generates the C++ code for a contract.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gen/output.h"

namespace keel::gen {

// Set the options from the values of `--generate` and `--operations`, such as "server,client" and "getPet,listPets".
// set_generated() returns false if the value is wrong.
bool set_generated(Options& options, std::string_view value);
void set_operations(Options& options, std::string_view value);

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::gen
