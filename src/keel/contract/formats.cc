#include "keel/contract/formats.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/contract/regex.h"
#include "keel/data/date.h"
#include "keel/data/timestamp.h"
#include "keel/data/utf8.h"
#include "keel/data/uuid.h"

namespace keel::contract {
namespace {

using ascii::is_alphanumeric;
using ascii::is_digit;
using ascii::is_letter;

bool is_one_of(char c, std::string_view set) noexcept { return set.find(c) != set.npos; }

bool are_digits(std::string_view text) noexcept { return std::all_of(text.begin(), text.end(), is_digit); }

int number_of(std::string_view text) noexcept { return (text[0] - '0') * 10 + text[1] - '0'; }

// A time such as "08:30".
bool is_hour_and_minute(std::string_view text) noexcept {
  return text.size() == 5 && text[2] == ':' && are_digits(text.substr(0, 2)) && are_digits(text.substr(3)) &&
         number_of(text) < 24 && number_of(text.substr(3)) < 60;
}

bool is_time(std::string_view text) noexcept {
  if (text.size() < 9 || !is_hour_and_minute(text.substr(0, 5)) || text[5] != ':' || !are_digits(text.substr(6, 2))) {
    return false;
  }
  const int second = number_of(text.substr(6));
  int minutes = number_of(text) * 60 + number_of(text.substr(3));
  std::size_t at = 8;
  if (text[at] == '.') {
    const std::size_t first = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == first) return false;
  }
  const std::string_view offset = text.substr(at);
  if (offset != "Z" && offset != "z") {
    if (offset.empty() || !is_one_of(offset[0], "+-") || !is_hour_and_minute(offset.substr(1))) return false;
    const int ahead = number_of(offset.substr(1)) * 60 + number_of(offset.substr(4));
    minutes += offset[0] == '-' ? ahead : -ahead;
  }
  // RFC 3339 §5.7: a leap second may occur only as the last second of a day in UTC.
  return second < 60 || (second == 60 && (minutes + 2 * 1440) % 1440 == 1439);
}

// The units of a duration must have the order of `units`, and none may be left out between the first and the last one:
// directly after "Y", a duration may have "M", but not "D".
bool takes_units(std::string_view& text, std::string_view units) noexcept {
  std::size_t next = units.npos;  // A duration may begin with any unit.
  while (!text.empty() && is_digit(text.front())) {
    const auto last = std::find_if_not(text.begin(), text.end(), is_digit);
    if (last == text.end()) return false;
    const std::size_t unit = units.find(*last);
    if (unit == units.npos || (next != units.npos && unit != next)) return false;
    next = unit + 1;
    text.remove_prefix(static_cast<std::size_t>(last - text.begin()) + 1);
  }
  return next != units.npos;
}

bool is_duration(std::string_view text) noexcept {
  if (text.size() < 3 || text[0] != 'P') return false;
  text.remove_prefix(1);
  if (text.back() == 'W') return text.size() > 1 && are_digits(text.substr(0, text.size() - 1));
  const bool has_date = takes_units(text, "YMD");
  if (text.empty()) return has_date;
  if (text[0] != 'T') return false;
  text.remove_prefix(1);
  return takes_units(text, "HMS") && text.empty();
}

bool is_ipv4(std::string_view text) noexcept {
  for (int part = 0; part < 4; ++part) {
    const std::string_view digits = text.substr(0, text.find('.'));
    if (digits.empty() || digits.size() > 3 || !are_digits(digits) || (digits.size() > 1 && digits[0] == '0'))
      return false;
    int number = 0;
    for (const char c : digits) number = number * 10 + c - '0';
    if (number > 255) return false;
    text.remove_prefix(digits.size());
    if (part == 3) return text.empty();
    if (text.empty()) return false;
    text.remove_prefix(1);
  }
  return false;
}

bool is_ipv6(std::string_view text) noexcept {
  int groups = 0;
  bool is_shortened = false;
  if (text.starts_with("::")) {
    is_shortened = true;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    const std::size_t size = text.find(':');
    const std::string_view group = text.substr(0, size);
    if (size == text.npos && group.find('.') != group.npos) {
      if (!is_ipv4(group)) return false;
      groups += 2;
      break;
    }
    if (group.empty() || group.size() > 4) return false;
    for (const char c : group) {
      if (ascii::hex_value(c) < 0) return false;
    }
    ++groups;
    text.remove_prefix(group.size());
    if (text.empty()) break;
    text.remove_prefix(1);
    if (text.empty()) return false;
    if (text[0] != ':') continue;
    if (is_shortened) return false;
    is_shortened = true;
    text.remove_prefix(1);
  }
  return is_shortened ? groups < 8 : groups == 8;
}

// Whether an A-label encodes at least one code point that is not in ASCII. The function decodes the label as in RFC
// 3492 §6.2, but produces no output.
bool is_punycode(std::string_view text) noexcept {
  const std::size_t last = text.rfind('-');
  std::size_t length = last == text.npos ? 0 : last;
  if (last != text.npos) text.remove_prefix(last + 1);
  if (text.empty()) return false;
  std::uint64_t point = 128;
  std::uint64_t index = 0;
  std::uint64_t bias = 72;
  bool is_first = true;
  while (!text.empty()) {
    const std::uint64_t before = index;
    std::uint64_t weight = 1;
    for (std::uint64_t k = 36;; k += 36) {
      if (text.empty()) return false;
      const char c = text.front();
      text.remove_prefix(1);
      const int digit = is_digit(c) ? c - '0' + 26 : is_letter(c) ? ascii::to_lower(c) - 'a' : -1;
      if (digit < 0) return false;
      index += static_cast<std::uint64_t>(digit) * weight;
      if (index > std::numeric_limits<std::uint32_t>::max()) return false;
      const std::uint64_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (static_cast<std::uint64_t>(digit) < least) break;
      weight *= 36 - least;
    }
    ++length;
    std::uint64_t delta = (index - before) / (is_first ? 700 : 2);
    is_first = false;
    delta += delta / length;
    std::uint64_t k = 0;
    for (; delta > 455; k += 36) delta /= 35;
    bias = k + 36 * delta / (delta + 38);
    point += index / length;
    index = index % length + 1;
    if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
  }
  return true;
}

bool is_label(std::string_view text, bool has_utf8) noexcept {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  for (const char c : text) {
    if (!is_alphanumeric(c) && c != '-' && !(has_utf8 && static_cast<unsigned char>(c) >= 0x80)) return false;
  }
  if (text.size() < 4 || text[2] != '-' || text[3] != '-') return true;
  // RFC 5891 §4.2.3.1: hyphens in these positions are reserved for A-labels.
  return ascii::to_lower(text[0]) == 'x' && ascii::to_lower(text[1]) == 'n' && is_punycode(text.substr(4));
}

bool is_hostname(std::string_view text, bool has_utf8) noexcept {
  if (text.empty() || text.size() > 253) return false;
  for (;;) {
    const std::string_view label = text.substr(0, text.find('.'));
    if (!is_label(label, has_utf8)) return false;
    if (label.size() == text.size()) return true;
    text.remove_prefix(label.size() + 1);
  }
}

bool is_atom_character(char c, bool has_utf8) noexcept {
  return is_alphanumeric(c) || is_one_of(c, "!#$%&'*+-/=?^_`{|}~") ||
         (has_utf8 && static_cast<unsigned char>(c) >= 0x80);
}

bool is_dot_string(std::string_view text, bool has_utf8) noexcept {
  char before = '.';
  for (const char c : text) {
    if (c == '.' ? before == '.' : !is_atom_character(c, has_utf8)) return false;
    before = c;
  }
  return before != '.';
}

bool is_quoted_string(std::string_view text, bool has_utf8) noexcept {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c < 0x20 || c == 0x7F || (c >= 0x80 && !has_utf8)) return false;
    if (c == '\\' && (++i == text.size() || text[i] < 0x20 || text[i] > 0x7E)) return false;
  }
  return true;
}

