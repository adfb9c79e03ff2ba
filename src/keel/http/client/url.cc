#include "keel/http/client/url.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "keel/base/buffer.h"
#include "keel/data/uri.h"
#include "keel/http/message/fields.h"
#include "keel/io/address.h"

namespace keel::http {
namespace {

struct KnownScheme {
  std::string_view name;
  Url::Scheme scheme;
  std::uint16_t port;
};
constexpr KnownScheme known_schemes[] = {{"http", Url::Scheme::Http, 80},
                                         {"https", Url::Scheme::Https, 443},
                                         {"ws", Url::Scheme::Ws, 80},
                                         {"wss", Url::Scheme::Wss, 443}};

bool begins_with_scheme(std::string_view text) noexcept {
  if (text.empty() || !ascii::is_letter(text[0])) return false;
  const std::size_t end = text.find_first_of(":/?#");
  if (end == std::string_view::npos || text[end] != ':') return false;
  return std::ranges::all_of(text.substr(0, end),
                             [](char c) { return ascii::is_alphanumeric(c) || c == '+' || c == '-' || c == '.'; });
}

Result<KnownScheme> read_scheme(std::string_view text) {
  const std::string_view name = text.substr(0, text.find("://"));
  for (const KnownScheme& known : known_schemes) {
    if (name.size() < text.size() && equals_ignore_case(name, known.name)) return known;
  }
  return fail(Code::InvalidArgument, "a URL must begin with http://, https://, ws:// or wss://");
}

Result<> check_host(std::string_view host, bool is_bracketed) {
  if (is_bracketed) {
    // RFC 9110 §4.2.1 allows no zone in an IPv6 address, because a zone has a meaning only on one machine.
    if (host.find(':') == std::string_view::npos || host.find('%') != std::string_view::npos || !Address::ip(host, 1)) {
      return fail(Code::InvalidArgument, "the brackets of a URL must contain an IPv6 address");
    }
    return {};
  }
  const bool fits = !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
    return ascii::is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
  });
  if (!fits) return fail(Code::InvalidArgument, "the host of a URL must consist of letters, digits, '-', '_' and '.'");
  return {};
}

Result<std::uint16_t> read_port(std::string_view digits) {
  unsigned value = 0;
  if (digits.empty() || digits.size() > 5 || !std::ranges::all_of(digits, ascii::is_digit)) {
    return fail(Code::InvalidArgument, "the port of a URL must be a number from 1 to 65535");
  }
  for (const char c : digits) value = value * 10 + static_cast<unsigned>(c - '0');
  if (value == 0 || value > 65535)
    return fail(Code::InvalidArgument, "the port of a URL must be a number from 1 to 65535");
  return static_cast<std::uint16_t>(value);
}

// Characters that no request target contains (RFC 3986 §3.3, §3.4); blanks, control characters and bytes above 0x7F are
// forbidden as well.
constexpr std::string_view not_in_targets = "\"<>\\^`{|}";

// A URL is accepted only if http/message/parser.h would accept its target in a request.
Result<> check_target(std::string_view target) {
  if (target.find_first_of(not_in_targets) != std::string_view::npos) {
    return fail(Code::InvalidArgument, "the path and query of a URL must not contain any of \"<>\\^`{|}: escape them");
  }
  const std::size_t query = std::min(target.find('?'), target.size());
  for (std::size_t i = 0; i < query; ++i) {
    if (target[i] != '%') continue;
    const bool is_escape =
        query - i > 2 && ascii::hex_value(target[i + 1]) >= 0 && ascii::hex_value(target[i + 2]) >= 0;
    if (!is_escape)
      return fail(Code::InvalidArgument, "a '%' in the path of a URL must be followed by two hexadecimal digits");
    if (target[i + 1] == '0' && target[i + 2] == '0') {
      return fail(Code::InvalidArgument, "the path of a URL must not contain %00");
    }
  }
  return {};
}

// Escapes the characters that must not stand in a URL but that servers write into Location and browsers accept.
std::string escape_what_no_target_has(std::string_view reference) {
  Buffer out;
  while (true) {
    const std::size_t end = std::min(reference.find_first_of(not_in_targets), reference.size());
    out.append(reference.substr(0, end));
    if (end == reference.size()) break;
    uri::percent_encode(out, reference.substr(end, 1));
    reference.remove_prefix(end + 1);
  }
  return std::string(out.view());
}

// RFC 3986 §5.2.4. `path` must begin with a slash.
std::string remove_dot_segments(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    const bool is_last = end == path.size();
    if (segment == "/.") {
      if (is_last) out += '/';
    } else if (segment == "/..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
      if (is_last) out += '/';
    } else {
      out += segment;
    }
    path.remove_prefix(end);
  }
  return out;
}

}  // namespace

