#include "dev/changes.h"

#include <gtest/gtest.h>

namespace keel::dev::changes_test {
namespace {

constexpr Instant begin = Instant() + 10_s;

TEST(Changes, are_due_once_nobody_has_saved_for_a_moment) {
  Changes changes;
  EXPECT_EQ(changes.due(), std::nullopt);

  changes.add({"a.cc"}, begin);
  changes.add({}, begin + 20_ms);
  EXPECT_EQ(changes.due(), begin + 50_ms) << "nothing was saved at 20 ms";
  changes.add({"b.cc", "a.cc"}, begin + 40_ms);

  EXPECT_FALSE(changes.is_due(begin + 89_ms));
  EXPECT_TRUE(changes.is_due(begin + 90_ms));
  EXPECT_EQ(changes.take(), (std::set<std::string>{"a.cc", "b.cc"}));
  EXPECT_EQ(changes.due(), std::nullopt);
}

TEST(Changes, are_due_after_a_second_however_many_follow) {
  Changes changes;
  for (int i = 0; i <= 40; ++i) changes.add({"a.cc"}, begin + 30_ms * i);

  EXPECT_EQ(changes.due(), begin + 1_s);
}

}  // namespace
}  // namespace keel::dev::changes_test
