#include "keel/base/result.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "keel/base/bug.h"

namespace keel::result_test {
namespace {

static_assert(sizeof(Result<int>) == 16);
static_assert(std::is_nothrow_move_constructible_v<Result<int>> && std::is_nothrow_move_assignable_v<Result<int>>);
static_assert(!std::is_copy_constructible_v<Result<int>>, "an Error is moved only: clone()");
static_assert(sizeof(Result<>) == 16 && sizeof(Result<std::uint64_t>) == 16 && sizeof(Result<void*>) == 16);

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

TEST(Result, lets_a_named_one_be_looked_at_without_being_used_up) {
  const Result<std::string> text("four");
  const Result<std::string> failed(Error::text(Code::NotFound, "no text"));
  const auto size = [](const std::string& value) { return value.size(); };
  const auto first = [](const std::string& value) -> Result<char> { return value[0]; };

  EXPECT_EQ(text.map(size).value(), 4u);
  EXPECT_EQ(text.and_then(first).value(), 'f');
  EXPECT_EQ(text.clone().value(), "four");
  EXPECT_EQ(text.value(), "four");
  EXPECT_EQ(failed.map(size).error().message(), "no text");
  EXPECT_EQ(failed.and_then(first).error().message(), "no text");
  EXPECT_EQ(failed.clone().error().message(), "no text");
  EXPECT_EQ(failed.error().message(), "no text");
  EXPECT_TRUE(Result<>().clone().is_ok());
}

TEST(Result, gives_another_value_in_place_of_an_error) {
  const Result<std::string> failed = fail(Code::NotFound, "no text");

  EXPECT_EQ(failed.value_or("default"), "default");
  EXPECT_EQ(*half(7).map([](int) { return std::make_unique<int>(1); }).value_or(std::make_unique<int>(2)), 2);
}

TEST(Result, maps_its_error_and_lets_a_value_pass) {
  const auto hide = [](Error&& error) { return std::move(error).as(Code::Internal); };

  EXPECT_EQ(half(7).map_error(hide).error().code(), Code::Internal);
  EXPECT_EQ(half(7).map_error(hide).error().message(), "odd");
  EXPECT_EQ(half(8).map_error(hide).value(), 4);
  EXPECT_TRUE(even(2).map_error(hide).is_ok());
}

TEST(Result, of_a_function_that_throws_is_its_value_or_what_it_threw) {
  const auto number = [](const char* text) { return std::stoi(text); };

  EXPECT_EQ(try_catch([&] { return number("12"); }).value(), 12);
  EXPECT_EQ(try_catch([&] { return number("twelve"); }).error().describe(), "exception: stoi");
  EXPECT_EQ(try_catch([] { return half(3); }).error().message(), "odd") << "a Result is passed on";
  EXPECT_TRUE(try_catch([] {}).is_ok());
  EXPECT_EQ(try_catch([] { throw 5; }).error().code(), Code::Internal);
  EXPECT_EQ(*try_catch([] { return std::make_unique<int>(5); }).value(), 5);
}

TEST(Result, of_a_system_call_is_what_it_returned_or_the_errno_it_left) {
  EXPECT_EQ(or_errno("lseek", std::int64_t{0}).value(), 0);
  EXPECT_EQ(or_errno("access", access("/", R_OK)).value(), 0);

  const auto missing = or_errno("access", access("/no/such/file", R_OK));
  EXPECT_EQ(missing.error().code(), Code::NotFound);
  EXPECT_EQ(missing.error().describe(), "access: No such file or directory");
}

TEST(Result, throws_a_bug_of_its_caller_when_asked_for_what_it_lacks) {
  const auto wrong = half(3);
  unsigned line = 0;
  try {
    line = __LINE__ + 1;
    (void)wrong.value();
    FAIL() << "it has no value";
  } catch (const Bug& bug) {
    EXPECT_STREQ(bug.what(), "value() is called on a Result that has an error: check that it has a value first");
    EXPECT_EQ(bug.place().line(), line);
  }
  const auto right = half(4);
  EXPECT_THROW((void)right.error(), Bug);
  EXPECT_THROW((void)half(4).error(), Bug);
}

}  // namespace
}  // namespace keel::result_test
