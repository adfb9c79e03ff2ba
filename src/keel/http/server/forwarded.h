// keel/http/server/forwarded.h — the client, scheme and host of a request that arrived through proxies: Forwarded (RFC
// 7239), X-Forwarded-For, X-Real-IP, X-Forwarded-Proto, X-Forwarded-Host.
//
//   const Origin origin = origin_of(head, peer, {.proxies = networks, .forwarded_by = ForwardedBy::XForwarded});
//
// Anybody can send these fields, so they are believed only as far as the hops that wrote them are trusted: from the
// right, as long as the address that sent us an element is in one of the trusted networks. The client is the first
// address that is not, or the last one there is.
//
// A proxy writes one of the three fields that name the client, and lets pass what a client wrote of the others.
// Trust::forwarded_by says which one the proxies write; none of the others is looked at, whether that one is there or
// not. A value that is not an address (garbage, "unknown", an obfuscated name) leaves the peer's own address, and so do
// several X-Real-IP fields. Scheme and host come from the element of Forwarded that names the client, or from the last
// element of their X- field; what is neither http nor https, or is no host, counts as not there.
//
// Threads: functions.  Cost: one pass over these fields; no allocation.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "keel/http/message/parser.h"
#include "keel/io/address.h"
#include "keel/net/network.h"

namespace keel::io {
class Engine;
}

namespace keel {
class SingleWriterCounter;
}

namespace keel::http {

// Which fields the trusted proxies write.
enum class ForwardedBy : std::uint8_t {
  XForwarded,  // X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host: nginx, HAProxy, Envoy, load balancers.
  Forwarded,   // Forwarded (RFC 7239).
  XRealIp,     // X-Real-IP, which is one address, X-Forwarded-Proto, X-Forwarded-Host: many configurations of nginx.
};

// Which proxies are trusted about a fact.
enum class Whom : std::uint8_t { Nobody, TrustedProxies, Everybody };

// Which proxies are trusted about each fact that a request states about itself. The client's address is believed from
// trusted proxies alone.
struct Believed {
  Whom proto = Whom::TrustedProxies;  // Request::scheme(): X-Forwarded-Proto, or proto= of Forwarded.
  // Request::host(): X-Forwarded-Host, or host= of Forwarded. Nobody: few proxies set it, and a proxy that does not set
  // it lets a client choose the host that links and redirects are made of. The request's own Host remains.
  Whom host = Whom::Nobody;
  Whom request_id = Whom::TrustedProxies;  // Request::id(): X-Request-Id.
  Whom trace = Whom::TrustedProxies;       // Request::trace(): traceparent.
  Whom deadline = Whom::TrustedProxies;    // X-Request-Deadline-Ms, which can only shorten the time of a handler.
};

// The trusted proxies, and what is believed of them; `proxies` must outlive it.
struct Trust {
  std::span<const Network> proxies = {};
  ForwardedBy forwarded_by = ForwardedBy::XForwarded;
  Believed believed = {};

  // Whether there may be a peer whose word is taken.
  bool may_believe(Whom whom) const noexcept {
    return whom == Whom::Everybody || (whom == Whom::TrustedProxies && !proxies.empty());
  }
};

// Where a request came from: the client's address, the scheme and the host.
struct Origin {
  Address client;              // Port 0 where none was given.
  std::string_view scheme;     // "http" or "https".
  std::string_view host;       // Without a port; views into the head.
  std::string_view authority;  // With the port, where one was given.
};

// The common facts about all requests of one listener, from which their origin is determined.
struct Arrival {
  io::Engine* engine = nullptr;
  Trust trust = {};
  std::string_view scheme = "http";     // The scheme of its connections.
  SingleWriterCounter* bugs = nullptr;  // Requests that met one, of the worker.
};

// Determines the client, the scheme and the host of a request; `scheme` is that of the connection.
Origin origin_of(const RequestHead& head, const Address& peer, const Trust& trust,
                 std::string_view scheme = "http") noexcept;

// The part of an address that identifies a client: four bytes of IPv4, the eight bytes of a /64 of IPv6, which one
// household has, and nothing for a Unix socket. A view into `address`.
std::string_view client_of(const Address& address) noexcept;

// Whether `address` lies in one of the networks of `trusted`.
bool is_trusted(const Address& address, std::span<const Network> trusted) noexcept;

}  // namespace keel::http
