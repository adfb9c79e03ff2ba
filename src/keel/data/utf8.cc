#include "keel/data/utf8.h"

#include <cstring>

namespace keel::utf8 {
namespace {

constexpr std::uint64_t high_bits = 0x8080808080808080;

}  // namespace

std::size_t valid_prefix(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    while (end - at >= 16) {
      std::uint64_t first = 0;
      std::uint64_t second = 0;
      std::memcpy(&first, at, 8);
      std::memcpy(&second, at + 8, 8);
      if (((first | second) & high_bits) != 0) break;
      at += 16;
    }
    // Checks the remainder of a mixed block, or of the text, sequence by sequence.
    const char* const stop = end - at > 16 ? at + 16 : end;
    while (at < stop) {
      const int length = sequence_length(at, end);
      if (length == 0) return static_cast<std::size_t>(at - text.data());
      at += length;
    }
  }
  return text.size();
}

int encode(char32_t point, char* to) noexcept {
  const auto put = [to](int i, char32_t bits) { to[i] = static_cast<char>(bits); };
  if (point < 0x80) {
    put(0, point);
    return 1;
  }
  if (point < 0x800) {
    put(0, 0xC0 | point >> 6);
    put(1, 0x80 | (point & 0x3F));
    return 2;
  }
  if (point < 0x10000) {
    put(0, 0xE0 | point >> 12);
    put(1, 0x80 | (point >> 6 & 0x3F));
    put(2, 0x80 | (point & 0x3F));
    return 3;
  }
  put(0, 0xF0 | point >> 18);
  put(1, 0x80 | (point >> 12 & 0x3F));
  put(2, 0x80 | (point >> 6 & 0x3F));
  put(3, 0x80 | (point & 0x3F));
  return 4;
}

}  // namespace keel::utf8
