#include "keel/net/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace keel {
namespace {

// RFC 3720 appendix B.4.
TEST(Crc32c, is_that_of_the_standard) {
  std::string rising(32, '\0');
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<char>(i);

  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, of_pieces_is_that_of_the_whole_also_by_the_table) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes.push_back(static_cast<char>(i * 37));
  const std::string_view all = bytes;
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all)) << cut;
    EXPECT_EQ(internal::crc32c_portable(all.substr(0, cut), 0), crc32c(all.substr(0, cut))) << cut;
  }
}

}  // namespace
}  // namespace keel
