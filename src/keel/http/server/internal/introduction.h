// keel/http/server/internal/introduction.h — the client for which a trusted proxy has made a connection: the PROXY
// protocol (net/proxy_header.h) in front of the first request, and of TLS.
//
// Internal to http. A connection that has to begin with a header has an Introduction after it, in the same block of
// memory; other connections use no memory for it. introduction.cc implements how connections begin, and the states of
// such a connection until the header is complete:
//
//   Introducing ──header, plain──▶ Head
//        └─ header, with TLS ─▶ Introduced ──the receive has ended──▶ Head, on a layer that begins with what had come
//
// Threads: the worker.

#pragma once

#include "keel/io/address.h"

namespace keel::http {

struct Introduction {
  // The address of the other end: the proxy, until the header names its client. Empty if the proxy does not name its
  // client; nothing that this client says about itself is then trusted.
  Address peer;
};

// The other end of a connection: the peer of its descriptor, or the address that a proxy has named.
struct Remote {
  int fd;
  const Introduction* introduction;  // Null: no proxy has introduced it.
};

}  // namespace keel::http
