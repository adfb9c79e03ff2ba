#include "keel/base/printable.h"

#include "keel/base/ascii.h"

namespace keel {

CodePoint first_code_point(std::string_view text) noexcept {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t point = bytes == 1 ? first : first & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (bytes == 3 && point < 0x800) || (bytes == 4 && point < 0x10000);
  if (overlong || (point >= 0xd800 && point < 0xe000) || point > 0x10ffff) return {};
  return {point, bytes};
}

bool is_control(std::uint32_t point) noexcept {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

void for_each_printable(std::string_view text, FunctionRef<void(std::string_view)> f) {
  while (!text.empty()) {
    std::size_t plain = 0;
    CodePoint odd;
    while (plain < text.size()) {
      odd = first_code_point(text.substr(plain));
      if (odd.bytes == 0 || is_control(odd.point)) break;
      plain += odd.bytes;
    }
    if (plain != 0) f(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const auto digit = [](std::uint32_t value, int place) { return ascii::hex_lower[value >> 4 * place & 15]; };
    const auto byte = static_cast<unsigned char>(text[0]);
    if (odd.bytes == 0) {
      const char escape[] = {'\\', 'x', digit(byte, 1), digit(byte, 0)};
      f({escape, sizeof escape});
    } else if (byte == '\n' || byte == '\r' || byte == '\t') {
      f(byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t");
    } else {
      const char escape[] = {
          '\\', 'u', '{', digit(odd.point, 3), digit(odd.point, 2), digit(odd.point, 1), digit(odd.point, 0), '}'};
      f({escape, sizeof escape});
    }
    text.remove_prefix(odd.bytes == 0 ? 1 : odd.bytes);
  }
}

std::string printable(std::string_view text) {
  std::string out;
  for_each_printable(text, [&out](std::string_view piece) { out += piece; });
  return out;
}

}  // namespace keel
