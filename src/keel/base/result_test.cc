#include "keel/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace keel {
namespace {

static_assert(sizeof(Result<int>) == 16);
static_assert(std::is_nothrow_move_constructible_v<Result<int>>);

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Code::InvalidArgument, "odd");
  return value / 2;
}
Result<> even(int value) {
  KEEL_TRY_VOID(half(value));
  return {};
}
Result<int> quarter(int value) {
  KEEL_TRY(const int once, half(value));
  KEEL_TRY(const int twice, half(once));
  return twice;
}

TEST(Result, is_a_value_or_the_error_that_prevented_it) {
  EXPECT_TRUE(half(4).is_ok());
  EXPECT_EQ(half(4).value(), 2);
  EXPECT_TRUE(half(3).is_err());
  EXPECT_EQ(half(3).error().message(), "odd");
  EXPECT_EQ(half(3).value_or(-1), -1);
  EXPECT_EQ(Result<int>::ok(7).value(), 7);
  EXPECT_EQ(Result<int>::err(Error(Code::NotFound, "x")).error().code(), Code::NotFound);
  EXPECT_TRUE(Result<>::ok().is_ok());
}

TEST(Result, returns_the_first_error_from_TRY) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message(), "odd");
  EXPECT_TRUE(even(2).is_ok());
  EXPECT_EQ(even(1).error().code(), Code::InvalidArgument);
}

TEST(Result, maps_and_chains_values_and_passes_errors_on) {
  EXPECT_EQ(half(8).map([](int v) { return std::to_string(v); }).value(), "4");
  EXPECT_EQ(half(8).and_then(half).value(), 2);
  EXPECT_EQ(half(7).map([](int v) { return v + 1; }).error().message(), "odd");
  EXPECT_EQ(half(7).and_then(half).error().message(), "odd");
  EXPECT_EQ(even(2).map([] { return 5; }).value(), 5);
  EXPECT_EQ(even(2).and_then([] { return half(2); }).value(), 1);
  EXPECT_TRUE(half(2).map([](int) {}).is_ok());
  EXPECT_EQ(half(7).or_else([](Error) { return Result<int>(9); }).value(), 9);
  EXPECT_EQ(half(8).or_else([](Error) { return Result<int>(9); }).value(), 4);
}

TEST(Result, adds_context_to_errors_only) {
  EXPECT_EQ(half(7).because("halving").error().message(), "halving: odd");
  EXPECT_EQ(half(8).because("halving").value(), 4);
}

TEST(Result, carries_values_that_can_only_be_moved) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(3); };
  const auto take = [&]() -> Result<int> {
    KEEL_TRY(auto owned, make());
    return *owned;
  };
  EXPECT_EQ(take().value(), 3);
}

TEST(ResultDeathTest, aborts_when_asked_for_a_value_it_lacks) {
  const auto wrong = half(3);
  EXPECT_DEATH((void)wrong.value(), "asked for its value only when it has one");
}

}  // namespace
}  // namespace keel
