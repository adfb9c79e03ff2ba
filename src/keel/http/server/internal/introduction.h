// keel/http/server/internal/introduction.h — the client for which a trusted proxy has made a connection: the PROXY
// protocol (net/proxy_header.h) in front of the first request, and of TLS.
//
// Internal to http. A connection that is to begin with a header has an Introduction behind it, in the same block of
// memory; others have no byte of it. introduction.cc has how connections begin, and what such a one does until the
// header is over:
//
//   Introducing ──header, plain──▶ Head
//        └─ header, with TLS ─▶ Introduced ──the receive has ended──▶ Head, on a layer that begins with what had come
//
// Threads: the worker.

#pragma once

#include "keel/io/address.h"

namespace keel::http {

struct Introduction {
  // Who is at the other end: the proxy, until the header names its client. Empty where it has a client that it does not
  // name: nobody trusts that one.
  Address peer;
};

// The other end of a connection: the peer of its descriptor, or the address that a proxy has named.
struct Remote {
  int fd;
  const Introduction* introduction;  // Null: nobody has introduced it.
};

}  // namespace keel::http
