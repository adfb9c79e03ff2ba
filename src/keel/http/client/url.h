// keel/http/client/url.h — a strict parser of absolute URLs with http, https, ws or wss, and the resolution of a
// Location against such a URL (RFC 3986).
//
//   Url url = *Url::parse("http://Users.internal:8080/users/7?full=1#top");
//   url.origin()                                     // "http://users.internal:8080"
//   url.target()                                     // "/users/7?full=1": what is sent; the fragment is not
//   Url next = *url.resolve("../orders");            // "http://users.internal:8080/orders"
//
// Errors:   InvalidArgument for a missing scheme, or a scheme other than http, https, ws and wss; user names and
//           passwords; a host that is not a name, an IPv4 address or an IPv6 address in brackets; a port that is not 1
//           to 65535; blanks, control characters and bytes above 0x7F anywhere; "<>\^`{|} in path and query; malformed
//           escapes and %00 in the path; more than 8,000 bytes. Characters that are not allowed are rejected and never
//           escaped automatically: escape them with uri::percent_encode.
// Threads:  a value.
// Cost:     one string.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel::http {

class Url {
 public:
  static constexpr std::size_t bytes_max = 8000;
  enum class Scheme : std::uint8_t { Http, Https, Ws, Wss };

  static Result<Url> parse(std::string_view text);
  // `reference` is an absolute or a relative URL, as in the field Location (RFC 3986 §5.2). Dot segments are removed
  // from the path of the resolved URL. The characters "<>\^`{|} are escaped, because servers send them and browsers
  // escape them in the same way. The fragment of `reference` is dropped.
  Result<Url> resolve(std::string_view reference) const;

  // The origin followed by the target, without a fragment.
  std::string_view text() const noexcept { return text_; }
  Scheme scheme() const noexcept { return scheme_; }
  // True for https and wss.
  bool is_secure() const noexcept { return scheme_ == Scheme::Https || scheme_ == Scheme::Wss; }
  // One of "http", "https", "ws" and "wss".
  std::string_view scheme_name() const noexcept { return text().substr(0, authority_at_ - 3u); }
  // Scheme, host, and the port if it is not the default port of the scheme. All parts are in lower case: two URLs with
  // equal origins name the same server, with the same protocol.
  std::string_view origin() const noexcept { return text().substr(0, target_at_); }
  // Host and port as in the field Host.
  std::string_view authority() const noexcept { return origin().substr(authority_at_); }
  // The host in lower case; an IPv6 address has no brackets.
  std::string_view host() const noexcept { return text().substr(host_at_, host_size_); }
  // The port; if the URL has none, 80, or 443 for a secure URL.
  std::uint16_t port() const noexcept { return port_; }
  // Path and query as they were written; at least "/".
  std::string_view target() const noexcept { return text().substr(target_at_); }
  // The target without its query.
  std::string_view path() const noexcept { return target().substr(0, target().find('?')); }
  // The URL without its query, for logs, which should not contain queries.
  std::string_view without_query() const noexcept { return text().substr(0, text().find('?')); }

 private:
  Url() = default;

  std::string text_;
  Scheme scheme_ = Scheme::Http;
  std::uint8_t authority_at_ = 0;
  std::uint16_t host_at_ = 0;
  std::uint16_t host_size_ = 0;
  std::uint16_t target_at_ = 0;
  std::uint16_t port_ = 0;
};

// Returns `url` without its query, fragment and user, which messages and logs should not contain; `url` need not be a
// valid URL.
std::string loggable_url(std::string_view url);

}  // namespace keel::http
