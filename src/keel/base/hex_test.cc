#include "keel/base/hex.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace keel::hex_test {
namespace {

std::string hex(std::uint64_t value) {
  char text[hex_digits + 1];
  text[hex_digits] = '!';
  EXPECT_EQ(write_hex(text, value), text + hex_digits);
  EXPECT_EQ(text[hex_digits], '!');
  return {text, hex_digits};
}

TEST(Hex, writes_all_digits_in_lower_case) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0xf), "000000000000000f");
  EXPECT_EQ(hex(0x0123456789abcdef), "0123456789abcdef");
  EXPECT_EQ(hex(0xfedcba9876543210), "fedcba9876543210");
  EXPECT_EQ(hex(UINT64_MAX), "ffffffffffffffff");
}

TEST(Hex, agrees_with_printf_whatever_each_byte_is) {
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    for (int shift = 0; shift < 64; shift += 8) {
      const std::uint64_t value = byte << shift;
      char wanted[32];
      std::snprintf(wanted, sizeof wanted, "%016llx", static_cast<unsigned long long>(value));
      EXPECT_EQ(hex(value), wanted);
    }
  }
}

}  // namespace
}  // namespace keel::hex_test
