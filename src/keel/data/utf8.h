// keel/data/utf8.h — checks UTF-8 by Unicode's definition of "well-formed" (Table 3-7; RFC 3629).
//
// Overlong forms, surrogates (U+D800..U+DFFF) and code points above U+10FFFF are ill-formed; U+0000 and noncharacters
// are well-formed.
//
// Cost: ASCII is checked 16 bytes at a time; no allocation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace keel::utf8 {

inline constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

// The number of bytes before the first sequence that is ill-formed or truncated; text.size() if every sequence is
// well-formed.
std::size_t valid_prefix(std::string_view text) noexcept;
inline bool is_valid(std::string_view text) noexcept { return valid_prefix(text) == text.size(); }

// The length (1..4) of the well-formed sequence at `at`, or 0 if the sequence there is not well-formed. `at` must be
// before `end`.
inline int sequence_length(const char* at, const char* end) noexcept {
  const auto byte = [at](int i) { return static_cast<std::uint8_t>(at[i]); };
  const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
  const std::uint8_t lead = byte(0);
  const std::ptrdiff_t left = end - at;
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // A continuation byte, or an overlong form of ASCII.
  if (lead < 0xE0) return left >= 2 && follows(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !follows(1) || !follows(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // Overlong.
    if (lead == 0xED && byte(1) >= 0xA0) return 0;  // A surrogate.
    return 3;
  }
  if (lead > 0xF4 || left < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;   // Overlong.
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;  // Above U+10FFFF.
  return 4;
}

// Writes `point` (a Unicode scalar value) to `to`, which must have space for 4 bytes; returns the number of bytes
// written.
int encode(char32_t point, char* to) noexcept;

}  // namespace keel::utf8
