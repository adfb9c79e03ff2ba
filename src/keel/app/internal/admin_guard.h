// keel/app/internal/admin_guard.h — checks each request to a listener for operators before a page sees it.
//
// A web page can make a browser send requests to this listener under a host name that the owner of the web page
// controls (DNS rebinding), and could then read the responses. Therefore a request whose Host is not an IP address,
// `localhost` or a configured name is rejected with 421. A request of HTTP/1.0 without Host is accepted, because no
// browser sends such a request. Response fields tell browsers not to give the pages to other origins, and not to guess
// the types of the pages.
//
// Threads: any number of requests may be checked at the same time.
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
  // `names` are hosts without a port, compared case-insensitively; `names` must outlive the AdminGuard.
  explicit AdminGuard(const std::vector<std::string>& names) : names_(names) {}

  std::optional<http::Response> before(http::Request& request) const;
  void after(http::Request& request, http::Response& response) const;

 private:
  bool is_ours(std::string_view host) const;

  const std::vector<std::string>& names_;
};

}  // namespace keel::app::internal
