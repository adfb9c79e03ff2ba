// keel/http/middleware/security_headers.h — sets response fields that make browsers stricter (OWASP Secure Headers).
//
//   router.use(http::SecurityHeaders());
//   router.group("/pages").use(http::SecurityHeaders({.content_security_policy = "default-src 'self'"}));
//
// A field that the handler or an inner middleware has already set keeps its value.
//
// Threads: one object for all workers.
// Cost:    for each field that is set, a search of the response's fields; no heap.

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/time.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::http {

// An empty text means that the field is not sent. The defaults are for an API, which shows no pages.
struct SecurityHeadersOptions {
  std::string content_security_policy = "default-src 'none'; frame-ancestors 'none'";
  std::string frame_options = "DENY";  // X-Frame-Options, for browsers that do not support frame-ancestors.
  std::string referrer_policy = "no-referrer";
  std::string cross_origin_opener_policy = "same-origin";
  std::string cross_origin_resource_policy = "same-origin";
  std::string permissions_policy = {};
  // X-Content-Type-Options: browsers must not guess a content type other than the one that was sent.
  bool nosniff = true;
  // Strict-Transport-Security (RFC 6797): how long browsers reject plain HTTP. Use it only if the whole site is served
  // with TLS, either by this server or by a proxy in front of this server. Zero: not sent.
  Duration hsts_max_age = {};
  bool hsts_subdomains = true;
};

class SecurityHeaders {
 public:
  // An option that contains a control character is a bug and aborts.
  explicit SecurityHeaders(const SecurityHeadersOptions& options = {});

  void after(Request& request, Response& response) const;

 private:
  std::vector<std::pair<std::string_view, std::string>> fields_;
};

}  // namespace keel::http
