// keel/http/server/forwarded.h — finds the client, scheme and host of a request that arrived through proxies, in these
// fields: Forwarded (RFC 7239), X-Forwarded-For, X-Real-IP, X-Forwarded-Proto, X-Forwarded-Host.
//
//   const Origin origin = origin_of(head, peer, {.proxies = networks, .forwarded_by = ForwardedBy::XForwarded});
//
// Anybody can send the fields that proxies use, so an element is trusted only if a trusted proxy wrote it. The elements
// are read from right to left, as long as the address of the sender that wrote the element is in one of the trusted
// networks. The client is the first address found that is in none of the trusted networks; if there is no such address,
// the client is the leftmost address.
//
// A proxy writes one of the three fields that name the client, and forwards the other two as the client sent them.
// Trust::forwarded_by says which of the three fields the proxies write; the other two fields are ignored, even if the
// field that the proxies write is missing. If the value is not an address (garbage, "unknown", an obfuscated name), or
// if there are several X-Real-IP fields, the address of the peer is used. The scheme and the host come from the element
// of Forwarded that names the client, or from the last element of X-Forwarded-Proto and X-Forwarded-Host. A scheme
// other than http and https, and an invalid host, are treated as missing.
//
// Threads: functions.
// Cost:    one pass over the forwarded fields; no allocation.

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
  // X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host: written by nginx, HAProxy, Envoy and load balancers.
  XForwarded,
  Forwarded,  // Forwarded (RFC 7239).
  XRealIp,    // X-Real-IP (one address), X-Forwarded-Proto, X-Forwarded-Host: used in many configurations of nginx.
};

// The peers that are trusted to state a fact.
enum class TrustedPeers : std::uint8_t { Nobody, TrustedProxies, Everybody };

// For each fact that a request may state about itself, says which peers are trusted to state it. There is no member for
// the client's address, because the address is accepted only from trusted proxies.
struct Believed {
  TrustedPeers proto = TrustedPeers::TrustedProxies;  // Request::scheme(): X-Forwarded-Proto, or proto= of Forwarded.
  // Request::host(): from X-Forwarded-Host, or from host= of Forwarded. The default is Nobody, because few proxies set
  // the field; behind a proxy that does not set it, a client could choose the host that appears in links and redirects.
  // If the forwarded host is not trusted, the Host of the request is used.
  TrustedPeers host = TrustedPeers::Nobody;
  TrustedPeers request_id = TrustedPeers::TrustedProxies;  // Request::id(): X-Request-Id.
  TrustedPeers trace = TrustedPeers::TrustedProxies;       // Request::trace(): traceparent.
  TrustedPeers deadline =
      TrustedPeers::TrustedProxies;  // X-Request-Deadline-Ms, which can only reduce the time that a handler has.
};

// The trusted proxies, and the facts that a request may state about itself; `proxies` must outlive the Trust.
struct Trust {
  std::span<const Network> proxies = {};
  ForwardedBy forwarded_by = ForwardedBy::XForwarded;
  Believed believed = {};

  // Whether a peer could belong to `peers`.
  bool may_believe(TrustedPeers peers) const noexcept {
    return peers == TrustedPeers::Everybody || (peers == TrustedPeers::TrustedProxies && !proxies.empty());
  }
};

// The origin of a request: the client's address, the scheme and the host.
struct Origin {
  Address client;              // The port is 0 if it is unknown.
  std::string_view scheme;     // "http" or "https".
  std::string_view host;       // Without the port. Host and authority are views into the head.
  std::string_view authority;  // The host, and the port if a port was given.
};

// The values that all requests of one listener have in common.
struct Arrival {
  io::Engine* engine = nullptr;
  Trust trust = {};
  std::string_view scheme = "http";      // The scheme of the connections to the listener.
  SingleWriterCounter* bugs = nullptr;   // Counts the requests of this worker that failed because of a bug.
  RepeatedFailures* failures = nullptr;  // Writes the log lines about failed requests of this worker.
};

// Determines the client, the scheme and the host of a request; `scheme` is the scheme of the connection.
Origin origin_of(const RequestHead& head, const Address& peer, const Trust& trust,
                 std::string_view scheme = "http") noexcept;

// The part of an address that identifies a client: the four bytes of an IPv4 address; the first eight bytes of an IPv6
// address (its /64 network, which usually belongs to one household); nothing for a Unix socket. The result is a view
// into `address`.
std::string_view client_of(const Address& address) noexcept;

// Whether `address` lies in one of the networks of `trusted`.
bool is_trusted(const Address& address, std::span<const Network> trusted) noexcept;

}  // namespace keel::http
