// What the reader and the writer of JSON both do with the bytes of a string.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "keel/base/scan.h"

namespace keel::json::internal {

inline bool is_plain(char c) noexcept {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// How many bytes in front stand for themselves in a JSON string: ASCII without quote, backslash and controls.
inline std::size_t plain_run(const char* text, std::size_t size) noexcept {
#ifdef __SSE2__
  if (size >= 16) return static_cast<std::size_t>(scan::find_long<scan::JsonStop>(text, text + size) - text);
#endif
  std::size_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    constexpr std::uint64_t each_byte = 0x0101010101010101;
    for (; size - i >= 8; i += 8) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, text + i, 8);
      const std::uint64_t quote = bytes ^ each_byte * '"';
      const std::uint64_t slash = bytes ^ each_byte * '\\';
      // A borrow can mark a byte wrongly, but only above one that is marked rightly.
      const std::uint64_t found = (((quote - each_byte) & ~quote) | ((slash - each_byte) & ~slash) |
                                   ((bytes - each_byte * 0x20) & ~bytes) | bytes) &
                                  each_byte * 0x80;
      if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(found) >> 3);
    }
  }
  while (i < size && is_plain(text[i])) ++i;
  return i;
}

inline char* put(char* to, std::string_view text) noexcept {
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

}  // namespace keel::json::internal