bool is_email(std::string_view text, bool has_utf8) noexcept {
  if (has_utf8 && !utf8::is_valid(text)) return false;
  const std::size_t at = text.rfind('@');
  if (at == text.npos || at == 0 || at > 64) return false;
  const std::string_view local = text.substr(0, at);
  const std::string_view domain = text.substr(at + 1);
  if (!is_dot_string(local, has_utf8) && !is_quoted_string(local, has_utf8)) return false;
  if (!domain.starts_with('[')) return is_hostname(domain, has_utf8);
  if (!domain.ends_with(']')) return false;
  const std::string_view address = domain.substr(1, domain.size() - 2);
  return address.starts_with("IPv6:") ? is_ipv6(address.substr(5)) : is_ipv4(address);
}

// Takes one character of a URI or an IRI: an unreserved character, an escape, or one of `others`.
bool takes_uri_character(std::string_view& text, std::string_view others, bool has_utf8) noexcept {
  const char c = text.front();
  if (is_alphanumeric(c) || is_one_of(c, "-._~") || is_one_of(c, others)) {
    text.remove_prefix(1);
    return true;
  }
  if (c == '%') {
    if (text.size() < 3 || ascii::hex_value(text[1]) < 0 || ascii::hex_value(text[2]) < 0) return false;
    text.remove_prefix(3);
    return true;
  }
  if (!has_utf8 || static_cast<unsigned char>(c) < 0x80) return false;
  const int length = utf8::sequence_length(text.data(), text.data() + text.size());
  if (length == 0 ||
      (length == 2 && static_cast<unsigned char>(c) == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0)) {
    return false;  // None of the ranges in RFC 3987 contains C1 controls.
  }
  text.remove_prefix(static_cast<std::size_t>(length));
  return true;
}

