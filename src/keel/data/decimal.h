// keel/data/decimal.h — an exact decimal number, for example for money: up to 36 digits, any number of which may follow
// the point.
//
//   const Decimal net = 19.90_dec;                                // exact: the compiler reads the digits, not a double
//   const Decimal gross = (net * 1.19_dec).rounded(2);            // 23.68, a half goes to the even digit
//   KEEL_TRY(auto amount, Decimal::parse(text));                  // "19.90", "-0.5", "1e3"
//   KEEL_TRY(auto part, gross.divided_by(3, 2));                  // 7.89, two digits after the point
//   co_await session.execute("update accounts set amount = $1 where id = $2", gross, id);
//   const Decimal amount = row.get<Decimal>(0);
//
// A field of a struct may be a Decimal in JSON, CBOR, rows, queries and forms, configurations and logs; in a contract
// it is a string of `format: decimal`.
//
//   JSON        written as a string, "19.90": JavaScript and many others read a JSON number as a double. A string and a
//               number are read, the number by its digits, never through a double.
//   CBOR        a decimal fraction (tag 4, RFC 8949 §3.4.4); a text and an integer are read, too. MessagePack: a text.
//   PostgreSQL  numeric, both ways; NaN, infinity and more digits than fit are no Decimal: the query fails and names
//               the column.
//   SQLite      a text: declare the column as text, because a column of type numeric or decimal stores a double. An
//               integer is read, too; a real makes the query fail.
//
// The scale is the number of digits after the point. The scale belongs to the value's text, not to the value: 1.10 ==
// 1.1, but text() writes "1.10" and "1.1". A sum has the larger scale of the two numbers, and a product has the sum of
// their scales; if the digits then do not fit, trailing zeros are dropped. There is no negative zero.
//
// Text: a number has the form that it has in JSON (RFC 8259 §6), which is an optional '-', digits without a leading
//       zero, then optionally '.' and digits, and optionally an exponent, as in 1.5e3. text() writes no exponent.
//
// Errors:   parse() returns InvalidArgument with the offset of the problem. No operation drops a digit that is not
//           zero, unless its description says so: a result of `+`, `-`, `*` and rounded() that does not fit into 36
//           digits is a Bug (base/bug.h), which fails the request with 500. If a client chooses a number, limit the
//           number by rules() (check(amount).range(0, 1'000'000)), or call add(), subtract() and multiply(), which
//           return OutOfRange instead. A literal that does not fit is a compile error, and so is a double as an
//           argument.
// Threads:  a value.
// Cost:     16 bytes and no heap memory; `+`, `-`, `*` and comparisons do not loop over the digits; a division takes a
//           128-bit division for each digit by which the quotient is extended, and converting from or to text takes a
//           step for each digit.

#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/check.h"
#include "keel/base/result.h"
#include "keel/base/text_value.h"
#include "keel/data/internal/decimal_digits.h"

namespace keel {

namespace json {
class Reader;
class Writer;
}  // namespace json
namespace binary {
template <class Format>
class Reader;
template <class Format>
class Writer;
struct Cbor;
struct MessagePack;
}  // namespace binary

// How a number is rounded when it has digits that do not fit.
enum class Rounding : std::uint8_t {
  // Rounds to the nearest number; a half is rounded to the even digit: 2.345 becomes 2.34, and 2.355 becomes 2.36.
  HalfEven,
  // Rounds to the nearest number; a half is rounded away from zero: 2.345 becomes 2.35, and -2.345 becomes -2.35.
  HalfUp,
  Up,       // Away from zero.
  Down,     // Rounds toward zero: the digits are dropped.
  Ceiling,  // Rounds up, to the next larger number.
  Floor,    // Rounds down, to the next smaller number.
};

class Decimal;
inline namespace literals {
// The exact number that a literal such as 19.90_dec or 1'000_dec states; -19.90_dec is the negative of 19.90_dec.
consteval Decimal operator""_dec(const char* text);
}  // namespace literals

class Decimal {
 public:
  using Text = ShortText<40>;
  static constexpr int digits_max = internal::decimal_digits_max;
  static constexpr int scale_max = internal::decimal_digits_max;
  static constexpr const char* expected = "expected a decimal number such as 19.90, of at most 36 digits";

  // 0.
  constexpr Decimal() = default;
  // Converts from any integer type except bool and the character types; the scale is 0.
  template <std::integral T>
    requires(sizeof(T) <= 8 && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
             !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>)
  constexpr Decimal(T value) noexcept : Decimal(value < 0, magnitude_of(value), 0) {}
  template <std::floating_point T>
  constexpr Decimal(T) noexcept {
    static_assert(sizeof(T) == 0, "a double has no exact decimal digits: write 19.90_dec, or Decimal::parse(text)");
  }

  // Makes a number from a count of its smallest units, such as cents: from_units(1990, 2) is 19.90. A scale outside 0
  // to 36 is a Bug.
  static constexpr Decimal from_units(std::int64_t units, int scale) {
    require_scale(scale);
    return Decimal(units < 0, magnitude_of(units), scale);
  }
  static constexpr Decimal lowest() noexcept { return Decimal(true, internal::decimal_limit - 1, 0); }
  static constexpr Decimal highest() noexcept { return Decimal(false, internal::decimal_limit - 1, 0); }

  static Result<Decimal> parse(std::string_view text);
  Text text() const noexcept;

  // The number of digits after the point.
  constexpr int scale() const noexcept { return static_cast<int>(scale_); }
  constexpr bool is_negative() const noexcept { return is_negative_ != 0; }

