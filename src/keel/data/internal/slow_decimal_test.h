// A reference for Decimal, by school arithmetic on texts of digits, without integers of 128 bits.

#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "keel/data/decimal.h"

namespace keel::slow_decimal {

// Without zeros in front; empty for 0.
using Digits = std::string;

inline Digits stripped(Digits digits) {
  return digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
}
inline bool is_less(const Digits& a, const Digits& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; }

inline Digits sum(const Digits& a, const Digits& b) {
  Digits total;
  int carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    const int digit = (i < a.size() ? a[a.size() - 1 - i] - '0' : 0) + (i < b.size() ? b[b.size() - 1 - i] - '0' : 0);
    total.insert(total.begin(), static_cast<char>('0' + (digit + carry) % 10));
    carry = (digit + carry) / 10;
  }
  return stripped(total);
}
// `a` is not less than `b`.
inline Digits difference(const Digits& a, const Digits& b) {
  Digits rest = a;
  int borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    int digit = a[a.size() - 1 - i] - '0' - borrow - (i < b.size() ? b[b.size() - 1 - i] - '0' : 0);
    borrow = digit < 0 ? 1 : 0;
    digit += 10 * borrow;
    rest[a.size() - 1 - i] = static_cast<char>('0' + digit);
  }
  return stripped(rest);
}
inline Digits product(const Digits& a, const Digits& b) {
  Digits total;
  for (const char digit : b) {
    if (!total.empty()) total += '0';
    for (int i = '0'; i < digit; ++i) total = sum(total, a);
  }
  return total;
}
struct Quotient {
  Digits whole;
  Digits rest;
};
inline Quotient quotient(const Digits& a, const Digits& b) {
  Quotient result;
  for (const char digit : a) {
    result.rest = stripped(result.rest + digit);
    char times = '0';
    for (; !is_less(result.rest, b); ++times) result.rest = difference(result.rest, b);
    result.whole += times;
  }
  result.whole = stripped(result.whole);
  return result;
}

struct Number {
  bool is_negative = false;
  Digits digits;
  int scale = 0;

  std::string text() const {
    std::string all = digits;
    const auto least = static_cast<std::size_t>(scale) + 1;
    if (all.size() < least) all.insert(0, least - all.size(), '0');
    if (scale != 0) all.insert(all.size() - static_cast<std::size_t>(scale), ".");
    return (is_negative ? "-" : "") + all;
  }
};
// The number as a Decimal would store it, if it can.
inline std::optional<Number> fitted(Number number) {
  number.digits = stripped(number.digits);
  while (number.digits.size() > 36 || number.scale > 36) {
    if (number.scale == 0 || (!number.digits.empty() && number.digits.back() != '0')) return std::nullopt;
    if (!number.digits.empty()) number.digits.pop_back();
    --number.scale;
  }
  if (number.digits.empty()) number.is_negative = false;
  return number;
}
inline Number number_of(Decimal value) {
  Number number;
  const Decimal::Text text = value.text();
  for (const char c : text.view()) {
    if (c == '-') {
      number.is_negative = true;
    } else if (c != '.') {
      number.digits += c;
    }
  }
  number.digits = stripped(number.digits);
  number.scale = value.scale();
  return number;
}

inline std::optional<Number> sum(Number a, Number b) {
  const int scale = std::max(a.scale, b.scale);
  for (Number* one : {&a, &b}) {
    if (!one->digits.empty()) one->digits.append(static_cast<std::size_t>(scale - one->scale), '0');
  }
  if (a.is_negative == b.is_negative) return fitted({a.is_negative, sum(a.digits, b.digits), scale});
  if (is_less(a.digits, b.digits)) std::swap(a, b);
  return fitted({a.is_negative, difference(a.digits, b.digits), scale});
}
inline std::optional<Number> product(const Number& a, const Number& b) {
  return fitted({a.is_negative != b.is_negative, product(a.digits, b.digits), a.scale + b.scale});
}
// The divisor is not 0.
inline std::optional<Number> quotient(Number a, Number b, int scale, Rounding rounding) {
  const int shift = scale + b.scale - a.scale;
  Digits& longer = shift < 0 ? b.digits : a.digits;
  if (!longer.empty()) longer.append(static_cast<std::size_t>(shift < 0 ? -shift : shift), '0');
  Quotient result = quotient(a.digits, b.digits);
  const bool is_negative = a.is_negative != b.is_negative;
  const Digits twice = sum(result.rest, result.rest);
  const bool is_below_half = is_less(twice, b.digits);
  const bool is_half = twice == b.digits;
  const bool is_odd = !result.whole.empty() && (result.whole.back() - '0') % 2 != 0;
  bool is_up = false;
  if (!result.rest.empty()) {
    is_up = rounding == Rounding::HalfEven ? !is_below_half && (!is_half || is_odd)
            : rounding == Rounding::HalfUp
                ? !is_below_half
                : rounding == Rounding::Up || (rounding == Rounding::Ceiling && !is_negative) ||
                      (rounding == Rounding::Floor && is_negative);
  }
  if (is_up) result.whole = sum(result.whole, "1");
  if (result.whole.size() > 36) return std::nullopt;
  return fitted({is_negative, result.whole, scale});
}

