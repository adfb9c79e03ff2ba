// keel/base/integer_range.h — the range of an integer type, and the message for a number outside of it.
//
// The messages of all readers (JSON, CBOR, MessagePack, forms, parameters) come from this file.
//
// Threads: values.
// Cost:    constants.

#pragma once

#include <cstdint>
#include <string_view>

namespace keel {

// The bounds of an integer type, and the message for a number outside of them.
struct IntegerRange {
  std::int64_t least;
  std::uint64_t most;
  const char* expected;  // A literal: "expected an integer from 0 to 255".

  constexpr bool contains(std::int64_t number) const noexcept {
    return number >= least && (number < 0 || static_cast<std::uint64_t>(number) <= most);
  }
  // The message for a text that is not an integer in this range. If the text is an integer outside of the range, the
  // message is `expected`; otherwise the message says only that an integer is expected.
  constexpr const char* refusal_of(std::string_view text) const noexcept {
    if (text.starts_with('-')) text.remove_prefix(1);
    for (const char c : text) {
      if (c < '0' || c > '9') return "expected an integer";
    }
    return text.empty() ? "expected an integer" : expected;
  }
};

namespace internal {

template <class T>
constexpr IntegerRange range_of_integer() noexcept {
  constexpr bool is_signed = T(-1) < T(0);
  constexpr unsigned bits = sizeof(T) * 8 - (is_signed ? 1 : 0);
  constexpr std::uint64_t most = ~std::uint64_t{0} >> (64 - bits);
  constexpr std::int64_t least = is_signed ? -static_cast<std::int64_t>(most) - 1 : 0;
  switch (bits) {
    case 7:
      return {least, most, "expected an integer from -128 to 127"};
    case 8:
      return {least, most, "expected an integer from 0 to 255"};
    case 15:
      return {least, most, "expected an integer from -32768 to 32767"};
    case 16:
      return {least, most, "expected an integer from 0 to 65535"};
    case 31:
      return {least, most, "expected an integer from -2147483648 to 2147483647"};
    case 32:
      return {least, most, "expected an integer from 0 to 4294967295"};
    case 63:
      return {least, most, "expected an integer from -9223372036854775808 to 9223372036854775807"};
    default:
      return {least, most, "expected an integer from 0 to 18446744073709551615"};
  }
}

}  // namespace internal

// integer_range<std::uint8_t>.expected is "expected an integer from 0 to 255".
template <class T>
inline constexpr IntegerRange integer_range = internal::range_of_integer<T>();

}  // namespace keel