  // The result is exact; if it does not fit, the operation throws a Bug.
  friend Decimal operator+(Decimal a, Decimal b);
  friend Decimal operator-(Decimal a, Decimal b);
  friend Decimal operator*(Decimal a, Decimal b);
  friend constexpr Decimal operator-(Decimal a) noexcept {
    return Decimal(a.is_negative_ == 0, a.coefficient(), a.scale());
  }
  Decimal& operator+=(Decimal other) { return *this = *this + other; }
  Decimal& operator-=(Decimal other) { return *this = *this - other; }
  Decimal& operator*=(Decimal other) { return *this = *this * other; }
  // Exact, or OutOfRange.
  static Result<Decimal> add(Decimal a, Decimal b) noexcept;
  static Result<Decimal> subtract(Decimal a, Decimal b) noexcept;
  static Result<Decimal> multiply(Decimal a, Decimal b) noexcept;

  // The quotient with `scale` digits after the point, rounded once. InvalidArgument: the divisor is 0. OutOfRange: the
  // quotient has more than 36 digits. Division has no operator, because the quotient needs a scale.
  Result<Decimal> divided_by(Decimal divisor, int scale, Rounding rounding = Rounding::HalfEven) const;
  // Returns the number with exactly `scale` digits after the point; a scale larger than that of the number adds zeros:
  // 1.5 becomes 1.50.
  Decimal rounded(int scale, Rounding rounding = Rounding::HalfEven) const;
  constexpr Decimal absolute() const noexcept { return Decimal(false, coefficient(), scale()); }
  // Returns the same number without zeros at the end of its fraction: 1.50 becomes 1.5, and 2.00 becomes 2.
  Decimal trimmed() const noexcept;

  // Returns how many units of the given scale the number is, exactly: 19.9 is 1990 units of scale 2. OutOfRange: the
  // number has more digits after the point than `scale` (round the number first), or the result does not fit into 64
  // bits.
  Result<std::int64_t> units(int scale) const;
  // The double that is nearest to the number, for charts and statistics.
  double to_double() const noexcept;

  // Compares the values, without regard to the scales: 1.10 == 1.1.
  friend std::weak_ordering operator<=>(Decimal a, Decimal b) noexcept;
  friend bool operator==(Decimal a, Decimal b) noexcept { return (a <=> b) == 0; }

  // data/json.h and data/cbor.h find the functions below in the same way as the functions of any other type.
  friend void read_json(json::Reader& in, Decimal& value);
  friend void write_json(json::Writer& out, const Decimal& value);
  friend void read_binary(binary::Reader<binary::Cbor>& in, Decimal& value);
  friend void read_binary(binary::Reader<binary::MessagePack>& in, Decimal& value);
  friend void write_binary(binary::Writer<binary::Cbor>& out, const Decimal& value);
  friend void write_binary(binary::Writer<binary::MessagePack>& out, const Decimal& value);

 private:
  friend struct internal::DecimalMath;
  using Wide = internal::Wide;

  // The coefficient is below 10^36, and the scale is from 0 to 36.
  constexpr Decimal(bool is_negative, Wide coefficient, int scale) noexcept
      : low_(static_cast<std::uint64_t>(coefficient)),
        high_(static_cast<std::uint64_t>(coefficient >> 64) & 0xff'ffff'ffff'ffff),
        scale_(static_cast<std::uint64_t>(scale) & 0x7f),
        is_negative_(is_negative && coefficient != 0 ? 1 : 0) {}
  constexpr Wide coefficient() const noexcept { return Wide{high_} << 64 | low_; }
  template <class T>
  static constexpr std::uint64_t magnitude_of(T value) noexcept {
    return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  }
  static constexpr void require_scale(int scale) {
    if (scale < 0 || scale > scale_max) [[unlikely]]
      bad_scale();
  }
  [[noreturn, gnu::cold]] static void bad_scale();

  std::uint64_t low_ = 0;
  std::uint64_t high_ : 56 = 0;
  std::uint64_t scale_ : 7 = 0;
  std::uint64_t is_negative_ : 1 = 0;

  friend consteval Decimal literals::operator""_dec(const char* text);
};
static_assert(sizeof(Decimal) == 16);

consteval Decimal literals::operator""_dec(const char* text) {
  char digits[2 * internal::decimal_digits_max + 16] = {};
  std::size_t size = 0;
  for (; *text != '\0' && size < sizeof digits; ++text) {
    if (*text != '\'') digits[size++] = *text;  // 1'000.00
  }
  const internal::DecimalDigits read = internal::read_decimal({digits, size});
  // A throw cannot be evaluated at compile time, so the compiler reports the mistake here.
  if (read.problem != nullptr)
    throw "a literal such as 19.90_dec must have at most 36 digits and no characters that are not part of a number";
  return Decimal(read.is_negative, read.coefficient, read.scale);
}

namespace internal {

// The absolute value of a number: digits · 10^exponent. For a double, the digits are those of its shortest text, so
// that 0.3 is 3 · 10^-1.
struct DecimalSize {
  constexpr explicit DecimalSize(std::uint64_t size) noexcept : digits(size) {}
  explicit DecimalSize(double number) noexcept;

  std::uint64_t digits = 0;
  int exponent = 0;
};

// Whether the number is a whole multiple of `step`: for multipleOf of JSON Schema. False if `step` is 0, or if the
// number is not finite.
bool is_multiple(DecimalSize number, DecimalSize step) noexcept;

}  // namespace internal
}  // namespace keel
