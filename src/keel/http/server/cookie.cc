#include "keel/http/server/cookie.h"

#include <algorithm>
#include <charconv>

#include "keel/base/bug.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

// Browsers drop cookies that exceed the following limits (RFC 6265bis §5.6).
constexpr std::size_t pair_bytes_max = 4096;
constexpr std::size_t attribute_bytes_max = 1024;
// Ten years; browsers limit longer times anyway, and the bound keeps the number short.
constexpr std::int64_t max_age_seconds_max = std::int64_t{10} * 365 * 24 * 3600;

bool is_cookie_octets(std::string_view text) noexcept {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == ',' || c == ';' || c == '\\') return false;
  }
  return true;
}

// Whether `text` consists of av-octets (RFC 6265 §4.1.1) and is not longer than browsers allow.
bool is_attribute(std::string_view text) noexcept {
  return text.size() <= attribute_bytes_max && is_field_value(text) && text.find(';') == std::string_view::npos;
}

bool is_domain(std::string_view text) noexcept {
  for (const char c : text) {
    if (!byte_class::is(byte_class::host, c)) return false;
  }
  return is_attribute(text);
}

// Returns the message about the first mistake in the cookie, or null.
const char* mistake_of(const SetCookie& cookie) noexcept {
  if (!is_token(cookie.name)) return "cookie: the name is not a token";
  if (!is_cookie_octets(cookie.value)) {
    return "cookie: the value has a byte that is not allowed in it; encode the value";
  }
  if (cookie.name.size() + cookie.value.size() > pair_bytes_max) {
    return "cookie: name and value have more than 4,096 bytes together, so browsers drop the cookie";
  }
  if (!cookie.path.starts_with('/') || !is_attribute(cookie.path)) {
    return "cookie: the path does not begin with '/', is longer than 1,024 bytes, or contains a character that cannot "
           "be sent";
  }
  if (!is_domain(cookie.domain)) return "cookie: the domain is not a host name";
  if (cookie.same_site == SameSite::None && !cookie.secure) {
    return "cookie: SameSite=None requires Secure, because browsers drop the cookie otherwise";
  }
  // Browsers compare the prefixes without regard to case (RFC 6265bis §4.1.3).
  const auto has_prefix = [&](std::string_view prefix) {
    return equals_ignore_case(cookie.name.substr(0, prefix.size()), prefix);
  };
  if (has_prefix("__Secure-") && !cookie.secure) {
    return "cookie: the prefix __Secure- requires Secure";
  }
  if (has_prefix("__Host-") && (!cookie.secure || cookie.path != "/" || !cookie.domain.empty())) {
    return "cookie: the prefix __Host- requires Secure, the path '/' and no domain";
  }
  return nullptr;
}

}  // namespace

Cookies::Cookies(const RequestHead& head, int pairs_max) noexcept : head_(head), left_(pairs_max) {}

// Moves to the next Cookie field. By RFC 6265 §5.4 a browser sends only one Cookie field, but RFC 9113 §8.2.3 lets a
// proxy divide it into several.
bool Cookies::next_field() noexcept {
  if (!head_.has(Known::Cookie)) return false;
  while (field_ < head_.field_count()) {
    const Field field = head_.field(field_++);
    if (!equals_ignore_case(field.name, "Cookie")) continue;
    rest_ = field.value;
    return true;
  }
  return false;
}

std::optional<Cookie> Cookies::next() noexcept {
  for (;;) {
    if (rest_.data() == nullptr && !next_field()) return std::nullopt;
    if (left_ <= 0) {
      left_ = -1;
      return std::nullopt;
    }
    --left_;
    const std::size_t end = rest_.find(';');
    const std::string_view pair = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = trim_blanks(pair.substr(0, equals));
    if (!is_token(name)) continue;
    return Cookie{name, trim_blanks(pair.substr(equals + 1))};
  }
}

Result<> Cookies::finish() const noexcept {
  if (left_ < 0) return fail(Code::InvalidArgument, "the request has more cookies than the server reads");
  return {};
}

std::optional<std::string_view> find_cookie(const Request& request, std::string_view name) noexcept {
  for (Cookies cookies(request.head()); const auto cookie = cookies.next();) {
    if (cookie->name == name) return cookie->value;
  }
  return std::nullopt;
}

Result<> set_cookie(Response& response, const SetCookie& cookie, std::source_location place) {
  if (const char* const mistake = mistake_of(cookie)) return Error::from_bug(Bug(mistake, place));
  Buffer text;
  text.append(cookie.name);
  text.push_back('=');
  text.append(cookie.value);
  if (cookie.max_age) {
    // The time is rounded up, because half a second must not become 0, which means "expired".
    const std::int64_t ns = cookie.max_age->count_ns();
    const std::int64_t whole = ns / 1'000'000'000 + (ns % 1'000'000'000 > 0 ? 1 : 0);
    const std::int64_t seconds = std::clamp<std::int64_t>(whole, 0, max_age_seconds_max);
    char digits[20];
    text.append("; Max-Age=");
    text.append(
        {digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, seconds).ptr - digits)});
  }
  text.append("; Path=");
  text.append(cookie.path);
  if (!cookie.domain.empty()) {
    text.append("; Domain=");
    text.append(cookie.domain);
  }
  if (cookie.secure) text.append("; Secure");
  if (cookie.http_only) text.append("; HttpOnly");
  constexpr std::string_view same_site[] = {"Lax", "Strict", "None"};
  text.append("; SameSite=");
  text.append(same_site[static_cast<int>(cookie.same_site)]);
  response.header("Set-Cookie", text.view());
  return {};
}

}  // namespace keel::http
