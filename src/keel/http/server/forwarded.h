// keel/http/server/forwarded.h — the client, scheme and host of a request that arrived through proxies: Forwarded (RFC
// 7239), X-Forwarded-For, X-Real-IP, X-Forwarded-Proto, X-Forwarded-Host.
//
//   const Origin origin = origin_of(head, peer, {.proxies = networks, .forwarded_by = ForwardedBy::XForwarded});
//
// Anybody can send these fields, so an element is trusted only if a trusted proxy wrote it: elements are read from the
// right, as long as the address that sent the element is in one of the trusted networks. The client is the first
// address that is in none of these networks, or else the leftmost address.
//
// A proxy writes one of the three fields that name the client, and passes on the other two as the client wrote them.
// Trust::forwarded_by says which one the proxies write; the other two are ignored, even if the named one is missing. A
// value that is not an address (garbage, "unknown", an obfuscated name) is ignored and the peer's own address is used;
// the same holds for more than one X-Real-IP field. Scheme and host come from the element of Forwarded that names the
// client, or from the last element of their X- field; a scheme other than http and https, or an invalid host, counts as
// missing.
//
// Threads: functions.
// Cost:    one pass over these fields; no allocation.

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

class RepeatedFailures;

// The field that the trusted proxies write.
enum class ForwardedBy : std::uint8_t {
  XForwarded,  // X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host: nginx, HAProxy, Envoy, load balancers.
  Forwarded,   // Forwarded (RFC 7239).
  XRealIp,     // X-Real-IP (one address), X-Forwarded-Proto, X-Forwarded-Host: many configurations of nginx.
};

// The peers whose statement about a fact is trusted.
enum class TrustedPeers : std::uint8_t { Nobody, TrustedProxies, Everybody };

// The peers that are trusted about each fact that a request states about itself. The client's address is accepted only
// from trusted proxies.
struct Believed {
  TrustedPeers proto = TrustedPeers::TrustedProxies;  // Request::scheme(): X-Forwarded-Proto, or proto= of Forwarded.
  // Request::host(): X-Forwarded-Host, or host= of Forwarded. The default is Nobody, because few proxies set the field,
  // and behind a proxy that does not, a client could choose the host in links and redirects. Otherwise the Host of the
  // request is used.
  TrustedPeers host = TrustedPeers::Nobody;
  TrustedPeers request_id = TrustedPeers::TrustedProxies;  // Request::id(): X-Request-Id.
  TrustedPeers trace = TrustedPeers::TrustedProxies;       // Request::trace(): traceparent.
  TrustedPeers deadline =
      TrustedPeers::TrustedProxies;  // X-Request-Deadline-Ms, which can only shorten the time of a handler.
};

// The trusted proxies, and the facts about which they are trusted; `proxies` must outlive the Trust.
struct Trust {
  std::span<const Network> proxies = {};
  ForwardedBy forwarded_by = ForwardedBy::XForwarded;
  Believed believed = {};

  // Whether some peer can be one of `peers`.
  bool may_believe(TrustedPeers peers) const noexcept {
    return peers == TrustedPeers::Everybody || (peers == TrustedPeers::TrustedProxies && !proxies.empty());
  }
};

// The origin of a request: the client's address, the scheme and the host.
struct Origin {
  Address client;              // Port 0 if none was given.
  std::string_view scheme;     // "http" or "https".
  std::string_view host;       // Without the port. Host and authority are views into the head.
  std::string_view authority;  // The host, with the port if one was given.
};

// The common facts about all requests of one listener, from which their origin is determined.
struct Arrival {
  io::Engine* engine = nullptr;
  Trust trust = {};
  std::string_view scheme = "http";      // The scheme of the listener's connections.
  SingleWriterCounter* bugs = nullptr;   // Counts the requests of the worker that met a bug.
  RepeatedFailures* failures = nullptr;  // Logs the failed requests of the worker.
};

// Determines the client, the scheme and the host of a request; `scheme` is that of the connection.
Origin origin_of(const RequestHead& head, const Address& peer, const Trust& trust,
                 std::string_view scheme = "http") noexcept;

// The part of an address that identifies a client: four bytes of IPv4, the eight bytes of a /64 of IPv6, which belongs
// to one household, and nothing for a Unix socket. A view into `address`.
std::string_view client_of(const Address& address) noexcept;

// Whether `address` lies in one of the networks of `trusted`.
bool is_trusted(const Address& address, std::span<const Network> trusted) noexcept;

}  // namespace keel::http
