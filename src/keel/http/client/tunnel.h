// keel/http/client/tunnel.h — a connection to a server through an HTTP proxy: CONNECT (RFC 9110 §9.3.6).
//
//   Stream plain = co_await Stream::connect(resolver, proxy.host(), proxy.port());
//   Stream tunnel = co_await open_tunnel(std::move(plain), proxy, url);      // to url.host() and url.port()
//
// The proxy is told the host, the port and its own Proxy-Authorization, nothing else of what is asked.
//
// Result:   what is written from now on, the server reads. No byte of it has come yet, so that TLS may begin.
// Errors:   the message names the proxy and says what it answered. Upstream: another status than 2xx and 5xx, as 407
//           and 403; a response that is not HTTP, or has a head above 64 KiB, or has bytes behind it. Unavailable: 5xx,
//           for the proxy does not reach the server, or the connection ended before the response. The body of such a
//           response is not read: it is not the server's.
// Lifetime: `proxy` and `target` live until then.
// Cancel:   the connection is closed.

#pragma once

#include "keel/http/client/proxy.h"
#include "keel/http/client/url.h"
#include "keel/net/stream.h"
#include "keel/task/task.h"

namespace keel::http {

// What a status of `proxy` itself says, as 407: "it answered 407 Proxy Authentication Required: …".
Error refused_by(const Proxy& proxy, int status);

Task<Stream> open_tunnel(Stream plain, const Proxy& proxy, const Url& target);

}  // namespace keel::http
