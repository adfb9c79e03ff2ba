#include "keel/app/internal/admin_guard.h"

#include <algorithm>

#include "keel/http/message/fields.h"
#include "keel/http/server/problem.h"
#include "keel/io/address.h"

namespace keel::app::internal {

bool AdminGuard::is_ours(std::string_view host) const {
  if (host.starts_with('[') && host.ends_with(']')) {
    host.remove_prefix(1);
    host.remove_suffix(1);
  } else if (host.ends_with('.')) {
    host.remove_suffix(1);
  }
  const auto is_host = [host](std::string_view name) { return http::equals_ignore_case(host, name); };
  return is_host("localhost") || Address::ip(host, 0) || std::ranges::any_of(names_, is_host);
}

std::optional<http::Response> AdminGuard::before(http::Request& request) const {
  if (request.host().empty() || is_ours(request.host())) return std::nullopt;
  http::Response response = http::refuse(http::Status::MisdirectedRequest,
                                         "the host must be an IP address, localhost or a name in "
                                         "monitoring.metrics.export_names: this listener accepts no other host");
  after(request, response);
  return response;
}

void AdminGuard::after(http::Request&, http::Response& response) const {
  response.header("X-Content-Type-Options", "nosniff");
  response.header("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace keel::app::internal
