#include "keel/base/siphash.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::siphash_test {
namespace {

// The key 00 01 … 0f of the paper, and texts 00 01 02 …
constexpr SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
std::string counting(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i);
  return text;
}

TEST(SipHash, agrees_with_the_vectors_of_its_authors) {
  // "SipHash: a fast short-input PRF", Appendix A, and vectors.h of the reference implementation.
  EXPECT_EQ(siphash(key, counting(15)), 0xa129ca6149be45e5);
  EXPECT_EQ(siphash(key, counting(0)), 0x726fdb47dd0e0e31);
  EXPECT_EQ(siphash(key, counting(1)), 0x74f839c593dc67fd);
  EXPECT_EQ(siphash(key, counting(8)), 0x93f5f5799a932462);
}

TEST(SipHash, depends_on_the_key_and_on_every_byte) {
  EXPECT_NE(siphash(key, "text"), siphash({key.low ^ 1, key.high}, "text"));
  EXPECT_NE(siphash(key, "text"), siphash({key.low, key.high ^ 1}, "text"));
  EXPECT_NE(siphash(key, "text"), siphash(key, std::string_view("text\0", 5)));
  for (std::size_t i = 0; i < 20; ++i) {
    std::string changed = counting(20);
    changed[i] ^= 1;
    EXPECT_NE(siphash(key, counting(20)), siphash(key, changed)) << i;
  }
}

}  // namespace
}  // namespace keel::siphash_test
