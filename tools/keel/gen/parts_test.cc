#include "gen/parts.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::gen::parts_test {
namespace {

TEST(Parts, have_a_name_in_the_same_part_each_time) {
  Parts parts(4);
  parts.of("Product") += "a";
  parts.of("Product") += "b";

  EXPECT_EQ(parts.of("Product"), "ab");
  EXPECT_EQ(parts.texts().size(), 4u);
}

TEST(Parts, share_many_names_evenly) {
  Parts parts(4);
  for (int i = 0; i < 1000; ++i) parts.of("Type" + std::to_string(i)) += '.';

  for (const std::string& text : parts.texts()) {
    EXPECT_GT(text.size(), 200u);
    EXPECT_LT(text.size(), 300u);
  }
}

TEST(Parts, are_at_least_one) { EXPECT_EQ(Parts(0).texts().size(), 1u); }

}  // namespace
}  // namespace keel::gen::parts_test
