// keel/net/network.h — a block of addresses, and whether an address is in it.
//
//   Network inside = Network::parse("10.0.0.0/8").value();
//   if (inside.contains(stream.peer_address())) …
//
// Threads: a value.
// Cost:    a comparison of at most 16 bytes.

#pragma once

#include <cstdint>
#include <string_view>

#include "keel/base/result.h"
#include "keel/io/address.h"

namespace keel {

// A block of addresses: "10.0.0.0/8", "fd00::/8", the single address "192.0.2.7", or "unix": every client of a Unix
// socket.
class Network {
 public:
  // The error is InvalidArgument, and its message says what is wrong. Bits after the prefix are ignored.
  static Result<Network> parse(std::string_view text);
  // An IPv4 address of a peer on an IPv6 socket (::ffff:192.0.2.7) counts as the IPv4 address. An empty address is in
  // no block.
  bool contains(const Address& address) const noexcept;

 private:
  std::uint8_t bytes_[16] = {};
  int family_ = 0;
  int prefix_ = 0;
};

}  // namespace keel
