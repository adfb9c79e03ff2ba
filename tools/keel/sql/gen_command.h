// `keel gen sql`: the C++ of files of queries.

#pragma once

#include <string>
#include <vector>

namespace keel::sql {

// The exit code; see its help. `arguments` begin behind `keel gen sql`.
int run_gen_command(const std::vector<std::string>& arguments);

}  // namespace keel::sql
