// `keel gen sql`: generates C++ from files of queries.

#pragma once

#include <string>
#include <vector>

namespace keel::sql {

// Returns the exit code, which the command's help explains. `arguments` begin after `keel gen sql`.
int run_gen_command(const std::vector<std::string>& arguments);

}  // namespace keel::sql
