#include "keel/net/network.h"

#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <string>

namespace keel {
namespace {

struct Bytes {
  std::uint8_t at[16] = {};
  int family = AF_UNSPEC;
};

Bytes bytes_of(const Address& address) noexcept {
  Bytes bytes;
  bytes.family = address.family();
  if (bytes.family == AF_INET) {
    std::memcpy(bytes.at, &reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr, 4);
  } else if (bytes.family == AF_INET6) {
    const in6_addr& from = reinterpret_cast<const sockaddr_in6*>(address.system())->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&from)) {
      bytes.family = AF_INET;
      std::memcpy(bytes.at, from.s6_addr + 12, 4);
    } else {
      std::memcpy(bytes.at, from.s6_addr, 16);
    }
  }
  return bytes;
}

}  // namespace

Result<Network> Network::parse(std::string_view text) {
  Network network;
  if (text == "unix") {
    network.family_ = AF_UNIX;
    return network;
  }
  if (text.find('%') != std::string_view::npos) {
    return Error::text(Code::InvalidArgument,
                       "network '" + std::string(text) +
                           "': expected an address without a zone, because a network applies to every link");
  }
  const std::size_t slash = text.find('/');
  const Result<Address> address = Address::ip(text.substr(0, slash), 0);
  if (!address) {
    return Error::text(
        Code::InvalidArgument,
        "network '" + std::string(text) +
            "': expected an IP address, a network such as 10.0.0.0/8, or unix for all clients of Unix sockets");
  }
  const Bytes bytes = bytes_of(*address);
  std::memcpy(network.bytes_, bytes.at, sizeof bytes.at);
  network.family_ = bytes.family;
  network.prefix_ = bytes.family == AF_INET ? 32 : 128;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    int prefix = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
    if (error != std::errc() || end != digits.data() + digits.size() || prefix < 0 || prefix > network.prefix_) {
      return Error::text(Code::InvalidArgument, "network '" + std::string(text) +
                                                    "': the prefix must be a number from 0 to " +
                                                    std::to_string(network.prefix_));
    }
    network.prefix_ = prefix;
  }
  return network;
}

bool Network::contains(const Address& address) const noexcept {
  const Bytes bytes = bytes_of(address);
  if (bytes.family != family_ || family_ == AF_UNSPEC) return false;
  const int whole = prefix_ / 8;
  if (std::memcmp(bytes.at, bytes_, static_cast<std::size_t>(whole)) != 0) return false;
  const int bits = prefix_ % 8;
  return bits == 0 || (bytes.at[whole] ^ bytes_[whole]) >> (8 - bits) == 0;
}

}  // namespace keel
