// `keel gen`: generates the C++ code for a contract.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gen/output.h"

namespace keel::gen {

// Sets the options that `--generate` and `--operations` select: "server,client", and "getPet,listPets". False if the
// value is wrong.
bool set_generated(Options& options, std::string_view value);
void set_operations(Options& options, std::string_view value);

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::gen
