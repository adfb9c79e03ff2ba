// keel/app/internal/admin_guard.h — what stands in front of the pages of a listener for operators.
//
// A web page that somebody opens beside it can have its browser ask the listener by a name of its own (DNS rebinding),
// and would read the response: a Host that is no IP address, `localhost` or a configured name is 421. HTTP/1.0 without
// Host, which no browser sends, passes. Browsers keep what they get from other origins, and do not guess its type.
//
// Threads: any number of concurrent requests.
// Source:  RFC 9110 §15.5.20, §7.4; Fetch standard, "X-Content-Type-Options", "Cross-Origin-Resource-Policy".

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::app::internal {

class AdminGuard {
 public:
  // `names`: hosts without a port, which outlive this; compared without regard to case.
  explicit AdminGuard(const std::vector<std::string>& names) : names_(names) {}

  std::optional<http::Response> before(http::Request& request) const;
  void after(http::Request& request, http::Response& response) const;

 private:
  bool is_ours(std::string_view host) const;

  const std::vector<std::string>& names_;
};

}  // namespace keel::app::internal
