// Reads and writes the forms of a Decimal in JSON, CBOR and MessagePack.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "keel/data/binary_reader.h"
#include "keel/data/binary_writer.h"
#include "keel/data/decimal.h"
#include "keel/data/internal/binary_heads.h"
#include "keel/data/internal/decimal_math.h"
#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"

namespace keel {
namespace {

using binary::Kind;
using binary::NumberKind;
using internal::DecimalMath;
using internal::Wide;

constexpr std::uint64_t tag_bignum = 2;
constexpr std::uint64_t tag_negative_bignum = 3;

template <class Reader>
void take_text(Reader& in, std::string_view text, Decimal& value) {
  if (in.failed()) return;
  const internal::DecimalDigits read = internal::read_decimal(text);
  if (read.problem != nullptr) {
    in.fail(Decimal::expected);
  } else {
    value = DecimalMath::made(read.is_negative, read.coefficient, read.scale);
  }
}

// Reads an integer of any size. Returns false if the value is not an integer, or has more than 120 bits.
template <class Format>
bool take_integer(binary::Reader<Format>& in, bool& is_negative, Wide& magnitude) {
  if (in.peek() != Kind::Number || in.number_kind() == NumberKind::Real) {
    in.skip();
    return false;
  }
  is_negative = in.number_kind() == NumberKind::Negative;
  magnitude = 0;
  bool fits = true;
  if (in.try_tag()) {
    for (const std::byte digit : in.bytes()) {
      fits = fits && magnitude >> 112 == 0;
      magnitude = magnitude << 8 | static_cast<unsigned>(digit);
    }
  } else {
    const std::string_view bytes = in.skip();
    binary::internal::Head head;
    fits = !in.failed() && Format::take(bytes.data(), bytes.data() + bytes.size(), head) != nullptr;
    magnitude = head.number;
  }
  if (is_negative) ++magnitude;  // A negative value is -1 minus the encoded number.
  return fits;
}

template <class Format>
void take(binary::Reader<Format>& in, Decimal& value) {
  bool is_negative = false;
  Wide magnitude = 0;
  switch (in.peek()) {
    case Kind::String:
      return take_text(in, in.string(), value);
    case Kind::Number:
      if (!take_integer(in, is_negative, magnitude) || !DecimalMath::of_exponent(is_negative, magnitude, 0, value)) {
        in.fail(Decimal::expected);
      }
      return;
    case Kind::Other:
      if (in.try_tag() == binary::internal::tag_decimal_fraction)
        return binary::internal::read_decimal_fraction(in, value);
      [[fallthrough]];
    default:
      if (in.failed()) return;
      in.skip();
      in.fail(Decimal::expected);
  }
}

}  // namespace

// RFC 8949 §3.4.4: the value is an array of the exponent and the number. A mistake is reported for the whole decimal
// number, not for one of its two parts.
template <class Format>
void binary::internal::read_decimal_fraction(Reader<Format>& in, Decimal& value) {
  if (!in.begin_array()) return;
  struct Part {
    bool is_negative = false;
    Wide magnitude = 0;
    bool is_right = false;
  };
  Part parts[2];
  std::size_t count = 0;
  for (; in.next_element(); ++count) {
    if (count < 2) {
      parts[count].is_right = take_integer(in, parts[count].is_negative, parts[count].magnitude);
    } else {
      in.skip();
    }
  }
  const Part& exponent = parts[0];
  const Part& number = parts[1];
  // Larger exponents are reduced to this exponent, which is already out of range.
  const auto size = static_cast<std::int64_t>(exponent.magnitude < 1'000'000 ? exponent.magnitude : 1'000'000);
  const bool is_right =
      count == 2 && exponent.is_right && number.is_right &&
      DecimalMath::of_exponent(number.is_negative, number.magnitude, exponent.is_negative ? -size : size, value);
  if (!is_right) in.fail(Decimal::expected);
}
template void binary::internal::read_decimal_fraction(Reader<Cbor>& in, Decimal& value);
template void binary::internal::read_decimal_fraction(Reader<MessagePack>& in, Decimal& value);

void read_json(json::Reader& in, Decimal& value) {
  const json::Kind kind = in.peek();
  if (kind == json::Kind::Number || kind == json::Kind::String) {
    const std::string_view text = kind == json::Kind::Number ? in.number_text() : in.string();
    if (in.failed()) return;
    const internal::DecimalDigits read = internal::read_decimal(text);
    if (read.problem != nullptr) return in.fail(Decimal::expected, nullptr, "format");
    value = DecimalMath::made(read.is_negative, read.coefficient, read.scale);
  } else {
    in.skip();
    in.fail(Decimal::expected, nullptr, "type");
  }
}
void write_json(json::Writer& out, const Decimal& value) { out.string(value.text()); }

void read_binary(binary::Reader<binary::Cbor>& in, Decimal& value) { take(in, value); }
void read_binary(binary::Reader<binary::MessagePack>& in, Decimal& value) { take(in, value); }

void write_binary(binary::Writer<binary::Cbor>& out, const Decimal& value) {
  using binary::internal::Token;
  // RFC 8949 §3.4.4: writes the tag, and an array of the exponent and the number.
  char bytes[2 + 9 + 9] = {'\xC4', '\x82'};
  char* at = bytes + 2;
  const auto scale = static_cast<std::uint64_t>(value.scale());
  at = scale == 0 ? binary::Cbor::put(at, Token::Unsigned, 0) : binary::Cbor::put(at, Token::Negative, scale - 1);
  Wide magnitude = DecimalMath::coefficient(value) - (value.is_negative() ? 1 : 0);
  if (magnitude >> 64 == 0) {
    at = binary::Cbor::put(at, value.is_negative() ? Token::Negative : Token::Unsigned,
                           static_cast<std::uint64_t>(magnitude));
    out.raw({bytes, static_cast<std::size_t>(at - bytes)});
    return;
  }
  at = binary::Cbor::put(at, Token::Tag, value.is_negative() ? tag_negative_bignum : tag_bignum);
  out.raw({bytes, static_cast<std::size_t>(at - bytes)});
  std::array<std::byte, sizeof(Wide)> digits;
  std::size_t first = digits.size();
  for (; magnitude != 0; magnitude >>= 8) digits[--first] = static_cast<std::byte>(magnitude & 0xff);
  out.bytes(std::span(digits).subspan(first));
}
void write_binary(binary::Writer<binary::MessagePack>& out, const Decimal& value) { out.string(value.text()); }

}  // namespace keel