bool has_only(std::string_view text, std::string_view others, bool has_utf8) noexcept {
  while (!text.empty()) {
    if (!takes_uri_character(text, others, has_utf8)) return false;
  }
  return true;
}

constexpr std::string_view sub_delimiters = "!$&'()*+,;=";

bool is_authority(std::string_view text, bool has_utf8) noexcept {
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    if (!has_only(text.substr(0, at), "!$&'()*+,;=:", has_utf8)) return false;
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return false;
    const std::string_view address = text.substr(1, end - 1);
    const bool is_future = address.size() > 3 && ascii::to_lower(address[0]) == 'v' &&
                           ascii::hex_value(address[1]) >= 0 && address.find('.') != address.npos &&
                           has_only(address, "!$&'()*+,;=:", false);
    if (!is_future && !is_ipv6(address)) return false;
    port = text.substr(end + 1);
    if (port.empty()) return true;
    if (port.front() != ':') return false;
  } else {
    const std::size_t colon = text.find(':');
    if (!has_only(text.substr(0, colon), sub_delimiters, has_utf8)) return false;
    if (colon == text.npos) return true;
    port = text.substr(colon);
  }
  return are_digits(port.substr(1));
}

bool is_uri(std::string_view text, bool needs_scheme, bool has_utf8) noexcept {
  const std::size_t end = text.find_first_of(":/?#");
  const bool has_scheme = end != text.npos && text[end] == ':';
  if (has_scheme) {
    const std::string_view scheme = text.substr(0, end);
    if (scheme.empty() || !is_letter(scheme[0])) return false;
    for (const char c : scheme) {
      if (!is_alphanumeric(c) && !is_one_of(c, "+-.")) return false;
    }
    text.remove_prefix(end + 1);
  } else if (needs_scheme) {
    return false;
  }
  if (const std::size_t at = text.find('#'); at != text.npos) {
    if (!has_only(text.substr(at + 1), "!$&'()*+,;=:@/?", has_utf8)) return false;
    text = text.substr(0, at);
  }
  if (const std::size_t at = text.find('?'); at != text.npos) {
    if (!has_only(text.substr(at + 1), "!$&'()*+,;=:@/?", has_utf8)) return false;
    text = text.substr(0, at);
  }
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const std::string_view authority = text.substr(0, text.find('/'));
    if (!is_authority(authority, has_utf8)) return false;
    text.remove_prefix(authority.size());
  }
  return has_only(text, "!$&'()*+,;=:@/", has_utf8);
}

bool is_variable(std::string_view text) noexcept {
  if (text.ends_with('*')) {
    text.remove_suffix(1);
  } else if (const std::size_t colon = text.find(':'); colon != text.npos) {
    const std::string_view length = text.substr(colon + 1);
    if (length.empty() || length.size() > 4 || !are_digits(length) || length[0] == '0') return false;
    text = text.substr(0, colon);
  }
  char before = '.';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || ascii::hex_value(text[i + 1]) < 0 || ascii::hex_value(text[i + 2]) < 0) return false;
      i += 2;
    } else if (c == '.' ? before == '.' : !is_alphanumeric(c) && c != '_') {
      return false;
    }
    before = c;
  }
  return before != '.';
}

bool is_uri_template(std::string_view text) noexcept {
  while (!text.empty()) {
    const char c = text.front();
    if (c == '{') {
      const std::size_t end = text.find('}');
      if (end == text.npos) return false;
      std::string_view list = text.substr(1, end - 1);
      text.remove_prefix(end + 1);
      if (!list.empty() && is_one_of(list[0], "+#./;?&=,!@|")) list.remove_prefix(1);
      for (;;) {
        const std::string_view variable = list.substr(0, list.find(','));
        if (!is_variable(variable)) return false;
        if (variable.size() == list.size()) break;
        list.remove_prefix(variable.size() + 1);
      }
      continue;
    }
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F || is_one_of(c, "\"<>\\^`|}")) return false;
    if (c == '%' && (text.size() < 3 || ascii::hex_value(text[1]) < 0 || ascii::hex_value(text[2]) < 0)) return false;
    text.remove_prefix(1);
  }
  return true;
}

bool is_json_pointer(std::string_view text) noexcept {
  if (!text.empty() && text[0] != '/') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '~' && (i + 1 == text.size() || !is_one_of(text[i + 1], "01"))) return false;
  }
  return true;
}

