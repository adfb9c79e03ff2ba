// Functions for the bytes of strings, which the reader and the writer of JSON share.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "keel/base/copy.h"
#include "keel/base/scan.h"

namespace keel::json::internal {

inline bool is_plain(char c) noexcept {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// Sets the high bit of each of the eight bytes that is not plain; may also set the high bit of plain bytes that follow
// one that is not.
inline std::uint64_t not_plain(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t each_byte = 0x0101010101010101;
  const std::uint64_t quote = bytes ^ each_byte * '"';
  const std::uint64_t slash = bytes ^ each_byte * '\\';
  // A borrow can wrongly mark a byte, but only a byte after one that is rightly marked.
  return (((quote - each_byte) & ~quote) | ((slash - each_byte) & ~slash) | ((bytes - each_byte * 0x20) & ~bytes) |
          bytes) &
         each_byte * 0x80;
}

template <class Word>
std::uint64_t word_at(const char* text) noexcept {
  Word word = 0;
  std::memcpy(&word, text, sizeof word);
  return word;
}

// The number of bytes, from the first on, that stand for themselves in a JSON string. The bytes that stand for
// themselves are ASCII without quote, backslash and control characters.
inline std::size_t plain_run(const char* text, std::size_t size) noexcept {
#ifdef __SSE2__
  if (size >= 16) return static_cast<std::size_t>(scan::find_long<scan::JsonStop>(text, text + size) - text);
#endif
  std::size_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; size - i >= 8; i += 8) {
      const std::uint64_t found = not_plain(word_at<std::uint64_t>(text + i));
      if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(found) >> 3);
    }
    // The remaining bytes are checked in one step: as the last eight bytes, or as two words of four bytes that overlap.
    if (size >= 8) {
      if (not_plain(word_at<std::uint64_t>(text + size - 8)) == 0) return size;
    } else if (size >= 4) {
      const std::uint64_t both = word_at<std::uint32_t>(text) | word_at<std::uint32_t>(text + size - 4) << 32;
      if (not_plain(both) == 0) return size;
    }
  }
  while (i < size && is_plain(text[i])) ++i;
  return i;
}

// In most cases, the text is a key, a short string or a number.
inline char* put(char* to, std::string_view text) noexcept {
  const std::size_t size = text.size();
  if (size >= 8) {
    copy_short(to, text.data(), size);
  } else if (size >= 4) {
    keel::internal::copy_ends<4>(to, text.data(), size);
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = text[i];
  }
  return to + size;
}

// Copies a string if every byte stands for itself; otherwise, the content of `to` is unspecified afterwards.
[[gnu::always_inline]] inline bool copy_plain(char* to, const char* text, std::size_t size) noexcept {
#ifdef __SSE2__
  if (size >= 16) {
    const auto copy_block = [to, text](std::size_t offset) {
      const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + offset));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + offset), block);
      return _mm_movemask_epi8(scan::JsonStop::mask(block)) == 0;
    };
    std::size_t offset = 0;
    for (; size - offset > 16; offset += 16) {
      if (!copy_block(offset)) return false;
    }
    return copy_block(size - 16);
  }
#endif
  if (plain_run(text, size) != size) return false;
  put(to, {text, size});
  return true;
}

// Writes a double in the same way as Writer::number(); at most 32 bytes.
char* put_number(char* to, double value) noexcept;

}  // namespace keel::json::internal
