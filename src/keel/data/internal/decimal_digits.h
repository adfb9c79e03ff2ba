// Reads the digits of a decimal number from its text: at compile time for a literal, otherwise in Decimal::parse().

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/ascii.h"

namespace keel::internal {

struct DecimalMath;
__extension__ using Wide = unsigned __int128;

inline constexpr int decimal_digits_max = 36;
// 10^0 to 10^36.
inline constexpr std::array<Wide, decimal_digits_max + 1> decimal_powers = [] {
  std::array<Wide, decimal_digits_max + 1> powers{};
  Wide power = 1;
  for (Wide& one : powers) {
    one = power;
    power *= 10;
  }
  return powers;
}();
inline constexpr Wide decimal_limit = decimal_powers[decimal_digits_max];

struct DecimalDigits {
  Wide coefficient = 0;
  int scale = 0;
  bool is_negative = false;
  const char* problem = nullptr;  // A string literal; null if the text has no problem.
  std::size_t at = 0;             // The position of the problem in the text.
};

constexpr DecimalDigits refused_decimal(const char* problem, std::size_t at) noexcept {
  DecimalDigits refused;
  refused.problem = problem;
  refused.at = at;
  return refused;
}

// Reads a number in the grammar of JSON (RFC 8259 §6). Zeros at the end of a fraction are dropped only if they do not
// fit.
constexpr DecimalDigits read_decimal(std::string_view text) noexcept {
  constexpr std::int64_t far = 1'000'000'000;  // No number with an exponent this large fits into a Decimal.
  const auto is_digit = [&](std::size_t i) { return i < text.size() && ascii::is_digit(text[i]); };
  DecimalDigits read;
  std::size_t i = 0;
  if (i < text.size() && text[i] == '-') {
    read.is_negative = true;
    ++i;
  }
  if (!is_digit(i)) return refused_decimal("a digit is missing", i);
  if (text[i] == '0' && is_digit(i + 1)) return refused_decimal("there is an unnecessary leading zero", i);

  int digits = 0;  // Of the coefficient.
  // The number of zeros that were read after the coefficient's digits and do not belong to the coefficient yet.
  std::int64_t zeros = 0;
  std::int64_t fraction = 0;  // The number of digits after the point.
  bool is_behind_point = false;
  for (;; ++i) {
    if (!is_behind_point && i < text.size() && text[i] == '.') {
      is_behind_point = true;
      if (!is_digit(++i)) return refused_decimal("a digit is missing", i);
    }
    if (!is_digit(i)) break;
    fraction += is_behind_point ? 1 : 0;
    if (text[i] == '0') {
      zeros += digits != 0 ? 1 : 0;
      continue;
    }
    if (digits + zeros + 1 > decimal_digits_max) return refused_decimal("there is one digit too many", i);
    for (; zeros > 0; --zeros, ++digits) read.coefficient *= 10;
    read.coefficient = read.coefficient * 10 + static_cast<unsigned>(text[i] - '0');
    ++digits;
  }
  std::int64_t exponent = 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    const bool is_below = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (!is_digit(i)) return refused_decimal("a digit is missing", i);
    for (; is_digit(i); ++i) exponent = exponent < far ? exponent * 10 + (text[i] - '0') : exponent;
    if (is_below) exponent = -exponent;
  }
  if (i != text.size()) return refused_decimal("there is a character that is not part of a number", i);

  std::int64_t scale = fraction - exponent;
  if (read.coefficient == 0) {
    read.is_negative = false;
    read.scale = static_cast<int>(scale < 0 ? 0 : scale > decimal_digits_max ? decimal_digits_max : scale);
    return read;
  }
  if (scale < 0) {
    zeros -= scale;
    scale = 0;
  }
  const std::int64_t beyond_scale = scale - decimal_digits_max;
  const std::int64_t beyond_digits = digits + zeros - decimal_digits_max;
  const std::int64_t dropped = beyond_scale > beyond_digits ? beyond_scale : beyond_digits;
  if (dropped > 0) {
    if (dropped > scale) return refused_decimal("the number is too large", 0);
    if (dropped > zeros) return refused_decimal("the number has too many digits after the point", 0);
    zeros -= dropped;
    scale -= dropped;
  }
  for (; zeros > 0; --zeros) read.coefficient *= 10;
  read.scale = static_cast<int>(scale);
  return read;
}

}  // namespace keel::internal