Result<Url> Url::parse(std::string_view text) {
  if (text.size() > bytes_max) return fail(Code::InvalidArgument, "a URL must have at most 8000 bytes");
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      return fail(Code::InvalidArgument,
                  "a URL must not contain blanks, control characters or bytes above 0x7F: escape them");
    }
  }
  text = text.substr(0, text.find('#'));
  KEEL_TRY(const KnownScheme scheme, read_scheme(text));
  text.remove_prefix(scheme.name.size() + 3);
  const std::size_t authority_end = std::min(text.find_first_of("/?"), text.size());
  std::string_view host = text.substr(0, authority_end);
  const std::string_view target = text.substr(authority_end);
  if (host.find('@') != std::string_view::npos) {
    return fail(Code::InvalidArgument, "a URL must not contain a user name: send the field Authorization instead");
  }

  Url url;
  url.scheme_ = scheme.scheme;
  url.port_ = scheme.port;
  const bool is_bracketed = host.starts_with('[');
  const std::size_t host_end = is_bracketed ? host.find(']') : host.find(':');
  if (is_bracketed && host_end == std::string_view::npos) {
    return fail(Code::InvalidArgument, "a bracket in the host of a URL is not closed");
  }
  const std::string_view after = host.substr(std::min(is_bracketed ? host_end + 1 : host_end, host.size()));
  if (!after.empty()) {
    if (after[0] != ':') return fail(Code::InvalidArgument, "the host of a URL must be followed by a port or a path");
    KEEL_TRY(url.port_, read_port(after.substr(1)));
  }
  host = host.substr(is_bracketed ? 1 : 0, host_end - (is_bracketed ? 1 : 0));
  KEEL_TRY_VOID(check_host(host, is_bracketed));
  KEEL_TRY_VOID(check_target(target));

  url.text_.reserve(scheme.name.size() + 3 + text.size() + 1);
  url.text_ = scheme.name;
  url.text_ += "://";
  url.authority_at_ = static_cast<std::uint8_t>(url.text_.size());
  if (is_bracketed) url.text_ += '[';
  url.host_at_ = static_cast<std::uint16_t>(url.text_.size());
  url.host_size_ = static_cast<std::uint16_t>(host.size());
  std::ranges::transform(host, std::back_inserter(url.text_), ascii::to_lower);
  if (is_bracketed) url.text_ += ']';
  if (url.port_ != scheme.port) url.text_ += ':' + std::to_string(url.port_);
  url.target_at_ = static_cast<std::uint16_t>(url.text_.size());
  if (!target.starts_with('/')) url.text_ += '/';
  url.text_ += target;
  return url;
}

Result<Url> Url::resolve(std::string_view reference) const {
  if (reference.size() > bytes_max) return fail(Code::InvalidArgument, "a URL must have at most 8000 bytes");
  reference = reference.substr(0, reference.find('#'));
  std::string escaped;
  if (reference.find_first_of(not_in_targets) != std::string_view::npos) {
    escaped = escape_what_no_target_has(reference);
    reference = escaped;
  }
  const bool begins_with_authority = reference.starts_with("//");
  if (begins_with_authority || begins_with_scheme(reference)) {
    KEEL_TRY(const Url absolute,
             parse((begins_with_authority ? std::string(scheme_name()) + ':' : "") + std::string(reference)));
    // The target cannot be resolved as a reference, because a target that begins with two slashes would name another
    // server.
    std::string whole(absolute.origin());
    whole += remove_dot_segments(absolute.path());
    whole += absolute.target().substr(absolute.path().size());
    return parse(whole);
  }
  if (reference.empty()) return *this;
  const std::size_t query_at = std::min(reference.find('?'), reference.size());
  const std::string_view query = reference.substr(query_at);
  std::string whole(origin());
  if (query_at == 0) {
    whole += path();
  } else if (reference.starts_with('/')) {
    whole += remove_dot_segments(reference.substr(0, query_at));
  } else {
    const std::string_view folder = path().substr(0, path().rfind('/') + 1);
    whole += remove_dot_segments(std::string(folder) + std::string(reference.substr(0, query_at)));
  }
  whole += query;
  return parse(whole);
}

std::string loggable_url(std::string_view url) {
  std::string text(url.substr(0, url.find_first_of("?#")));
  const std::size_t scheme = text.find("//");
  const std::size_t from = scheme == std::string::npos ? 0 : scheme + 2;
  const std::size_t at = std::string_view(text).substr(0, text.find('/', from)).rfind('@');
  if (at != std::string::npos && at >= from) text.erase(from, at + 1 - from);
  return text;
}

}  // namespace keel::http
