#include "keel/base/integer_range.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace keel::integer_range_test {
namespace {

template <class T>
void check_range() {
  constexpr IntegerRange range = integer_range<T>;
  static_assert(range.least == static_cast<std::int64_t>(std::numeric_limits<T>::min()));
  static_assert(range.most == static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
  EXPECT_EQ(range.expected, "expected an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                                std::to_string(std::numeric_limits<T>::max()));
}

TEST(IntegerRange, is_that_of_the_type_and_says_so) {
  check_range<std::int8_t>();
  check_range<std::uint8_t>();
  check_range<std::int16_t>();
  check_range<std::uint16_t>();
  check_range<std::int32_t>();
  check_range<std::uint32_t>();
  check_range<std::int64_t>();
  check_range<std::uint64_t>();
  check_range<long long>();
  check_range<unsigned long long>();
}

TEST(IntegerRange, names_its_bounds_only_to_another_integer) {
  constexpr IntegerRange range = integer_range<std::uint8_t>;
  for (const char* text : {"256", "-1", "99999999999999999999999999", "-0"}) {
    EXPECT_STREQ(range.refusal_of(text), "expected an integer from 0 to 255") << text;
  }
  for (const char* text : {"", "-", "x", "1x", "1.5", "+1", "--1", "1-", " 1"}) {
    EXPECT_STREQ(range.refusal_of(text), "expected an integer") << text;
  }
}

TEST(IntegerRange, contains_its_bounds_and_nothing_beyond) {
  EXPECT_TRUE(integer_range<std::int8_t>.contains(-128));
  EXPECT_FALSE(integer_range<std::int8_t>.contains(-129));
  EXPECT_TRUE(integer_range<std::int8_t>.contains(127));
  EXPECT_FALSE(integer_range<std::int8_t>.contains(128));
  EXPECT_FALSE(integer_range<std::uint64_t>.contains(-1));
  EXPECT_TRUE(integer_range<std::uint64_t>.contains(std::numeric_limits<std::int64_t>::max()));
  EXPECT_TRUE(integer_range<std::int64_t>.contains(std::numeric_limits<std::int64_t>::min()));
}

}  // namespace
}  // namespace keel::integer_range_test
