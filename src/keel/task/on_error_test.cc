#include "keel/task/on_error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>
#include <string>

#include "keel/base/bug.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/task/testing.h"

namespace keel::on_error_test {
namespace {

struct Opening : Leaf {
  using Value = int;
  explicit Opening(int number) noexcept : Leaf(nullptr), number_(number) {}
  bool start() noexcept { return true; }
  Result<int> take() noexcept {
    if (number_ != 0) return Error::from_errno("open", number_);
    return 7;
  }
  int number_;
};

Task<int> open_file(int number) { co_return co_await Opening(number); }
Task<> check(int number) { co_await Opening(number); }

Task<int> picture(int number) {
  co_return co_await on_error(Code::NotFound, fail(Code::NotFound, "there is no such picture"), open_file(number));
}
Task<int> picture_at_once(int number) {
  co_return co_await on_error(Code::NotFound, fail(Code::NotFound, "there is no such picture"), Opening(number));
}
Task<> checked(int number) { co_await on_error(Code::NotFound, fail(Code::Conflict, "gone"), check(number)); }
Task<int> either(int number) {
  co_return co_await on_error(
      Code::NotFound, fail(Code::Conflict, "outer"),
      on_error(Code::PermissionDenied, fail(Code::Unauthenticated, "inner"), open_file(number)));
}

template <class T>
Result<T> run(Task<T>&& task) {
  Start<T> start;
  EXPECT_TRUE(start.begin(std::move(task), [](StartCore&) noexcept {}));
  return start.take();
}

TEST(OnError, puts_an_error_of_the_application_in_the_place_of_one_with_that_code) {
  for (const bool is_task : {true, false}) {
    const auto result = run(is_task ? picture(ENOENT) : picture_at_once(ENOENT));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(), "there is no such picture");
    EXPECT_FALSE(result.error().is_from_environment());
  }
  EXPECT_EQ(run(checked(ENOENT)).error().code(), Code::Conflict);
}

TEST(OnError, leaves_values_and_all_other_errors_alone) {
  EXPECT_EQ(run(picture(0)).value(), 7);
  EXPECT_EQ(run(picture_at_once(0)).value(), 7);
  EXPECT_TRUE(run(checked(0)));
  const auto result = run(picture(EACCES));
  EXPECT_EQ(result.error().code(), Code::PermissionDenied);
  EXPECT_TRUE(result.error().is_from_environment());
}

TEST(OnError, stands_in_one_that_names_another_code) {
  EXPECT_EQ(run(either(ENOENT)).error().message(), "outer");
  EXPECT_EQ(run(either(EACCES)).error().message(), "inner");
  EXPECT_EQ(run(either(EIO)).error().code(), Code::DataLoss);
}

TEST(OnError, maps_a_result_as_well) {
  EXPECT_EQ(
      on_error(Code::NotFound, fail(Code::Conflict, "x"), Result<int>(fail(Code::NotFound, "y"))).error().message(),
      "x");
  EXPECT_EQ(on_error(Code::NotFound, fail(Code::Conflict, "x"), Result<int>(3)).value(), 3);
}

constexpr unsigned awaited_on = __LINE__ + 2;
Task<int> awaiting(int number) {
  const int got = co_await Opening(number);
  co_return got;
}
Task<int> outside(int number) { co_return co_await awaiting(number); }

TEST(Places, of_an_error_from_the_environment_are_where_it_was_awaited) {
  const auto result = run(outside(EIO));

  EXPECT_EQ(result.error().place().line(), awaited_on);
  EXPECT_EQ(result.error().describe_places(),
            "on_error_test.cc:" + std::to_string(awaited_on) + " < on_error_test.cc:" + std::to_string(awaited_on + 3));
}

Task<int> refuses() { co_return co_await Result<int>(fail(Code::NotFound, "none")); }

TEST(Places, are_not_kept_with_an_error_of_the_application) { EXPECT_EQ(run(refuses()).error().describe_places(), ""); }

Task<int> with_a_bug() {
  KEEL_EXPECT(false, "nothing holds here");
  co_return 1;
}
Task<int> throws() {
  co_await Result<>();
  throw std::out_of_range("at 7");
}

TEST(OnErrorTask, ends_with_a_bug_or_an_exception_as_an_internal_error) {
  const auto bug = run(with_a_bug());
  EXPECT_TRUE(bug.error().is_bug());
  EXPECT_NE(bug.error().stack(), nullptr);
  const auto exception = run(throws());
  EXPECT_TRUE(exception.error().is_bug());
  EXPECT_EQ(exception.error().code(), Code::Internal);
  EXPECT_EQ(exception.error().message(), "exception: at 7");
}

}  // namespace
}  // namespace keel::on_error_test
