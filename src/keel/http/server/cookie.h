// keel/http/server/cookie.h — the cookies of a request, and the field that sets one (RFC 6265).
//
//   if (auto session = http::find_cookie(request, "session")) …
//   KEEL_TRY_VOID(http::set_cookie(response, {.name = "session", .value = token, .max_age = 24_h}));
//
// Reading follows RFC 6265 §5, the rules by which browsers store cookies and return them unchanged. Every ';' separates
// pairs, even inside quotes; quotes are part of the value; nothing is decoded. A pair without '=', or without a token
// before it, is skipped. For a name that occurs twice, the first value counts (the more specific path, §5.4). Writing
// is strict: a cookie that a browser would silently drop is an error here.
//
// Lifetime: names and values are views into the head of the request.
// Cost:     O(bytes) of the Cookie fields, for each search; no allocation and no hash table to be flooded.

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

// The cookies of all Cookie fields, in order.
//   for (http::Cookies cookies(request.head()); auto cookie = cookies.next();) …
class Cookies {
 public:
  // More than `pairs_max` pairs, including skipped ones, are rejected: this limits the work that a request can cause.
  explicit Cookies(const RequestHead& head, int pairs_max = 256) noexcept;

  // The next cookie; nullopt at the end, and after pairs_max pairs.
  std::optional<Cookie> next() noexcept;
  // Code::InvalidArgument when there are more pairs than `pairs_max`.
  Result<> finish() const noexcept;

 private:
  bool next_field() noexcept;
  const RequestHead& head_;
  std::string_view rest_;  // The rest of the Cookie field that is being read; null when all of it has been read.
  unsigned field_ = 0;
  int left_;
};

// The value of the first cookie of that name (case matters), among the first 256.
std::optional<std::string_view> find_cookie(const Request& request, std::string_view name) noexcept;

// When a browser sends the cookie with a request that another site causes.
enum class SameSite : std::uint8_t {
  // For requests from other sites, the browser sends the cookie only when the user follows a link to this host.
  Lax,
  Strict,  // Never.
  None,    // Always; requires `secure`.
};

// The defaults are restrictive: the cookie is sent only to this host, only over HTTPS and not from other sites, and
// scripts cannot read it.
struct SetCookie {
  // A token. The prefixes "__Secure-" and "__Host-" are accepted only if the other fields meet their requirements.
  std::string_view name;
  // cookie-octets: no blank, quote, comma, semicolon, backslash, control character or byte from 0x80 up.
  std::string_view value;
  // Absent: until the browser is closed. Zero or less: browsers delete the cookie immediately.
  std::optional<Duration> max_age = {};
  std::string_view path = "/";
  // Empty: only this host. If it is set, the subdomains of this domain get the cookie as well.
  std::string_view domain = {};
  SameSite same_site = SameSite::Lax;
  bool secure = true;     // Over HTTPS only.
  bool http_only = true;  // Not for scripts.
};

// Adds a Set-Cookie field to the response. These are a bug (500, base/bug.h), and nothing is added: a name, value, path
// or domain that cannot be sent; name and value above 4,096 bytes together, or another part above 1,024 bytes (browsers
// drop those); SameSite::None without `secure`; and a prefix whose requirements are not met. Encode text that comes
// from a client.
Result<> set_cookie(Response& response, const SetCookie& cookie,
                    std::source_location place = std::source_location::current());

}  // namespace keel::http
