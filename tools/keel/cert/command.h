// `keel cert`: makes certificates for development.

#pragma once

#include <string>
#include <vector>

namespace keel::cert {

// Returns the exit code, which the command's help explains.
int run_command(const std::vector<std::string>& arguments);

}  // namespace keel::cert
