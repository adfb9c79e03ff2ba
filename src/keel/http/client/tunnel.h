// keel/http/client/tunnel.h — a connection to a server through an HTTP proxy, by CONNECT (RFC 9110 §9.3.6).
//
//   Stream plain = co_await Stream::connect(resolver, proxy.host(), proxy.port());
//   Stream tunnel = co_await open_tunnel(std::move(plain), proxy, url);      // to url.host() and url.port()
//
// Of the request, the proxy sees only the host, the port and its own Proxy-Authorization.
//
// Result:   success means that bytes written to the stream from now on reach the server. No byte of the tunnel has
//           arrived yet, so the TLS handshake can begin.
// Errors:   the message names the proxy and its response. Upstream: a status other than 2xx and 5xx, such as 407 or
//           403; a response that is not HTTP, has a head above 64 KiB, or is followed by further bytes. Unavailable: a
//           5xx, because the proxy does not reach the server; or the connection ended before the response. The body of
//           such a response is not read: it is not the server's.
// Lifetime: `proxy` and `target` must live until open_tunnel() completes.
// Cancel:   the connection is closed.

#pragma once

#include "keel/http/client/proxy.h"
#include "keel/http/client/url.h"
#include "keel/net/stream.h"
#include "keel/task/task.h"

namespace keel::http {

// The message for a status of `proxy` itself, such as 407: "it responded with 407 Proxy Authentication Required: …".
Error refused_by(const Proxy& proxy, int status);

// Requests a connection to `target` from `proxy` by CONNECT; the returned stream is `plain`, which is then connected to
// `target`.
Task<Stream> open_tunnel(Stream plain, const Proxy& proxy, const Url& target);

}  // namespace keel::http
