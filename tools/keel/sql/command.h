// `keel sql`: finds mistakes in the SQL of a program before it runs.

#pragma once

#include <string>
#include <vector>

namespace keel::sql {

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::sql
