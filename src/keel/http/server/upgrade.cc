#include "keel/http/server/upgrade.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "keel/http/message/fields.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/request.h"

namespace keel::http {
namespace {

// Whether `wanted` is an element of a list, which may be spread over several fields.
bool lists(const RequestHead& head, std::string_view name, std::string_view wanted) noexcept {
  for (unsigned i = 0; i < head.field_count(); ++i) {
    const Field field = head.field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    if (http::lists(field.value, wanted)) return true;
  }
  return false;
}

struct Site {
  std::string_view scheme, host, port;  // The port as written; empty: the default of the scheme.
};

std::optional<Site> site_of(std::string_view text) noexcept {
  Site site;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  site.scheme = text.substr(0, colon);
  site.host = text.substr(colon + 3);
  const std::size_t end = site.host.find(':', site.host.starts_with('[') ? site.host.find(']') : 0);
  if (end != std::string_view::npos) {
    site.port = site.host.substr(end + 1);
    if (site.port.empty() || site.port.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    site.host = site.host.substr(0, end);
  }
  if (site.host.empty() || site.host.find_first_of("/?#@") != std::string_view::npos) return std::nullopt;
  return site;
}

std::string_view usual_port(std::string_view scheme) noexcept {
  if (equals_ignore_case(scheme, "https")) return "443";
  if (equals_ignore_case(scheme, "http")) return "80";
  return {};
}

}  // namespace

bool is_site(std::string_view text) noexcept { return site_of(text).has_value(); }

bool is_of_allowed_site(Request& request, std::span<const std::string> allowed) {
  const std::optional<std::string_view> origin = request.header(Known::Origin);
  if (!origin) return true;
  const auto names = [&](const std::string& one) { return one == "*" || equals_ignore_case(one, *origin); };
  if (std::ranges::any_of(allowed, names)) return true;
  const std::optional<Site> site = site_of(*origin);
  if (!site || !equals_ignore_case(site->host, request.host())) return false;
  const std::string_view usual = usual_port(site->scheme);
  // The scheme https is required only for a request that arrived over TLS: a proxy may have removed TLS without
  // reporting it, but no proxy adds TLS.
  if (usual.empty() || (request.scheme() == "https" && !equals_ignore_case(site->scheme, "https"))) return false;
  const auto port_or_usual = [usual](std::string_view port) { return port.empty() ? usual : port; };
  const std::string_view port = request.authority().substr(request.host().size());
  return port_or_usual(site->port) == port_or_usual(port.starts_with(':') ? port.substr(1) : port);
}

bool offers_upgrade(const RequestHead& head, std::string_view protocol) noexcept {
  if (!head.has(Known::Upgrade) || !head.has(Known::Connection) || head.version_minor() == 0) return false;
  return head.method() != Method::Head && lists(head, "connection", "upgrade") && lists(head, "upgrade", protocol);
}

Upgrade::Upgrade(std::string_view protocol, Callable talk) : made_(Upgraded::make(protocol, std::move(talk))) {}
std::string_view Upgrade::protocol() const noexcept { return made_->protocol(); }
void Upgrade::allow_any_origin() noexcept { made_->allow_any_origin(); }
bool Upgrade::allows_any_origin() const noexcept { return made_->allows_any_origin(); }
void Upgrade::free() noexcept { Upgraded::free(made_); }

}  // namespace keel::http
