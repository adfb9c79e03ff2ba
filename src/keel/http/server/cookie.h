// keel/http/server/cookie.h — reads the cookies of a request, and sets cookies in a response (RFC 6265).
//
//   if (auto session = http::find_cookie(request, "session")) …
//   KEEL_TRY_VOID(http::set_cookie(response, {.name = "session", .value = token, .max_age = 24_h}));
//
// Cookies are read by the rules of RFC 6265 §5, by which browsers store cookies and return them unchanged. Every ';'
// separates two pairs, even inside quotes; quotes are part of the value, and nothing is decoded. A pair without '=', or
// without a token before it, is skipped. If a name occurs twice, the first value is used, because browsers send the
// cookie with the more specific path first (§5.4). Cookies are written strictly: a cookie that a browser would silently
// drop is an error.
//
// Lifetime: names and values are views into the head of the request.
// Cost:     for each search, O(number of bytes in the Cookie fields); no allocation, and no hash table that an attacker
//           could flood.

#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::http {

struct Cookie {
  std::string_view name;
  std::string_view value;
};

// Iterates over the cookies of all Cookie fields, in their order.
//   for (http::Cookies cookies(request.head()); auto cookie = cookies.next();) …
class Cookies {
 public:
  // If there are more than `pairs_max` pairs, including skipped ones, finish() fails; this limits the work that a
  // request can cause.
  explicit Cookies(const RequestHead& head, int pairs_max = 256) noexcept;

  // The next cookie; nullopt at the end, and after pairs_max pairs.
  std::optional<Cookie> next() noexcept;
  // Code::InvalidArgument if there are more pairs than `pairs_max`.
  Result<> finish() const noexcept;

 private:
  bool next_field() noexcept;
  const RequestHead& head_;
  std::string_view rest_;  // The rest of the current Cookie field; null when the whole field was read.
  unsigned field_ = 0;
  int left_;
};

// The value of the first cookie with that name (in the same case), among the first 256 pairs.
std::optional<std::string_view> find_cookie(const Request& request, std::string_view name) noexcept;

// Says whether a browser sends the cookie with requests that another site causes.
enum class SameSite : std::uint8_t {
  // With requests from other sites, the browser sends the cookie only when the user follows a link to this host.
  Lax,
  Strict,  // Never.
  None,    // Always; requires `secure`.
};

// By default, the cookie is restricted: it is sent only to this host, only over HTTPS, and not with requests that other
// sites cause, and scripts cannot read it.
struct SetCookie {
  // A token. The prefixes "__Secure-" and "__Host-" are accepted only if the other members meet the requirements of the
  // prefix.
  std::string_view name;
  // Only cookie-octets: no blank, quote, comma, semicolon, backslash, control character or byte from 0x80 up.
  std::string_view value;
  // Absent: the cookie lives until the browser is closed. Zero or less: browsers delete the cookie immediately.
  std::optional<Duration> max_age = {};
  std::string_view path = "/";
  // Empty: the cookie is sent only to this host. If `domain` is not empty, the cookie is sent to this domain and to its
  // subdomains.
  std::string_view domain = {};
  SameSite same_site = SameSite::Lax;
  bool secure = true;     // Over HTTPS only.
  bool http_only = true;  // Not for scripts.
};

// Adds a Set-Cookie field to the response. Each of these is a bug (500, base/bug.h), and the field is not added: a
// name, value, path or domain that cannot be sent; a name and value of more than 4,096 bytes together, or another part
// of more than 1,024 bytes (browsers drop such cookies); SameSite::None without `secure`; and a prefix whose
// requirements are not met. Encode text that comes from a client.
Result<> set_cookie(Response& response, const SetCookie& cookie,
                    std::source_location place = std::source_location::current());

}  // namespace keel::http
