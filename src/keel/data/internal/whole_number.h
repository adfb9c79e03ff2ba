// Recognises a JSON number that is an integer, in any notation. Tested by json_numbers_test.cc.

#pragma once

#include <cstddef>
#include <string_view>

#include "keel/base/integer_range.h"

namespace keel::json::internal {

// Returns the keyword of JSON Schema that a number outside the range violates; `is_below` tells whether the number is
// below or above the range. json_schema.h describes the range of the type by the same keyword, which is "format" for
// int32 and int64.
constexpr const char* range_keyword(const IntegerRange& range, bool is_below) noexcept {
  if (range.least <= -0x8000'0000LL || (!is_below && range.most == ~std::uint64_t{0})) return "format";
  return is_below ? "minimum" : "maximum";
}

inline constexpr std::size_t whole_room = 32;

// Converts a number that has a fraction or an exponent to an integer, in `room`: 16.0 becomes "16", 1e3 becomes "1000".
// Returns false if the number is not an integer. If the number has more digits than any integer type can hold, only
// some of the digits are kept, and even these are too many for any integer type.
inline bool to_whole(std::string_view& raw, char (&room)[whole_room]) noexcept {
  constexpr long digits_max = 24;
  char* to = room;
  const char* at = raw.data();
  const char* const end = at + raw.size();
  if (*at == '-') *to++ = *at++;
  // The number of significant digits before the point; a negative value is the number of zeros directly after the
  // point.
  long before = 0;
  long digits = 0;
  long significant = 0;  // The number of digits up to the last digit that is not 0.
  bool is_behind = false;
  char* const first = to;
  for (; at != end && *at != 'e' && *at != 'E'; ++at) {
    if (*at == '.') {
      is_behind = true;
      continue;
    }
    if (!is_behind) ++before;
    // A leading zero is not a significant digit; a leading zero after the point only shifts the digits that follow.
    if (digits == 0 && *at == '0') {
      --before;
      continue;
    }
    ++digits;
    if (*at != '0') significant = digits;
    if (digits <= digits_max) *to++ = *at;
  }
  if (significant == 0) {
    *first = '0';
    raw = {room, static_cast<std::size_t>(first + 1 - room)};
    return true;
  }
  long exponent = 0;
  if (at != end) {
    const bool is_negative = *++at == '-';
    if (*at == '-' || *at == '+') ++at;
    for (; at != end; ++at) {
      if (exponent < 1'000'000'000) exponent = exponent * 10 + (*at - '0');
    }
    if (is_negative) exponent = -exponent;
  }
  const long size = before + exponent;  // How many digits the integer has.
  if (size < significant) return false;
  const long written = size < digits_max ? size : digits_max;
  for (long i = digits; i < written; ++i) first[i] = '0';
  raw = {room, static_cast<std::size_t>(first + written - room)};
  return true;
}

}  // namespace keel::json::internal
