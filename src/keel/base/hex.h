// keel/base/hex.h — a number as hexadecimal digits, for ids in fields, lines and pages.
//
// Threads: a function.  Cost: a dozen instructions with SSE2, four dozen without; no table, no loop.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace keel {

inline constexpr int hex_digits = 16;  // Of 64 bits.

#ifndef __SSE2__
namespace internal {

// The eight digits of `value`; the first is the lowest byte.
constexpr std::uint64_t hex_of(std::uint32_t value) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101;
  // A digit's four bits to each byte, the last digit lowest: halves, quarters and eighths move apart.
  std::uint64_t word = value;
  word = (word << 16 | word) & 0x0000ffff0000ffff;
  word = (word << 8 | word) & 0x00ff00ff00ff00ff;
  word = (word << 4 | word) & 0x0f0f0f0f0f0f0f0f;
  const std::uint64_t letters = (word + 6 * ones) >> 4 & ones;  // Of 10 to 15.
  return __builtin_bswap64(word + '0' * ones + letters * ('a' - '0' - 10));
}

}  // namespace internal
#endif

// Writes all 16 lower-case digits of `value`, zeros in front; returns what follows them.
inline char* write_hex(char* to, std::uint64_t value) noexcept {
  static_assert(std::endian::native == std::endian::little);
#ifdef __SSE2__
  const __m128i low_halves = _mm_set1_epi8(0x0f);
  const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(__builtin_bswap64(value)));
  // A digit's four bits to each byte, in the order of the text.
  const __m128i digits =
      _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi16(bytes, 4), low_halves), _mm_and_si128(bytes, low_halves));
  const __m128i letters = _mm_and_si128(_mm_cmpgt_epi8(digits, _mm_set1_epi8(9)), _mm_set1_epi8('a' - '0' - 10));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_add_epi8(_mm_add_epi8(digits, _mm_set1_epi8('0')), letters));
#else
  const std::uint64_t words[2] = {internal::hex_of(static_cast<std::uint32_t>(value >> 32)),
                                  internal::hex_of(static_cast<std::uint32_t>(value))};
  std::memcpy(to, words, sizeof words);
#endif
  return to + hex_digits;
}

}  // namespace keel
