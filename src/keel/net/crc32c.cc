#include "keel/net/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace keel {
namespace {

constexpr std::array<std::uint32_t, 256> table = [] {
  std::array<std::uint32_t, 256> made{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
    made[i] = crc;
  }
  return made;
}();

#if defined(__x86_64__)
[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint64_t crc = ~before;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  for (; left != 0; --left) crc = _mm_crc32_u8(static_cast<std::uint32_t>(crc), static_cast<unsigned char>(*at++));
  return ~static_cast<std::uint32_t>(crc);
}
#endif

}  // namespace

std::uint32_t internal::crc32c_portable(std::string_view bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<std::uint8_t>(c)) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) return by_instruction(bytes, before);
#endif
  return internal::crc32c_portable(bytes, before);
}

}  // namespace keel
