// Checks and reads the address, port and socket_mode of a section.

#pragma once

#include <cstdint>
#include <string>

#include "keel/base/result.h"
#include "keel/io/address.h"

namespace keel::app::internal {

// Returns InvalidArgument if `address` is neither an IP address nor unix:/path.
Result<Address> listen_address_of(const std::string& address, std::uint16_t port);
// Returns zero for an empty text. Returns InvalidArgument if `socket_mode` is not a mode, or if the address is not that
// of a Unix socket.
Result<std::uint32_t> socket_mode_of(const std::string& address, const std::string& socket_mode);

}  // namespace keel::app::internal
