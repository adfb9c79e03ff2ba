// keel/app/internal/admin_guard.h — the checks in front of the pages of a listener for operators.
//
// A web page can make a browser send requests to the listener under a name that the page's owner controls (DNS
// rebinding), and could then read the responses. Therefore a Host that is not an IP address, `localhost` or a
// configured name gets 421. HTTP/1.0 without Host is accepted, because no browser sends it. Response fields tell
// browsers not to give the pages to other origins, and not to guess their types.
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
  // `names` are hosts without a port, compared without regard to case; `names` must outlive the AdminGuard.
  explicit AdminGuard(const std::vector<std::string>& names) : names_(names) {}

  std::optional<http::Response> before(http::Request& request) const;
  void after(http::Request& request, http::Response& response) const;

 private:
  bool is_ours(std::string_view host) const;

  const std::vector<std::string>& names_;
};

}  // namespace keel::app::internal
