#include "keel/data/uuid.h"

#include <algorithm>

#include "keel/base/hex.h"
#include "keel/base/host.h"

namespace keel {
namespace {

// The positions of the hyphens in the text.
constexpr std::size_t hyphens[] = {8, 13, 18, 23};

constexpr std::array<std::uint8_t, 256> digit_values = [] {
  std::array<std::uint8_t, 256> values;
  values.fill(0xff);
  for (std::uint8_t i = 0; i < 10; ++i) values['0' + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) values['a' + i] = values['A' + i] = static_cast<std::uint8_t>(10 + i);
  return values;
}();

Uuid made(std::array<std::byte, 16> bytes, int version) noexcept {
  bytes[6] = (bytes[6] & std::byte{0x0f}) | static_cast<std::byte>(version << 4);
  bytes[8] = (bytes[8] & std::byte{0x3f}) | std::byte{0x80};
  return Uuid(bytes);
}

}  // namespace

Uuid Uuid::v4() { return v4(Host::current()); }
Uuid Uuid::v7() { return v7(Host::current()); }

Uuid Uuid::v4(Host& host) {
  std::array<std::byte, 16> bytes;
  host.secret(bytes);
  return made(bytes, 4);
}

// RFC 9562 §6.2, method 3, but with more bits of the clock than the 12 bits of rand_a.
Uuid Uuid::v7(Host& host) {
  std::array<std::byte, 16> bytes;
  host.secret(std::span(bytes).subspan(8));
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(host.next_wall_ns(), 0));
  const std::uint64_t ms = ns / 1'000'000;
  const std::uint64_t rest = ns % 1'000'000;  // 20 bits: 12 bits before the variant, 8 bits after it.
  for (int i = 0; i < 6; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(ms >> (40 - 8 * i));
  bytes[6] = static_cast<std::byte>(rest >> 16);
  bytes[7] = static_cast<std::byte>(rest >> 8);
  bytes[8] = static_cast<std::byte>(rest >> 2 & 0x3f);
  bytes[9] = static_cast<std::byte>(rest << 6) | (bytes[9] & std::byte{0x3f});
  return made(bytes, 7);
}

Result<Uuid> Uuid::parse(std::string_view text) noexcept {
  if (text.size() != text_size) return fail(Code::InvalidArgument, expected);
  static constexpr std::uint8_t places[] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};
  std::array<std::byte, 16> bytes;
  unsigned wrong = 0;
  for (const std::size_t at : hyphens) wrong |= text[at] != '-' ? 0x10u : 0u;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned high = digit_values[static_cast<unsigned char>(text[places[i]])];
    const unsigned low = digit_values[static_cast<unsigned char>(text[places[i] + 1u])];
    wrong |= high | low;
    bytes[i] = static_cast<std::byte>(high << 4 | low);
  }
  wrong &= 0xf0;
  if (wrong != 0) return fail(Code::InvalidArgument, expected);
  return Uuid(bytes);
}

char* Uuid::write(char* to) const noexcept {
  char digits[2 * hex_digits];
  char* end = digits;
  for (const std::size_t half : {0u, 8u}) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) word = word << 8 | static_cast<std::uint64_t>(bytes_[half + i]);
    end = write_hex(end, word);
  }
  const char* from = digits;
  for (const int size : {8, 4, 4, 4, 12}) {
    if (from != digits) *to++ = '-';
    to = std::copy_n(from, size, to);
    from += size;
  }
  return to;
}

Uuid::Text Uuid::text() const noexcept {
  Text text;
  write(text.data());
  text.resize(text_size);
  return text;
}

}  // namespace keel
