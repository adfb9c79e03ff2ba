#include "keel/db/postgres/internal/numeric.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "keel/base/ascii.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

constexpr std::uint16_t sign_negative = 0x4000;
constexpr std::uint16_t sign_nan = 0xC000;
constexpr std::uint16_t sign_infinity = 0xD000;
constexpr std::uint16_t sign_minus_infinity = 0xF000;
constexpr int scale_max = 0x3FFF;
constexpr int group_digits = 4;

void put_group(char* to, int group) {
  for (int i = group_digits - 1; i >= 0; --i, group /= 10) to[i] = static_cast<char>('0' + group % 10);
}

void append_numeric_head(Buffer& to, int groups, int weight, std::uint16_t sign, int scale) {
  wire::append(to, static_cast<std::uint16_t>(groups));
  wire::append(to, static_cast<std::int16_t>(weight));
  wire::append(to, sign);
  wire::append(to, static_cast<std::uint16_t>(scale));
}

constexpr int floor_of_quarter(int value) { return value >= 0 ? value / 4 : -((3 - value) / 4); }

// A decimal number: its digits without leading zeros, and the position of the point.
struct Decimal {
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;
  bool is_negative = false;

  int size() const { return static_cast<int>(whole.size() + fraction.size()); }
  int digit(int at) const {
    if (at < 0 || at >= size()) return 0;
    const auto i = static_cast<std::size_t>(at);
    return (i < whole.size() ? whole[i] : fraction[i - whole.size()]) - '0';
  }
};

bool take_digits(std::string_view& text, std::string_view& digits) {
  std::size_t count = 0;
  while (count < text.size() && ascii::is_digit(text[count])) ++count;
  digits = text.substr(0, count);
  text.remove_prefix(count);
  return count != 0;
}

bool read_decimal(std::string_view text, Decimal& decimal) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    decimal.is_negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (!take_digits(text, decimal.whole)) return false;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    if (!take_digits(text, decimal.fraction)) return false;
  }
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    if (!text.empty() && text[0] == '+') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), decimal.exponent);
    if (error != std::errc() || std::abs(decimal.exponent) > 200'000) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  // The limit of 200,000 is larger than the number of digits of any numeric, and sums of numbers within the limit do
  // not overflow.
  return text.empty() && decimal.whole.size() + decimal.fraction.size() < 200'000;
}

}  // namespace

