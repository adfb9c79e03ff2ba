// keel/base/hex.h — a number as hexadecimal digits, for ids in fields, lines and pages.
//
// Threads: a function.
// Cost:    about a dozen instructions; no table, no loop.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace keel {

inline constexpr int hex_digits = 16;  // The number of digits of a 64-bit value.

// Writes `value` as 16 lower-case digits, with leading zeros; returns the position after them.
inline char* write_hex(char* to, std::uint64_t value) noexcept {
  static_assert(std::endian::native == std::endian::little);
  using Bytes = unsigned char __attribute__((vector_size(16)));
  const std::uint64_t words[2] = {__builtin_bswap64(value), 0};
  Bytes bytes;
  std::memcpy(&bytes, words, sizeof bytes);
  // Each byte holds the four bits of one digit, in the order of the text.
  const Bytes digits =
      __builtin_shufflevector(bytes >> 4, bytes & 0x0f, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const Bytes of_letters = reinterpret_cast<Bytes>(digits > 9) & ('a' - '0' - 10);
  const Bytes text = digits + '0' + of_letters;
  std::memcpy(to, &text, sizeof text);
  return to + hex_digits;
}

}  // namespace keel
