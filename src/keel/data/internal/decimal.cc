#include "keel/data/decimal.h"

#include <charconv>
#include <cmath>
#include <string>

#include "keel/base/bug.h"
#include "keel/data/internal/decimal_math.h"

namespace keel {

namespace {

using internal::DecimalMath;
using internal::Wide;

constexpr const char* too_large = "the result of a calculation has more than 36 digits";

Decimal or_bug(bool fits, Decimal value) {
  KEEL_EXPECT(fits,
              "the result of a calculation has more than the 36 digits of a Decimal: limit the numbers by rules(), or "
              "call Decimal::add(), subtract() and multiply(), which return an error");
  return value;
}
Result<Decimal> or_error(bool fits, Decimal value) noexcept {
  if (!fits) return fail(Code::OutOfRange, too_large);
  return value;
}

// 10^exponent modulo `modulus`.
std::uint64_t power_of_ten(int exponent, std::uint64_t modulus) noexcept {
  std::uint64_t result = 1 % modulus;
  std::uint64_t base = 10 % modulus;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = static_cast<std::uint64_t>(Wide{result} * base % modulus);
    base = static_cast<std::uint64_t>(Wide{base} * base % modulus);
  }
  return result;
}

}  // namespace

void Decimal::bad_scale() { throw_bug("the scale of a Decimal must be from 0 to 36", std::source_location::current()); }

Result<Decimal> Decimal::parse(std::string_view text) {
  const internal::DecimalDigits read = internal::read_decimal(text);
  if (read.problem == nullptr) [[likely]]
    return Decimal(read.is_negative, read.coefficient, read.scale);
  return Error::text(Code::InvalidArgument,
                     std::string(expected) + ": " + read.problem + ", at character " + std::to_string(read.at + 1));
}

Decimal::Text Decimal::text() const noexcept {
  // 10^18: a coefficient is divided into two parts of 18 digits.
  constexpr std::uint64_t part = 1'000'000'000'000'000'000;
  char digits[digits_max + 1];
  char* const end = digits + sizeof digits;
  char* first = end;
  for (std::uint64_t half :
       {static_cast<std::uint64_t>(coefficient() % part), static_cast<std::uint64_t>(coefficient() / part)}) {
    for (int i = 0; i < 18; ++i, half /= 10) *--first = static_cast<char>('0' + half % 10);
  }
  *--first = '0';
  // At least one digit is kept before the point.
  while (end - first > scale() + 1 && *first == '0') ++first;
  Text text;
  char* to = text.data();
  if (is_negative()) *to++ = '-';
  while (end - first > scale()) *to++ = *first++;
  if (first != end) *to++ = '.';
  while (first != end) *to++ = *first++;
  text.resize(static_cast<std::size_t>(to - text.data()));
  return text;
}

Decimal operator+(Decimal a, Decimal b) {
  Decimal sum;
  const bool fits = DecimalMath::add(a, b, sum);
  return or_bug(fits, sum);
}
Decimal operator-(Decimal a, Decimal b) { return a + -b; }
Decimal operator*(Decimal a, Decimal b) {
  Decimal product;
  const bool fits = DecimalMath::multiply(a, b, product);
  return or_bug(fits, product);
}

Result<Decimal> Decimal::add(Decimal a, Decimal b) noexcept {
  Decimal sum;
  const bool fits = DecimalMath::add(a, b, sum);
  return or_error(fits, sum);
}
Result<Decimal> Decimal::subtract(Decimal a, Decimal b) noexcept { return add(a, -b); }
Result<Decimal> Decimal::multiply(Decimal a, Decimal b) noexcept {
  Decimal product;
  const bool fits = DecimalMath::multiply(a, b, product);
  return or_error(fits, product);
}

Result<Decimal> Decimal::divided_by(Decimal divisor, int scale, Rounding rounding) const {
  require_scale(scale);
  if (divisor.coefficient() == 0) return fail(Code::InvalidArgument, "a number is divided by zero");
  Decimal quotient;
  const bool fits = DecimalMath::divide(is_negative() != divisor.is_negative(), coefficient(), divisor.coefficient(),
                                        scale + divisor.scale() - this->scale(), scale, rounding, quotient);
  return or_error(fits, quotient);
}

Decimal Decimal::rounded(int scale, Rounding rounding) const {
  require_scale(scale);
  Decimal result;
  const bool fits =
      DecimalMath::divide(is_negative(), coefficient(), 1, scale - this->scale(), scale, rounding, result);
  return or_bug(fits, result);
}

Decimal Decimal::trimmed() const noexcept {
  Wide left = coefficient();
  int scale = this->scale();
  for (; scale > 0 && left % 10 == 0; --scale) left /= 10;
  return Decimal(is_negative(), left, scale);
}

Result<std::int64_t> Decimal::units(int scale) const {
  require_scale(scale);
  Decimal whole;
  const bool fits =
      DecimalMath::divide(is_negative(), coefficient(), 1, scale - this->scale(), scale, Rounding::Down, whole);
  if (!fits) return fail(Code::OutOfRange, "the number does not fit into 64 bits");
  if (whole != *this)
    return fail(Code::OutOfRange,
                "the number has more digits after the point than the scale: round "
                "it first");
  const Wide most = (Wide{1} << 63) - (is_negative() ? 0 : 1);
  if (whole.coefficient() > most) return fail(Code::OutOfRange, "the number does not fit into 64 bits");
  const auto magnitude = static_cast<std::uint64_t>(whole.coefficient());
  return static_cast<std::int64_t>(is_negative() ? ~magnitude + 1 : magnitude);
}

double Decimal::to_double() const noexcept {
  const Text digits = text();
  double value = 0;
  std::from_chars(digits.view().data(), digits.view().data() + digits.size(), value);
  return value;
}

std::weak_ordering operator<=>(Decimal a, Decimal b) noexcept {
  if (a.is_negative() != b.is_negative()) {
    return a.is_negative() ? std::weak_ordering::less : std::weak_ordering::greater;
  }
  const int order = DecimalMath::compare_magnitudes(a, b);
  return (a.is_negative() ? -order : order) <=> 0;
}

internal::DecimalSize::DecimalSize(double number) noexcept {
  if (!std::isfinite(number)) {
    // An exponent this small makes the number smaller than any step, so the number is not a multiple of any step.
    digits = 1;
    exponent = -10'000;
    return;
  }
  char text[32];
  const char* const end = std::to_chars(text, text + sizeof text, std::abs(number), std::chars_format::scientific).ptr;
  const char* at = text;
  for (bool is_fraction = false; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      is_fraction = true;
      continue;
    }
    digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    exponent -= is_fraction ? 1 : 0;
  }
  if (at != end && ++at != end) {
    int read = 0;
    std::from_chars(*at == '+' ? at + 1 : at, end, read);
    exponent += read;
  }
}

bool internal::is_multiple(DecimalSize number, DecimalSize step) noexcept {
  if (step.digits == 0) return false;
  const int shift = number.exponent - step.exponent;
  if (shift >= 0) {
    return Wide{number.digits % step.digits} * power_of_ten(shift, step.digits) % step.digits == 0;
  }
  if (number.digits == 0) return true;
  // To be a multiple, `number.digits` would have to end with more zeros than a 64-bit number can have.
  if (shift < -19) return false;
  Wide divisor = step.digits;
  for (int i = shift; i < 0; ++i) divisor *= 10;
  return number.digits % divisor == 0;
}

}  // namespace keel