bool append_numeric_text(std::string_view bytes, Buffer& to) {
  wire::Cursor cursor(bytes);
  const int groups = cursor.take<std::uint16_t>();
  const int weight = cursor.take<std::int16_t>();
  const auto sign = cursor.take<std::uint16_t>();
  const int scale = cursor.take<std::uint16_t>();
  const std::string_view digits = cursor.take_bytes(static_cast<std::size_t>(groups) * 2);
  if (!cursor.is_whole() || scale > scale_max) return false;
  for (int i = 0; i < groups; ++i) {
    if (wire::load<std::uint16_t>(digits.data() + 2 * i) >= 10'000) return false;
  }
  const auto group = [&](int at) -> int {
    return at >= 0 && at < groups ? wire::load<std::uint16_t>(digits.data() + 2 * at) : 0;
  };
  switch (sign) {
    case sign_nan:
      to.append("NaN");
      return true;
    case sign_infinity:
      to.append("Infinity");
      return true;
    case sign_minus_infinity:
      to.append("-Infinity");
      return true;
    case 0:
    case sign_negative:
      break;
    default:
      return false;
  }
  const std::size_t start = to.size();
  if (sign == sign_negative) to.push_back('-');
  // Before the point.
  int at = 0;
  while (at <= weight && group(at) == 0) ++at;
  bool is_zero = at > weight;
  char text[group_digits];
  if (is_zero) {
    to.push_back('0');
  } else {
    put_group(text, group(at));
    const char* first = text;
    while (*first == '0') ++first;
    to.append({first, static_cast<std::size_t>(text + group_digits - first)});
    for (++at; at <= weight; ++at) {
      put_group(text, group(at));
      to.append({text, group_digits});
    }
  }
  // After the point.
  if (scale > 0) {
    to.push_back('.');
    int left = scale;
    for (at = weight + 1; left > 0; ++at, left -= group_digits) {
      put_group(text, group(at));
      const std::string_view shown(text, static_cast<std::size_t>(std::min(left, group_digits)));
      is_zero = is_zero && shown.find_first_not_of('0') == std::string_view::npos;
      to.append(shown);
    }
  }
  if (is_zero && sign == sign_negative) {  // No server sends a negative zero, so the text gets no sign.
    char* text_start = to.data() + start;
    std::memmove(text_start, text_start + 1, to.size() - start - 1);
    to.resize(to.size() - 1);
  }
  return true;
}

bool append_numeric_bytes(std::string_view text, Buffer& to) {
  if (text == "NaN") {
    append_numeric_head(to, 0, 0, sign_nan, 0);
    return true;
  }
  if (text == "Infinity" || text == "-Infinity") {
    append_numeric_head(to, 0, 0, text[0] == '-' ? sign_minus_infinity : sign_infinity, 0);
    return true;
  }
  Decimal decimal;
  if (!read_decimal(text, decimal)) return false;
  const int scale = std::max(0, static_cast<int>(decimal.fraction.size()) - decimal.exponent);
  if (scale > scale_max) return false;
  int first = 0;
  while (first < decimal.size() && decimal.digit(first) == 0) ++first;
  int last = decimal.size();  // The index after the last digit that is not zero.
  while (last > first && decimal.digit(last - 1) == 0) --last;
  if (first == last) {
    append_numeric_head(to, 0, 0, 0, scale);
    return true;
  }
  const int point =
      static_cast<int>(decimal.whole.size()) + decimal.exponent;  // The index of the first digit after the point.
  const int weight = floor_of_quarter(point - first - 1);
  if (weight > std::numeric_limits<std::int16_t>::max()) return false;
  const int start =
      // The index at which the first group of digits begins; it may lie before the first digit.
      point - group_digits * (weight + 1);
  const int groups = (last - start + group_digits - 1) / group_digits;
  append_numeric_head(to, groups, weight, decimal.is_negative ? sign_negative : 0, scale);
  for (int i = 0; i < groups; ++i) {
    int group = 0;
    for (int j = 0; j < group_digits; ++j) group = group * 10 + decimal.digit(start + i * group_digits + j);
    wire::append(to, static_cast<std::uint16_t>(group));
  }
  return true;
}

void append_real_text(double value, bool is_single, Buffer& to) {
  if (std::isnan(value)) return to.append("NaN");
  if (std::isinf(value)) return to.append(value < 0 ? "-Infinity" : "Infinity");
  if (value == 0) return to.append(std::signbit(value) ? "-0" : "0");
  char text[64];
  const auto end =
      is_single ? std::to_chars(text, text + sizeof text, static_cast<float>(value), std::chars_format::scientific).ptr
                : std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  const std::string_view all(text, static_cast<std::size_t>(end - text));
  const std::size_t e = all.find('e');
  int exponent = 0;
  const char* digits_of_exponent = all.data() + e + 1;
  if (*digits_of_exponent == '+') ++digits_of_exponent;
  std::from_chars(digits_of_exponent, end, exponent);
  // Outside of this range, the server writes an exponent (d2s.c, f2s.c).
  if (exponent < -4 || exponent >= (is_single ? 6 : 15)) return to.append(all);
  char digits[32];
  int count = 0;
  std::size_t at = 0;
  if (all[0] == '-') {
    to.push_back('-');
    at = 1;
  }
  for (; at < e; ++at) {
    if (all[at] != '.') digits[count++] = all[at];
  }
  if (exponent < 0) {
    to.append(std::string_view("0.0000").substr(0, static_cast<std::size_t>(1 - exponent)));
    to.append({digits, static_cast<std::size_t>(count)});
    return;
  }
  for (int i = 0; i <= exponent || i < count; ++i) {
    if (i == exponent + 1) to.push_back('.');
    to.push_back(i < count ? digits[i] : '0');
  }
}

}  // namespace keel::db::postgres
