#include "keel/data/token.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"

namespace keel::token_test {
namespace {

TEST(RandomToken, has_the_bits_that_are_asked_for_in_characters_of_urls) {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = random_token();
    ASSERT_EQ(token.size(), 43u);
    ASSERT_TRUE(std::ranges::all_of(token, [](char c) { return ascii::is_alphanumeric(c) || c == '-' || c == '_'; }))
        << token;
    ASSERT_TRUE(tokens.insert(token).second) << token;
  }
  EXPECT_EQ(random_token(16).size(), 22u);
  EXPECT_EQ(random_token(64).size(), 86u);
}

TEST(RandomToken, is_not_short_enough_to_be_found_out) {
  EXPECT_THROW((void)random_token(15), Bug);
  EXPECT_THROW((void)random_token(65), Bug);
}

}  // namespace
}  // namespace keel::token_test
