// keel/http/server/forwarded.h — who asked, and for what, when proxies stand between: Forwarded (RFC 7239) and
// X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host.
//
//   const Origin origin = origin_of(head, peer, trusted);
//
// Anybody can send these fields, so they are believed only as far as the hops that wrote them are trusted: from the
// right, as long as the address that sent us an element is in one of the `trusted` networks. The client is the first
// address that is not, or the last one there is. Without a trusted peer the fields are not looked at.
//
// A proxy writes Forwarded or the X- fields, and may let pass what a client wrote of the others. Where both Forwarded
// and X-Forwarded-For are there, they have to say the same: when they name different clients, the peer's own address,
// scheme and host remain, and when they differ in scheme or host, that one does. Without X-Forwarded-For, Forwarded is
// looked at and the X- fields are not: a proxy that writes X- fields writes this one. What is not an address (garbage,
// "unknown", a name that hides one) leaves the peer's own. Scheme and host come from the element that names the client,
// or from the last element of their X- field; what is neither http nor https, or is no host, counts as not there.
//
// Threads: functions.  Cost: one pass over these fields; no allocation.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "keel/base/result.h"
#include "keel/http/message/parser.h"
#include "keel/io/address.h"

namespace keel::io {
class Engine;
}

namespace keel::http {

// A block of addresses: "10.0.0.0/8", "fd00::/8", one address "192.0.2.7", or "unix": every client of a Unix socket.
class Network {
 public:
  // InvalidArgument says what is wrong. Bits behind the prefix are not looked at.
  static Result<Network> parse(std::string_view text);
  // An IPv4 address that came over an IPv6 socket (::ffff:192.0.2.7) is the IPv4 address.
  bool contains(const Address& address) const noexcept;

 private:
  std::uint8_t bytes_[16] = {};
  int family_ = 0;
  int prefix_ = 0;
};

struct Origin {
  Address client;           // Port 0 where none was told.
  std::string_view scheme;  // "http" or "https".
  std::string_view host;    // Without a port; views into the head.
};

// What all requests of one listener have in common, for those who ask where they came from.
struct Arrival {
  io::Engine* engine = nullptr;
  std::span<const Network> trusted = {};
};

Origin origin_of(const RequestHead& head, const Address& peer, std::span<const Network> trusted) noexcept;

bool is_trusted(const Address& address, std::span<const Network> trusted) noexcept;

}  // namespace keel::http
