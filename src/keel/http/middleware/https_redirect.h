// keel/http/middleware/https_redirect.h — redirects requests that arrived without TLS to https.
//
//   http::Router router;
//   router.use(http::HttpsRedirect());                    // of a listener on port 80, beside one with TLS
//   http::HttpsRedirect({.port = 8443})
//
// Each request, whatever its path, is redirected with 308 (RFC 9110 §15.4.9) to the same host, path and query with
// https; clients then repeat the request over https, with the same method and body. A request that already uses https,
// according to Request::scheme(), is not redirected. A request without a host (HTTP/1.0) is rejected with 400.
//
// Threads: one object for all workers.

#pragma once

#include <cstdint>
#include <optional>

#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::http {

// Where requests are redirected to.
struct HttpsRedirectOptions {
  std::uint16_t port = 443;
};

class HttpsRedirect {
 public:
  explicit HttpsRedirect(const HttpsRedirectOptions& options = {}) : options_(options) {}

  std::optional<Response> before(Request& request) const;

 private:
  const HttpsRedirectOptions options_;
};

}  // namespace keel::http