// The number of a text as JSON defines it; nothing when it is none, or does not fit.
inline std::optional<Number> parsed(std::string_view text) {
  Number number;
  const auto take = [&](char c) {
    if (text.empty() || text[0] != c) return false;
    text.remove_prefix(1);
    return true;
  };
  const auto take_digits = [&] {
    const std::size_t size = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string digits(text.substr(0, size));
    text.remove_prefix(size);
    return digits;
  };
  number.is_negative = take('-');
  const std::string whole = take_digits();
  if (whole.empty() || (whole.size() > 1 && whole[0] == '0')) return std::nullopt;
  std::string fraction;
  if (take('.')) {
    fraction = take_digits();
    if (fraction.empty()) return std::nullopt;
  }
  long long exponent = 0;
  if (take('e') || take('E')) {
    const bool is_negative = take('-');
    if (!is_negative) take('+');
    std::string digits = take_digits();
    if (digits.empty()) return std::nullopt;
    digits = stripped(digits);
    exponent = digits.empty() ? 0 : digits.size() > 6 ? 1'000'000 : std::stoll(digits);
    if (is_negative) exponent = -exponent;
  }
  if (!text.empty()) return std::nullopt;
  number.digits = stripped(whole + fraction);
  const long long scale = static_cast<long long>(fraction.size()) - exponent;
  if (number.digits.empty()) return Number{false, {}, static_cast<int>(std::clamp(scale, 0LL, 36LL))};
  if (scale < -36 || scale > 100'000) return std::nullopt;
  if (scale < 0) number.digits.append(static_cast<std::size_t>(-scale), '0');
  number.scale = scale < 0 ? 0 : static_cast<int>(scale);
  return fitted(number);
}

// Empty when both are the same; else both.
inline std::string disagreement(const std::optional<Number>& slow, const Result<Decimal>& fast) {
  const std::string one = slow ? slow->text() : "none";
  const std::string other = fast ? std::string(fast->text().view()) : "none";
  return one == other ? std::string() : one + " and " + other;
}
inline std::string first_disagreement(Decimal a, Decimal b, int scale, Rounding rounding) {
  const Number x = number_of(a);
  const Number y = number_of(b);
  const std::string both = x.text() + " and " + y.text();
  if (const auto wrong = disagreement(sum(x, y), Decimal::add(a, b)); !wrong.empty()) return both + " +: " + wrong;
  const Number minus{!y.is_negative && !y.digits.empty(), y.digits, y.scale};
  if (const auto wrong = disagreement(sum(x, minus), Decimal::subtract(a, b)); !wrong.empty()) {
    return both + " -: " + wrong;
  }
  if (const auto wrong = disagreement(product(x, y), Decimal::multiply(a, b)); !wrong.empty()) {
    return both + " *: " + wrong;
  }
  if (b != 0) {
    const auto wrong = disagreement(quotient(x, y, scale, rounding), a.divided_by(b, scale, rounding));
    if (!wrong.empty()) return both + " / at scale " + std::to_string(scale) + ": " + wrong;
  }
  // Their difference has a sign in any case, as numbers of twice as many digits.
  Number left = x;
  Number right = y;
  const int finest = std::max(left.scale, right.scale);
  for (Number* one : {&left, &right}) {
    if (!one->digits.empty()) one->digits.append(static_cast<std::size_t>(finest - one->scale), '0');
  }
  const auto is_smaller = [](const Number& one, const Number& other) {
    if (one.is_negative != other.is_negative) return one.is_negative;
    return one.is_negative ? is_less(other.digits, one.digits) : is_less(one.digits, other.digits);
  };
  if ((a < b) != is_smaller(left, right) || (b < a) != is_smaller(right, left)) return both + " are compared wrongly";
  return {};
}

}  // namespace keel::slow_decimal
