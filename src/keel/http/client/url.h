// keel/http/client/url.h — an absolute http URL, taken apart strictly, and what a Location means beside it (RFC 3986).
//
//   Url url = *Url::parse("http://Users.internal:8080/users/7?full=1#top");
//   url.origin()                                     // "http://users.internal:8080"
//   url.target()                                     // "/users/7?full=1": what is sent; the fragment is not
//   Url next = *url.resolve("../orders");            // "http://users.internal:8080/orders"
//
// Errors:   Unsupported for https (there is no TLS yet). InvalidArgument for any other scheme or none; user names and
//           passwords; a host that is empty or not a name, an IPv4 or a bracketed IPv6 address; a port that is not 1 to
//           65535; blanks, controls and bytes from 0x80 anywhere; broken escapes and %00 in the path; more than 8,000
//           bytes. What is not allowed is refused and not repaired: escape it with uri::percent_encode.
// Threads:  a value.  Cost: one string.

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

  static Result<Url> parse(std::string_view text);
  // `reference` is a URL or a relative one, as in the field Location (RFC 3986 §5.2); dot segments of its path are
  // taken away. Its fragment is dropped.
  Result<Url> resolve(std::string_view reference) const;

  // Origin and target: without a fragment.
  std::string_view text() const noexcept { return text_; }
  // Scheme, host and, where it is not 80, port. In lower case: equal texts are the same server.
  std::string_view origin() const noexcept { return text().substr(0, target_at_); }
  // Host and port as in the field Host.
  std::string_view authority() const noexcept { return origin().substr(scheme_bytes); }
  // In lower case; an IPv6 address without its brackets.
  std::string_view host() const noexcept { return text().substr(host_at_, host_size_); }
  std::uint16_t port() const noexcept { return port_; }
  // Path and query, "/" at least, as they were written.
  std::string_view target() const noexcept { return text().substr(target_at_); }
  // The target without its query.
  std::string_view path() const noexcept { return target().substr(0, target().find('?')); }
  // Origin and path: for logs, where a query has no business.
  std::string_view without_query() const noexcept { return text().substr(0, text().find('?')); }

 private:
  static constexpr std::size_t scheme_bytes = 7;  // "http://"
  Url() = default;

  std::string text_;
  std::uint16_t host_at_ = 0;
  std::uint16_t host_size_ = 0;
  std::uint16_t target_at_ = 0;
  std::uint16_t port_ = 80;
};

}  // namespace keel::http