bool is_relative_json_pointer(std::string_view text) noexcept {
  const auto takes_number = [&] {
    const auto last = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto size = static_cast<std::size_t>(last - text.begin());
    if (size == 0 || (size > 1 && text[0] == '0')) return false;
    text.remove_prefix(size);
    return true;
  };
  if (!takes_number()) return false;
  if (!text.empty() && is_one_of(text[0], "+-")) {
    text.remove_prefix(1);
    if (text.starts_with('0') || !takes_number()) return false;
  }
  return text == "#" || is_json_pointer(text);
}

bool is_base64(std::string_view text) noexcept {
  if (text.size() % 4 != 0) return false;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  for (const char c : text) {
    if (!is_alphanumeric(c) && c != '+' && c != '/') return false;
  }
  if (padding == 0) return true;
  // RFC 4648 §3.5: the pad bits must be zero.
  return padding == 2 ? is_one_of(text.back(), "AQgw") : is_one_of(text.back(), "AEIMQUYcgkosw048");
}

constexpr std::array<std::pair<std::string_view, Format>, 19> names = {{
    {"byte", Format::Byte},
    {"date", Format::Date},
    {"date-time", Format::DateTime},
    {"duration", Format::Duration},
    {"email", Format::Email},
    {"hostname", Format::Hostname},
    {"idn-email", Format::IdnEmail},
    {"ipv4", Format::Ipv4},
    {"ipv6", Format::Ipv6},
    {"iri", Format::Iri},
    {"iri-reference", Format::IriReference},
    {"json-pointer", Format::JsonPointer},
    {"regex", Format::Regex},
    {"relative-json-pointer", Format::RelativeJsonPointer},
    {"time", Format::Time},
    {"uri", Format::Uri},
    {"uri-reference", Format::UriReference},
    {"uri-template", Format::UriTemplate},
    {"uuid", Format::Uuid},
}};

}  // namespace

Format format_of(std::string_view name) noexcept {
  for (const auto& [known, format] : names) {
    if (known == name) return format;
  }
  return Format::None;
}

bool is_valid(Format format, std::string_view text) noexcept {
  switch (format) {
    case Format::None:
      break;
    case Format::Date:
      return Date::parse(text).has_value();
    case Format::Time:
      return is_time(text);
    case Format::DateTime:
      return Timestamp::parse(text).has_value();
    case Format::Duration:
      return is_duration(text);
    case Format::Email:
      return is_email(text, false);
    case Format::IdnEmail:
      return is_email(text, true);
    case Format::Hostname:
      return is_hostname(text, false);
    case Format::Ipv4:
      return is_ipv4(text);
    case Format::Ipv6:
      return is_ipv6(text);
    case Format::Uri:
      return is_uri(text, true, false);
    case Format::UriReference:
      return is_uri(text, false, false);
    case Format::Iri:
      return is_uri(text, true, true);
    case Format::IriReference:
      return is_uri(text, false, true);
    case Format::UriTemplate:
      return is_uri_template(text);
    case Format::Uuid:
      return Uuid::parse(text).has_value();
    case Format::JsonPointer:
      return is_json_pointer(text);
    case Format::RelativeJsonPointer:
      return is_relative_json_pointer(text);
    case Format::Regex:
      return is_regex(text);
    case Format::Byte:
      return is_base64(text);
  }
  return true;
}

const char* expected(Format format) noexcept {
  switch (format) {
    case Format::None:
      break;
    case Format::Date:
      return Date::expected;
    case Format::Time:
      return "expected a time of day such as 12:00:37Z (RFC 3339)";
    case Format::DateTime:
      return Timestamp::expected;
    case Format::Duration:
      return "expected a duration such as P1DT12H (ISO 8601)";
    case Format::Email:
    case Format::IdnEmail:
      return "expected an email address such as ada@example.com";
    case Format::Hostname:
      return "expected a host name such as www.example.com";
    case Format::Ipv4:
      return "expected an IPv4 address such as 192.0.2.1";
    case Format::Ipv6:
      return "expected an IPv6 address such as 2001:db8::1";
    case Format::Uri:
      return "expected a URI such as https://example.com/a (RFC 3986)";
    case Format::UriReference:
      return "expected a URI or a relative reference such as /a?b=c (RFC 3986)";
    case Format::Iri:
      return "expected an IRI such as https://example.com/ä (RFC 3987)";
    case Format::IriReference:
      return "expected an IRI or a relative reference such as /ä (RFC 3987)";
    case Format::UriTemplate:
      return "expected a URI template such as /pets/{id} (RFC 6570)";
    case Format::Uuid:
      return Uuid::expected;
    case Format::JsonPointer:
      return "expected a JSON Pointer such as /lines/0/sku (RFC 6901)";
    case Format::RelativeJsonPointer:
      return "expected a relative JSON Pointer such as 1/sku";
    case Format::Regex:
      return "expected a regular expression (ECMA-262)";
    case Format::Byte:
      return "expected base64 (RFC 4648)";
  }
  return "";
}

}  // namespace keel::contract
