// The arithmetic of Decimal, which works on coefficients of 128 bits.

#pragma once

#include <cstdint>
#include <utility>

#include "keel/data/decimal.h"

namespace keel {
namespace internal {

// The value of the digits that rounding cuts off, compared with one unit of the last digit that is kept.
enum class CutOff : std::uint8_t { Nothing, LessThanHalf, Half, MoreThanHalf };

// The functions that return a bool return false if the result has more than 36 digits.
struct DecimalMath {
  static bool fit(bool is_negative, Wide coefficient, int scale, Decimal& to) noexcept {
    while (coefficient >= decimal_limit || scale > Decimal::scale_max) {
      if (scale == 0 || coefficient % 10 != 0) return false;
      coefficient /= 10;
      --scale;
    }
    to = Decimal(is_negative, coefficient, scale);
    return true;
  }

  static bool add(Decimal a, Decimal b, Decimal& to) noexcept {
    if (a.scale() < b.scale()) std::swap(a, b);
    Wide fine = a.coefficient();
    Wide coarse = b.coefficient();
    int scale = a.scale();
    int shift = scale - b.scale();
    // Beyond this bound, the result fits only if `fine` ends with a zero, which is then dropped.
    while (shift > 0 && coarse > 2 * decimal_limit / decimal_powers[static_cast<std::size_t>(shift)]) {
      if (fine % 10 != 0) return false;
      fine /= 10;
      --scale;
      --shift;
    }
    coarse *= decimal_powers[static_cast<std::size_t>(shift)];
    if (a.is_negative() == b.is_negative()) return fit(a.is_negative(), fine + coarse, scale, to);
    if (fine >= coarse) return fit(a.is_negative(), fine - coarse, scale, to);
    return fit(b.is_negative(), coarse - fine, scale, to);
  }

  static bool multiply(Decimal a, Decimal b, Decimal& to) noexcept {
    // The limbs of the product, the lowest limb first.
    std::uint64_t limbs[4] = {};
    const std::uint64_t x[2] = {a.low_, a.high_};
    const std::uint64_t y[2] = {b.low_, b.high_};
    for (int i = 0; i < 2; ++i) {
      std::uint64_t carry = 0;
      for (int j = 0; j < 2; ++j) {
        const Wide sum = Wide{x[i]} * y[j] + limbs[i + j] + carry;
        limbs[i + j] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
      }
      limbs[i + 2] = carry;
    }
    int scale = a.scale() + b.scale();
    while ((limbs[2] | limbs[3]) != 0) {
      Wide rest = 0;
      for (int i = 3; i >= 0; --i) {
        rest = rest << 64 | limbs[i];
        limbs[i] = static_cast<std::uint64_t>(rest / 10);
        rest %= 10;
      }
      if (scale == 0 || rest != 0) return false;
      --scale;
    }
    return fit(a.is_negative() != b.is_negative(), Wide{limbs[1]} << 64 | limbs[0], scale, to);
  }

  static bool is_away_from_zero(CutOff cut, bool is_negative, bool is_odd, Rounding rounding) noexcept {
    if (cut == CutOff::Nothing) return false;
    switch (rounding) {
      case Rounding::HalfEven:
        return cut == CutOff::MoreThanHalf || (cut == CutOff::Half && is_odd);
      case Rounding::HalfUp:
        return cut != CutOff::LessThanHalf;
      case Rounding::Up:
        return true;
      case Rounding::Down:
        return false;
      case Rounding::Ceiling:
        return !is_negative;
      case Rounding::Floor:
        return is_negative;
    }
    return false;
  }
  // Compares `rest` with half of `whole`. `has_more` is true if nonzero digits below one unit of `rest` are cut off
  // too.
  static CutOff cut_off(Wide rest, Wide whole, bool has_more) noexcept {
    if (rest == 0 && !has_more) return CutOff::Nothing;
    if (2 * rest < whole) return CutOff::LessThanHalf;
    return 2 * rest > whole || has_more ? CutOff::MoreThanHalf : CutOff::Half;
  }

  // Calculates the quotient of two coefficients, times ten to the power of `shift`, which is from -36 to 72.
  static bool divide(bool is_negative, Wide dividend, Wide divisor, int shift, int scale, Rounding rounding,
                     Decimal& to) noexcept {
    Wide quotient = dividend / divisor;
    Wide rest = dividend % divisor;
    CutOff cut;
    if (shift >= 0) {
      for (; shift > 0; --shift) {
        if (rest == 0 && quotient == 0) break;
        rest *= 10;
        quotient = quotient * 10 + rest / divisor;
        rest %= divisor;
        if (quotient >= decimal_limit) return false;
      }
      cut = cut_off(rest, divisor, false);
    } else {
      const Wide power = decimal_powers[static_cast<std::size_t>(-shift)];
      cut = cut_off(quotient % power, power, rest != 0);
      quotient /= power;
    }
    if (is_away_from_zero(cut, is_negative, (quotient & 1) != 0, rounding)) ++quotient;
    if (quotient >= decimal_limit) return false;
    to = Decimal(is_negative, quotient, scale);
    return true;
  }

  static int compare_magnitudes(Decimal a, Decimal b) noexcept {
    if (a.scale() < b.scale()) return -compare_magnitudes(b, a);
    const Wide power = decimal_powers[static_cast<std::size_t>(a.scale() - b.scale())];
    const Wide fine = a.coefficient();
    const Wide coarse = b.coefficient();
    if (coarse > decimal_limit / power) return -1;  // No coefficient is as large as `coarse` * `power`.
    return fine < coarse * power ? -1 : fine > coarse * power ? 1 : 0;
  }

  // Makes a Decimal of `magnitude` times ten to the power of `exponent`.
  static bool of_exponent(bool is_negative, Wide magnitude, std::int64_t exponent, Decimal& to) noexcept {
    if (exponent >= Decimal::digits_max) exponent = magnitude == 0 ? 0 : Decimal::digits_max;
    for (; exponent > 0; --exponent, magnitude *= 10) {
      if (magnitude >= decimal_limit) return false;
    }
    for (; exponent < -Decimal::scale_max && magnitude % 10 == 0; ++exponent, magnitude /= 10) {
      if (magnitude == 0) return fit(false, 0, Decimal::scale_max, to);
    }
    return exponent >= -Decimal::scale_max && fit(is_negative, magnitude, static_cast<int>(-exponent), to);
  }

  static Wide coefficient(Decimal value) noexcept { return value.coefficient(); }
  static Decimal made(bool is_negative, Wide coefficient, int scale) noexcept {
    return Decimal(is_negative, coefficient, scale);
  }
};

}  // namespace internal

namespace binary::internal {

inline constexpr std::uint64_t tag_decimal_fraction = 4;
// Reads the array that follows the tag tag_decimal_fraction.
template <class Format>
void read_decimal_fraction(Reader<Format>& in, Decimal& value);
extern template void read_decimal_fraction(Reader<Cbor>& in, Decimal& value);
extern template void read_decimal_fraction(Reader<MessagePack>& in, Decimal& value);

}  // namespace binary::internal
}  // namespace keel
