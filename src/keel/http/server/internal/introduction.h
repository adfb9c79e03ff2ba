// keel/http/server/internal/introduction.h — the client for which a trusted proxy has made a connection; the header of
// the PROXY protocol (net/proxy_header.h) names this client. The header comes before TLS and the first request.
//
// Internal to http. A connection that has to begin with a header has an Introduction directly after it, in the same
// block of memory; other connections use no memory for an Introduction. introduction.cc implements how connections
// begin, and the states of such a connection until the header is complete:
//
//   Introducing ──header, plain──▶ Head
//        └─ header, with TLS ─▶ Introduced ──the receive has ended──▶ Head, on a TLS layer that gets the received bytes
//
// Threads: the worker.

#pragma once

#include "keel/io/address.h"

namespace keel::http {

struct Introduction {
  // The address of the peer: the proxy's address until the header names the client. If the proxy does not name its
  // client, the address is empty, and no field in which this client describes itself is trusted.
  Address peer;
};

// The peer of a connection: the peer of its descriptor, or the address that a proxy has named.
struct Remote {
  int fd;
  const Introduction* introduction;  // Null: no proxy introduces the connection.
};

}  // namespace keel::http
