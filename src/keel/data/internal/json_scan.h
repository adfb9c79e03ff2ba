// Reads the common forms of JSON values; the functions need only the text and not the Reader. Each function reads one
// form, and consumes nothing if the text has any other form, such as a string with an escape, a number of many digits,
// or an error. The Reader reads all other forms, from the first byte of the value, so that only the Reader reports
// errors.

#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "keel/base/ascii.h"
#include "keel/data/internal/json_text.h"
#include "keel/data/utf8.h"

namespace keel::json::internal {

inline bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline const char* behind_space(const char* at, const char* end) noexcept {
  while (at != end && is_space(*at)) ++at;
  return at;
}

// Whether the text begins with `key`; false if `key` is empty. memcmp is not used, because it would be a call, and most
// keys are short.
[[gnu::always_inline]] inline bool begins_with(const char* at, const char* end, std::string_view key) noexcept {
  const std::size_t size = key.size();
  if (size - 1 >= static_cast<std::size_t>(end - at)) return false;
  const auto equal = [at, &key]<class Word>(Word, std::size_t offset) {
    return word_at<Word>(at + offset) == word_at<Word>(key.data() + offset);
  };
  if (size >= 8) {
    std::size_t offset = 0;
    for (; size - offset > 8; offset += 8) {
      if (!equal(std::uint64_t(), offset)) return false;
    }
    return equal(std::uint64_t(), size - 8);
  }
  if (size >= 4) return equal(std::uint32_t(), 0) && equal(std::uint32_t(), size - 4);
  for (std::size_t i = 0; i < size; ++i) {
    if (at[i] != key[i]) return false;
  }
  return true;
}

// Returns the closing quote of the string that contains `at`; null if the string contains an escape.
[[gnu::noinline]] inline const char* string_end(const char* at, const char* end) noexcept {
  for (;;) {
    at += plain_run(at, static_cast<std::size_t>(end - at));
    if (at == end) return nullptr;
    if (*at == '"') return at;
    if (static_cast<std::uint8_t>(*at) < 0x80) return nullptr;
    do {
      const int length = utf8::sequence_length(at, end);
      if (length == 0) return nullptr;
      at += length;
    } while (at != end && static_cast<std::uint8_t>(*at) >= 0x80);
  }
}

// Reads a string that contains no escapes.
[[gnu::always_inline]] inline bool take_string(const char*& at, const char* end, std::string_view& value) noexcept {
  if (at == end || *at != '"') return false;
  const char* const first = at + 1;
#ifdef __SSE2__
  if (end - first >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
    const auto hits = static_cast<unsigned>(_mm_movemask_epi8(scan::JsonStop::mask(block)));
    const char* const quote = first + std::countr_zero(hits);
    if (hits != 0 && *quote == '"') {
      value = {first, quote};
      at = quote + 1;
      return true;
    }
  }
#endif
  const char* const quote = string_end(first, end);
  if (quote == nullptr) return false;
  value = {first, quote};
  at = quote + 1;
  return true;
}

// Copies a short text without a call; the bytes up to `end` must be readable.
[[gnu::always_inline]] inline void put_string(std::string_view text, const char* end, std::string& to) {
  constexpr std::size_t room = 15;  // A std::string of this size does not use the heap.
  if (text.size() > room || end - text.data() < static_cast<std::ptrdiff_t>(room)) {
    to = text;
  } else {
    to.resize_and_overwrite(room, [text](char* at, std::size_t) {
      std::memcpy(at, text.data(), 8);
      std::memcpy(at + room - 8, text.data() + room - 8, 8);
      return text.size();
    });
  }
}

// Copies the text before the next backslash, and returns the position of this backslash, or `end`. `to` must have space
// for all of the text.
inline const char* copy_to_slash(const char* at, const char* end, char*& to) noexcept {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16, to += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), block);
    const auto hits = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))));
    if (hits == 0) continue;
    to += std::countr_zero(hits);
    return at + std::countr_zero(hits);
  }
#endif
  while (at != end && *at != '\\') *to++ = *at++;
  return at;
}

[[gnu::always_inline]] inline bool take_boolean(const char*& at, const char* end, bool& value) noexcept {
  if (end - at >= 4 && word_at<std::uint32_t>(at) == word_at<std::uint32_t>("true")) {
    at += 4;
    value = true;
    return true;
  }
  if (end - at >= 5 && *at == 'f' && word_at<std::uint32_t>(at + 1) == word_at<std::uint32_t>("alse")) {
    at += 5;
    value = false;
    return true;
  }
  return false;
}

// The number of digits at the beginning of the eight bytes, before the first byte that is not a digit.
inline unsigned digits_in_front(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t high_halves = 0xF0F0F0F0F0F0F0F0;
  // A carry out of a byte affects only later bytes, and occurs only if the byte itself is not a digit, so the first
  // mark is right.
  const std::uint64_t wrong =
      ((bytes & high_halves) | ((bytes + 0x0606060606060606) & high_halves) >> 4) ^ 0x3333333333333333;
  return wrong == 0 ? 8 : static_cast<unsigned>(std::countr_zero(wrong)) >> 3;
}

