#include "keel/http/fields.h"

#include "keel/base/scan.h"

namespace keel::http {
namespace byte_class {
namespace {

constexpr std::array<std::uint8_t, 256> make_table() {
  std::array<std::uint8_t, 256> made{};
  const auto add = [&](std::string_view bytes, std::uint8_t set) {
    for (char c : bytes) made[static_cast<unsigned char>(c)] |= set;
  };
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", token | host);
  add("!#$%&'*+-.^_`|~", token);
  add("-._~!$&'()*+;=", host);
  add("0123456789abcdefABCDEF", hex);
  return made;
}

}  // namespace

constexpr std::array<std::uint8_t, 256> table = make_table();

}  // namespace byte_class

bool is_token(std::string_view text) noexcept {
  for (char c : text) {
    if (!is_token_byte(c)) return false;
  }
  return !text.empty();
}

bool is_field_value(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  return scan::find_control(text.data(), text.data(), end) == end;
}

bool equals_ignore_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

std::string_view trim_blanks(std::string_view text) noexcept {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool next_element(std::string_view& rest, std::string_view& element) noexcept {
  if (rest.data() == nullptr) return false;
  const std::size_t comma = rest.find(',');
  element = trim_blanks(rest.substr(0, comma));
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return true;
}

}  // namespace keel::http
