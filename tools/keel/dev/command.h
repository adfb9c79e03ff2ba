// `keel dev`: a service that is built and started again when a file is saved, and that never stops listening.

#pragma once

#include <string>
#include <vector>

namespace keel::dev {

// The exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::dev
