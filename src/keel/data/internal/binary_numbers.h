// Converts a double to the shortest form of CBOR that has the same value.

#pragma once

#include <bit>
#include <cstdint>

#include "keel/data/internal/binary_heads.h"

namespace keel::binary::internal {

inline constexpr int no_half = -1;

// The bits of the binary16 number that equals `value`; no_half if no binary16 number equals it.
inline int half_of(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<int>(bits >> 16 & 0x8000);
  const int exponent = static_cast<int>(bits >> 23 & 255) - 127;
  const std::uint32_t fraction = bits & 0x7F'FFFF;
  if (exponent == -127) return fraction == 0 ? sign : no_half;
  if (exponent == 128) return fraction == 0 ? sign | 0x7C00 : 0x7E00;  // Every NaN is converted to the same NaN.
  if (exponent > 15 || exponent < -24) return no_half;
  if (exponent >= -14) {
    if ((fraction & 0x1FFF) != 0) return no_half;
    return sign | (exponent + 15) << 10 | static_cast<int>(fraction >> 13);
  }
  const std::uint32_t whole = fraction | 0x80'0000;
  const int shift = -exponent - 1;
  if ((whole & ((1u << shift) - 1)) != 0) return no_half;
  return sign | static_cast<int>(whole >> shift);
}

// Writes at most 9 bytes.
inline char* put_shortest(char* at, double value) noexcept {
  const auto single = static_cast<float>(value);
  if (static_cast<double>(single) != value && value == value) {
    *at = '\xFB';
    return put_big_endian(at + 1, std::bit_cast<std::uint64_t>(value));
  }
  const int half = half_of(single);
  if (half == no_half) {
    *at = '\xFA';
    return put_big_endian(at + 1, std::bit_cast<std::uint32_t>(single));
  }
  *at = '\xF9';
  return put_big_endian(at + 1, static_cast<std::uint16_t>(half));
}

inline char* put_double(Cbor, char* at, double value) noexcept { return put_shortest(at, value); }
inline char* put_double(MessagePack, char* at, double value) noexcept {
  *at = '\xCB';
  return put_big_endian(at + 1, std::bit_cast<std::uint64_t>(value));
}
template <class Format>
char* put_integer(char* at, std::int64_t value) noexcept {
  return value >= 0 ? Format::put(at, Token::Unsigned, static_cast<std::uint64_t>(value))
                    : Format::put(at, Token::Negative, ~static_cast<std::uint64_t>(value));
}

}  // namespace keel::binary::internal
