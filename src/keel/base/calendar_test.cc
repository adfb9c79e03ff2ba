#include "keel/base/calendar.h"

#include <gtest/gtest.h>

namespace keel::calendar_test {
namespace {

// 146,097 days are 400 years; the calendar counts them one by one.
TEST(Calendar, counts_every_day_of_an_era_and_back) {
  CalendarDate expected{1600, 1, 1};
  const std::int64_t first = days_of(expected);
  for (std::int64_t day = first; day <= first + 2 * 146'097; ++day) {
    const CalendarDate date = date_of(day);
    ASSERT_EQ(date.year, expected.year) << day;
    ASSERT_EQ(date.month, expected.month) << day;
    ASSERT_EQ(date.day, expected.day) << day;
    ASSERT_EQ(days_of(date), day);
    if (++expected.day <= days_in(expected.month, expected.year)) continue;
    expected.day = 1;
    if (++expected.month <= 12) continue;
    expected.month = 1;
    ++expected.year;
  }
}

TEST(Calendar, begins_in_1970_and_knows_the_ends_of_four_digits) {
  EXPECT_EQ(days_of({1970, 1, 1}), 0);
  EXPECT_EQ(days_of({0, 1, 1}), -719'528);
  EXPECT_EQ(days_of({9999, 12, 31}), 2'932'896);
  const CalendarDate before = date_of(-719'529);
  EXPECT_EQ(before.year, -1);
  EXPECT_EQ(before.month, 12);
  EXPECT_EQ(before.day, 31);
}

TEST(Calendar, has_leap_years_by_the_rule_of_400) {
  EXPECT_TRUE(is_leap(2000));
  EXPECT_TRUE(is_leap(2024));
  EXPECT_FALSE(is_leap(1900));
  EXPECT_FALSE(is_leap(2023));
  EXPECT_EQ(days_in(2, 2024), 29);
  EXPECT_EQ(days_in(2, 2100), 28);
}

}  // namespace
}  // namespace keel::calendar_test
