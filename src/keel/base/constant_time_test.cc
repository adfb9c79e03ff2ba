#include "keel/base/constant_time.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace keel::constant_time_test {
namespace {

TEST(ConstantTime, finds_a_difference_in_each_bit_of_each_byte) {
  for (const std::size_t size : {1u, 7u, 8u, 9u, 31u, 32u, 33u}) {
    const std::string text(size, 'k');
    EXPECT_TRUE(constant_time_equal(text, std::string(text)));
    for (std::size_t at = 0; at < size; ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string other = text;
        other[at] = static_cast<char>(other[at] ^ (1 << bit));
        EXPECT_FALSE(constant_time_equal(text, other)) << size << " " << at << " " << bit;
      }
    }
  }
}

TEST(ConstantTime, knows_sizes_apart) {
  EXPECT_TRUE(constant_time_equal("", ""));
  EXPECT_FALSE(constant_time_equal("key", ""));
  EXPECT_FALSE(constant_time_equal("key", "key2"));
  EXPECT_FALSE(constant_time_equal(std::string_view("key\0", 4), "key"));
}

TEST(ConstantTime, compares_bytes) {
  const std::array a{std::byte{1}, std::byte{0}, std::byte{255}};
  std::array b = a;
  EXPECT_TRUE(constant_time_equal(a, b));
  b[2] = std::byte{254};
  EXPECT_FALSE(constant_time_equal(a, b));
}

}  // namespace
}  // namespace keel::constant_time_test
