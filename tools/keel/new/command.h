// `keel new`: an empty folder that becomes a service.

#pragma once

#include <string>
#include <vector>

namespace keel::create {

// The exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::create
