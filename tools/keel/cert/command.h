// `keel cert`: makes certificates for development.

#pragma once

#include <string>
#include <vector>

namespace keel::cert {

// Returns the exit code; see its help.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::cert
