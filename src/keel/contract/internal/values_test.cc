#include "keel/contract/internal/values.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace keel::contract::internal::values_test {
namespace {

TEST(Values, numbers_of_every_kind_are_in_one_order) {
  const std::vector<Number> numbers = {-0x1p70,
                                       -0x1p63 - 4096,
                                       std::numeric_limits<std::int64_t>::min(),
                                       -9007199254740993,
                                       -0x1p53,
                                       -1.5,
                                       -1,
                                       -0.5,
                                       0,
                                       1e-300,
                                       1,
                                       1.5,
                                       0x1p53,
                                       9007199254740993,
                                       std::numeric_limits<std::int64_t>::max(),
                                       0x1p63,
                                       std::uint64_t{1} << 63 | 1,
                                       std::numeric_limits<std::uint64_t>::max(),
                                       0x1p64,
                                       1e300};

  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      EXPECT_EQ(compare(numbers[i], numbers[j]), i < j ? -1 : i == j ? 0 : 1) << i << " " << j;
    }
  }
  EXPECT_EQ(compare(Number(1), Number(1.0)), 0);
  EXPECT_EQ(compare(Number(std::uint64_t{7}), Number(7)), 0);
}

TEST(Values, a_multiple_is_one_in_decimal) {
  EXPECT_TRUE(is_multiple(Number(0.3), Number(0.1)));
  EXPECT_TRUE(is_multiple(Number(-4.5), Number(1.5)));
  EXPECT_TRUE(is_multiple(Number(0), Number(0.7)));
  EXPECT_TRUE(is_multiple(Number(1e300), Number(1e-300)));
  EXPECT_TRUE(is_multiple(Number(123456789012345680.0), Number(1e1)));
  EXPECT_FALSE(is_multiple(Number(0.35), Number(0.1)));
  EXPECT_FALSE(is_multiple(Number(1e-300), Number(1)));
  EXPECT_FALSE(is_multiple(Number(7), Number(1e20)));
  EXPECT_FALSE(is_multiple(Number(7), Number(0.3)));
}

TEST(Values, equal_values_have_one_hash) {
  const auto hash_of = [](const json::Value& value) {
    std::size_t work = 0;
    return hash(value, work);
  };
  using json::Value;

  EXPECT_EQ(hash_of(Value(1)), hash_of(Value(1.0)));
  EXPECT_EQ(hash_of(Value(0)), hash_of(Value(-0.0)));
  EXPECT_EQ(hash_of(Value::object({{"a", 1}, {"b", "x"}})), hash_of(Value::object({{"b", "x"}, {"a", 1.0}})));
  EXPECT_NE(hash_of(Value::array({1, 2})), hash_of(Value::array({2, 1})));
  EXPECT_NE(hash_of(Value::object({{"a", 1}, {"b", 2}})), hash_of(Value::object({{"a", 2}, {"b", 1}})));
  EXPECT_NE(hash_of(Value("1")), hash_of(Value(1)));
}

}  // namespace
}  // namespace keel::contract::internal::values_test
