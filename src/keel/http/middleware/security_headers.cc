#include "keel/http/middleware/security_headers.h"

#include "keel/base/check.h"
#include "keel/http/message/fields.h"

namespace keel::http {

SecurityHeaders::SecurityHeaders(const SecurityHeadersOptions& options) {
  const auto add = [this](std::string_view name, std::string_view value) {
    KEEL_CHECK(is_field_value(value),
               "the value of a security header must be a line of text without control characters");
    if (!value.empty()) fields_.emplace_back(name, value);
  };
  add("Content-Security-Policy", options.content_security_policy);
  add("X-Content-Type-Options", options.nosniff ? "nosniff" : "");
  add("X-Frame-Options", options.frame_options);
  add("Referrer-Policy", options.referrer_policy);
  add("Cross-Origin-Opener-Policy", options.cross_origin_opener_policy);
  add("Cross-Origin-Resource-Policy", options.cross_origin_resource_policy);
  add("Permissions-Policy", options.permissions_policy);
  if (options.hsts_max_age > Duration()) {
    add("Strict-Transport-Security", "max-age=" + std::to_string(options.hsts_max_age.count_ns() / 1'000'000'000) +
                                         (options.hsts_subdomains ? "; includeSubDomains" : ""));
  }
}

void SecurityHeaders::after(Request&, Response& response) const {
  for (const auto& [name, value] : fields_) {
    if (!response.field(name)) response.header(name, value);
  }
}

}  // namespace keel::http
