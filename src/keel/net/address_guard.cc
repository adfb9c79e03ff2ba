#include "keel/net/address_guard.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace keel {
namespace {

struct Network4 {
  std::uint32_t base;
  int bits;
};
constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c = 0, std::uint32_t d = 0) noexcept {
  return a << 24 | b << 16 | c << 8 | d;
}

constexpr Network4 special4[] = {
    {v4(0, 0), 8},      // This network (RFC 791 §3.2).
    {v4(10, 0), 8},     // Private (RFC 1918).
    {v4(100, 64), 10},  // Shared (RFC 6598).
    {v4(127, 0), 8},    // Loopback (RFC 1122 §3.2.1.3).
    // The services of an Azure host, including its metadata, at a public address that has no other use.
    {v4(168, 63, 129, 16), 32},
    {v4(169, 254), 16},      // Link-local (RFC 3927).
    {v4(172, 16), 12},       // Private (RFC 1918).
    {v4(192, 0, 0), 24},     // Protocol assignments (RFC 6890 §2.1).
    {v4(192, 0, 2), 24},     // Documentation (RFC 5737).
    {v4(192, 88, 99), 24},   // Relays of 6to4, deprecated (RFC 7526).
    {v4(192, 168), 16},      // Private (RFC 1918).
    {v4(198, 18), 15},       // Benchmarks (RFC 2544).
    {v4(198, 51, 100), 24},  // Documentation (RFC 5737).
    {v4(203, 0, 113), 24},   // Documentation (RFC 5737).
    {v4(224, 0), 4},         // Multicast (RFC 5771).
    {v4(240, 0), 4},         // Reserved, and broadcast (RFC 1112 §4, RFC 919).
};

bool is_public4(std::uint32_t address) noexcept {
  return std::ranges::none_of(
      special4, [&](const Network4& network) { return (address ^ network.base) >> (32 - network.bits) == 0; });
}

struct Network6 {
  std::array<std::uint8_t, 16> base;
  int bits;
};
using Bytes6 = std::array<std::uint8_t, 16>;

constexpr Network6 global6{{0x20}, 3};  // RFC 4291 §2.4.
constexpr Network6 special6[] = {
    {{0x20, 0x01}, 23},              // Protocol assignments, including Teredo, ORCHID and benchmarks (RFC 2928).
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // Documentation (RFC 3849).
    {{0x3f, 0xff}, 20},              // Documentation (RFC 9637).
};

// Networks whose addresses contain an IPv4 address, and the position of the IPv4 address.
struct Embedding {
  Network6 network;
  std::size_t at;
};
constexpr Embedding embeddings[] = {
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, 12},  // Mapped (RFC 4291 §2.5.5.2).
    {{{0, 0x64, 0xff, 0x9b}, 96}, 12},                       // NAT64 (RFC 6052 §2.1).
    {{{0x20, 0x02}, 16}, 2},                                 // 6to4 (RFC 3056 §2).
};

bool is_in(const Network6& network, const Bytes6& address) noexcept {
  const std::size_t whole = static_cast<std::size_t>(network.bits) / 8;
  if (!std::equal(network.base.begin(), network.base.begin() + whole, address.begin())) return false;
  const int rest = network.bits % 8;
  return rest == 0 || (network.base[whole] ^ address[whole]) >> (8 - rest) == 0;
}

bool is_public6(const Bytes6& address) noexcept {
  for (const auto& [network, at] : embeddings) {
    if (is_in(network, address)) {
      return is_public4(v4(address[at], address[at + 1], address[at + 2], address[at + 3]));
    }
  }
  return is_in(global6, address) &&
         std::ranges::none_of(special6, [&](const Network6& network) { return is_in(network, address); });
}

}  // namespace

bool public_addresses_only(const Address& address) noexcept {
  if (address.family() == AF_INET) {
    return is_public4(ntohl(reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr.s_addr));
  }
  if (address.family() != AF_INET6) return false;
  Bytes6 bytes;
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(address.system())->sin6_addr, bytes.size());
  return is_public6(bytes);
}

}  // namespace keel