// The number formed by the first `count` of the eight bytes; `count` is from 1 to 8.
inline std::uint64_t value_of_digits(std::uint64_t bytes, unsigned count) noexcept {
  bytes <<= 64 - 8 * count;
  bytes = (bytes & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
  bytes = (bytes & 0x00FF00FF00FF00FF) * 6553601 >> 16;
  return (bytes & 0x0000FFFF0000FFFF) * 42949672960001 >> 32;
}

inline constexpr auto powers_of_ten = [] {
  std::array<std::uint64_t, 20> made{1};
  for (std::size_t i = 1; i < made.size(); ++i) made[i] = made[i - 1] * 10;
  return made;
}();

// Appends the digits at `at` to `value`, but at most `most` digits, which must be at most 19; returns how many digits
// it appended.
[[gnu::always_inline]] inline unsigned take_digits(const char*& at, const char* end, unsigned most,
                                                   std::uint64_t& value) noexcept {
  unsigned count = 0;
  if constexpr (std::endian::native == std::endian::little) {
    while (most - count >= 8 && end - at >= 8) {
      const auto bytes = word_at<std::uint64_t>(at);
      const unsigned more = digits_in_front(bytes);
      if (more == 0) return count;
      value = value * powers_of_ten[more] + value_of_digits(bytes, more);
      at += more;
      count += more;
      if (more < 8) return count;
    }
  }
  for (; count < most && at != end && ascii::is_digit(*at); ++at, ++count) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return count;
}

// Whether the character at `at` ends a number; if not, the number might continue.
[[gnu::always_inline]] inline bool ends_value(const char* at, const char* end) noexcept {
  return at == end || *at == ',' || *at == '}' || *at == ']' || is_space(*at);
}

// Reads an integer of up to 18 digits, which always fits into 64 bits.
[[gnu::always_inline]] inline bool take_integer(const char*& at, const char* end, std::int64_t& value) noexcept {
  const char* to = at;
  const bool is_negative = to != end && *to == '-';
  if (is_negative) ++to;
  const char* const first = to;
  std::uint64_t digits = 0;
  const unsigned count = take_digits(to, end, 18, digits);
  if (count == 0 || (*first == '0' && count > 1) || !ends_value(to, end)) return false;
  value = is_negative ? -static_cast<std::int64_t>(digits) : static_cast<std::int64_t>(digits);
  at = to;
  return true;
}

// Reads any number whose grammar has been checked up to its exponent: from_chars reads either the entire number, or
// only the part before the 'e'.
[[gnu::noinline]] inline bool take_long_double(const char*& at, const char* end, double& value) noexcept {
  double number = 0;
  const auto [behind, error] = std::from_chars(at, end, number);
  if (error != std::errc() || !std::isfinite(number) || !ends_value(behind, end)) return false;
  value = number;
  at = behind;
  return true;
}

// Returns digits / 10^decimals, for up to 18 decimals, correctly rounded: the quotient has at least 63 bits, of which a
// double holds 53, and the quotient's lowest bit is set if there is a remainder.
inline double quotient(std::uint64_t digits, unsigned decimals) noexcept {
  const int up = std::countl_zero(digits);
  const int divisor_up = std::countl_zero(powers_of_ten[decimals]);
  const std::uint64_t dividend = digits << up;
  const std::uint64_t divisor = powers_of_ten[decimals] << divisor_up;
  std::uint64_t high = dividend >> 1;
  std::uint64_t low = dividend << 63;
#ifdef __x86_64__
  // Divides 128 bits by 64 bits with one instruction; the quotient fits, because high < divisor.
  asm("divq %2" : "+d"(high), "+a"(low) : "r"(divisor) : "cc");
  low |= high != 0 ? 1 : 0;
#else
  __extension__ using Wide = unsigned __int128;
  const auto whole = static_cast<Wide>(high) << 64 | low;
  high = static_cast<std::uint64_t>(whole % divisor);
  low = static_cast<std::uint64_t>(whole / divisor) | (high != 0 ? 1 : 0);
#endif
  // Multiplying by a power of two is exact.
  const auto exponent = static_cast<std::uint64_t>(1023 - 63 + divisor_up - up);
  return static_cast<double>(low) * std::bit_cast<double>(exponent << 52);
}

// Reads a number that is finite as a double: numbers of up to 19 digits without an exponent are read here, all other
// numbers by from_chars. A number with few digits is the quotient of two exact doubles, and is therefore correctly
// rounded (W. Clinger, "How to Read Floating Point Numbers Accurately", 1990).
[[gnu::always_inline]] inline bool take_double(const char*& at, const char* end, double& value) noexcept {
  static constexpr double powers[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                      1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
  constexpr unsigned most = 19;  // The maximum number of digits that always fit into 64 bits.
  const char* to = at;
  const bool is_negative = to != end && *to == '-';
  if (is_negative) ++to;
  const char* const first = to;
  std::uint64_t digits = 0;
  const unsigned count = take_digits(to, end, most, digits);
  if (count == 0 || (*first == '0' && count > 1)) return false;
  unsigned decimals = 0;
  if (to != end && *to == '.') {
    ++to;
    decimals = take_digits(to, end, most - count, digits);
    if (decimals == 0) return false;
  } else if (count == most) {
    return false;
  }
  if (!ends_value(to, end)) return take_long_double(at, end, value);
  double size = static_cast<double>(digits);
  if (decimals != 0) size = digits < 1ull << 53 ? size / powers[decimals] : quotient(digits, decimals);
  value = is_negative ? -size : size;
  at = to;
  return true;
}

}  // namespace keel::json::internal
