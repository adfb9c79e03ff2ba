#include "keel/http/message/fields.h"

#include "keel/base/ascii.h"
#include "keel/base/scan.h"

namespace keel::http {
namespace byte_class {
namespace {

constexpr std::array<std::uint8_t, 256> make_table() {
  std::array<std::uint8_t, 256> made{};
  const auto add = [&](std::string_view bytes, std::uint8_t set) {
    for (char c : bytes) made[static_cast<unsigned char>(c)] |= set;
  };
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", token | host | target);
  add("!#$%&'*+-.^_`|~", token);
  add("-._~!$&'()*+;=", host | target);
  add(",:@/?%[]", target);
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

bool is_field_value(std::string_view text) noexcept { return !scan::has<scan::Control>(text.data(), text.size()); }

namespace {

// Checks eight bytes in one step: bit 7 of each byte of `upper` is set if the byte is one of A-Z.
std::uint64_t lower8(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  const std::uint64_t low = bytes & 0x7f * ones;
  const std::uint64_t from_a = low + (0x80 - 'A') * ones;
  const std::uint64_t behind_z = low + (0x7f - 'Z') * ones;
  const std::uint64_t upper = ~bytes & (from_a ^ behind_z) & 0x80 * ones;
  return bytes | upper >> 2;
}

}  // namespace

bool equals_ignore_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  if (a.size() >= 8) {
    const auto differ = [&](std::size_t at) {
      return lower8(scan::load64(a.data() + at)) != lower8(scan::load64(b.data() + at));
    };
    for (std::size_t at = 0; at + 8 < a.size(); at += 8) {
      if (differ(at)) return false;
    }
    return !differ(a.size() - 8);
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && ascii::to_lower(a[i]) != ascii::to_lower(b[i])) return false;
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

bool lists(std::string_view list, std::string_view wanted) noexcept {
  for (std::string_view rest = list, element; next_element(rest, element);) {
    if (equals_ignore_case(element, wanted)) return true;
  }
  return false;
}

}  // namespace keel::http
