// keel/http/client/tunnel.h — makes a connection to a server through an HTTP proxy, with the method CONNECT (RFC 9110
// §9.3.6).
//
//   Stream plain = co_await Stream::connect(resolver, proxy.host(), proxy.port());
//   Stream tunnel = co_await open_tunnel(std::move(plain), proxy, url);      // to url.host() and url.port()
//
// The proxy can read only the host, the port and the Proxy-Authorization meant for it; the rest of the request passes
// through the tunnel.
//
// Result:   after success, all bytes written to the stream reach the server. No byte from the server has been read yet,
//           so the TLS handshake can begin.
// Errors:   the message names the proxy and its response. Upstream: a status other than 2xx and 5xx, such as 407 or
//           403; a response that is not HTTP, that has a head above 64 KiB, or that is followed by further bytes.
//           Unavailable: a 5xx, which means that the proxy cannot reach the server; or the connection ended before the
//           response was complete. The body of a response that rejects the request is not read, because it comes from
//           the proxy, not from the server.
// Lifetime: `proxy` and `target` must live until open_tunnel() completes.
// Cancel:   the connection is closed.

#pragma once

#include "keel/http/client/proxy.h"
#include "keel/http/client/url.h"
#include "keel/net/stream.h"
#include "keel/task/task.h"

namespace keel::http {

// The error for a status that the proxy itself has sent, such as 407, with a message such as "it responded with 407
// Proxy Authentication Required: …".
Error refused_by(const Proxy& proxy, int status);

// Sends CONNECT to `proxy` over `plain`, to request a connection to `target`; the returned stream is `plain`, which is
// then connected to `target`.
Task<Stream> open_tunnel(Stream plain, const Proxy& proxy, const Url& target);

}  // namespace keel::http
