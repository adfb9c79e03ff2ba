// keel/http/middleware/security_headers.h — response fields that make browsers more careful (OWASP Secure Headers).
//
//   router.use(http::SecurityHeaders());
//   router.group("/pages").use(http::SecurityHeaders({.content_security_policy = "default-src 'self'"}));
//
// A field that the handler or an inner middleware has set is kept.
//
// Threads: one object for all workers.
// Cost:    a search of the response's fields for each field that it sets; no heap.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/time.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::http {

// An empty text leaves its field out. The defaults are for an API, which shows no pages.
struct SecurityHeadersOptions {
  std::string content_security_policy = "default-src 'none'; frame-ancestors 'none'";
  std::string frame_options = "DENY";  // X-Frame-Options, for browsers that do not know frame-ancestors.
  std::string referrer_policy = "no-referrer";
  std::string cross_origin_opener_policy = "same-origin";
  std::string cross_origin_resource_policy = "same-origin";
  std::string permissions_policy = {};
  bool nosniff = true;  // X-Content-Type-Options: browsers must not guess another content type.
  // Strict-Transport-Security (RFC 6797): how long browsers reject plain HTTP. Use it only if everything is served with
  // TLS, by this server or one in front of it. Zero: not sent.
  Duration hsts_max_age = {};
  bool hsts_subdomains = true;
};

class SecurityHeaders {
 public:
  // An option that cannot be the value of a field is a bug and aborts.
  explicit SecurityHeaders(const SecurityHeadersOptions& options = {});

  void after(Request& request, Response& response) const;

 private:
  std::vector<std::pair<std::string_view, std::string>> fields_;
};

}  // namespace keel::http
