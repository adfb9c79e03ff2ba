// `keel gen`: generates the C++ of a contract.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gen/output.h"

namespace keel::gen {

// Sets what `--generate` and `--operations` say: "server,client", and "getPet,listPets". False: the value is wrong.
bool set_generated(Options& options, std::string_view value);
void set_operations(Options& options, std::string_view value);

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::gen
