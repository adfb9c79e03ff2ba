// Checks texts in CBOR and MessagePack quickly, because most of them are short and ASCII.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "keel/data/internal/binary_heads.h"
#include "keel/data/internal/json_scan.h"
#include "keel/data/utf8.h"

namespace keel::binary::internal {

// Whether the text of `size` bytes after the byte at `head` is UTF-8; at least nine bytes must be readable from `head`
// on. The function is fastest for short ASCII texts, which are the most common.
[[gnu::always_inline]] inline bool is_text(const char* head, std::size_t size) noexcept {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  const char* const at = head + 1;
  std::uint64_t bits = 0;
  if (size >= 8) {
    bits = json::internal::word_at<std::uint64_t>(at) | json::internal::word_at<std::uint64_t>(at + size - 8);
    if (size > 16)
      bits |= json::internal::word_at<std::uint64_t>(at + 8) | json::internal::word_at<std::uint64_t>(at + size - 16);
  } else if constexpr (std::endian::native == std::endian::little) {
    // The text is shifted to the top of a word, without the byte of the head.
    bits = (json::internal::word_at<std::uint64_t>(head) & ~std::uint64_t{0xFF}) << (56 - 8 * size);
  } else {
    bits = high_bits;
  }
  return (bits & high_bits) == 0 || utf8::is_valid({at, size});
}

// Returns the end of a well-formed number, short text or other small value; null for any other bytes, which the caller
// must then examine.
template <class Format>
[[gnu::always_inline]] inline const char* pass_short(const char* at, const char* end) noexcept {
  const auto room = static_cast<std::size_t>(end - at);
  if (room < 9) return nullptr;
  const auto first = static_cast<std::uint8_t>(*at);
  const std::size_t size = first - Format::text_byte;
  if (size < Format::text_heads) return size < room && is_text(at, size) ? at + 1 + size : nullptr;
  return Format::pass_number(at, first);
}

}  // namespace keel::binary::internal
