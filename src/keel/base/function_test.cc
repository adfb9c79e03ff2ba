#include "keel/base/function.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>

#include "keel/base/bug.h"

namespace keel::function_test {
namespace {

int twice(int value) { return value * 2; }

TEST(Function, calls_what_it_holds) {
  const Function<int(int)> lambda = [offset = 3](int value) { return value + offset; };
  const Function<int(int)> plain = twice;

  EXPECT_EQ(lambda(4), 7);
  EXPECT_EQ(plain(4), 8);
}

TEST(Function, drops_the_result_when_its_own_is_void) {
  int calls = 0;
  const Function<void()> small = [&calls] { return ++calls; };
  const std::array<char, 100> large{};
  const Function<void()> on_heap = [&calls, large] { return ++calls + large[0]; };
  auto counting = [&calls] { return ++calls; };
  const FunctionRef<void()> borrowed = counting;

  small();
  on_heap();
  borrowed();

  EXPECT_EQ(calls, 3);
}

TEST(Function, owns_and_destroys_small_and_large_callables) {
  const auto alive = std::make_shared<int>(0);
  const std::array<char, 100> large{};
  {
    Function<long()> small = [alive] { return alive.use_count(); };
    Function<long()> on_heap = [alive, large] { return alive.use_count() + large[0]; };
    EXPECT_EQ(small(), 3);

    Function<long()> moved(std::move(on_heap));
    EXPECT_FALSE(on_heap);
    EXPECT_EQ(moved(), 3);
    moved = std::move(small);
    EXPECT_EQ(moved(), 2);
    moved.reset();
    EXPECT_EQ(alive.use_count(), 1);
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Function, takes_arguments_that_can_only_be_moved) {
  const Function<int(std::unique_ptr<int>)> take = [](std::unique_ptr<int> value) { return *value; };
  EXPECT_EQ(take(std::make_unique<int>(5)), 5);
}

TEST(Function, returns_what_cannot_be_moved) {
  struct Fixed {
    explicit Fixed(int n) : number(n) {}
    Fixed(Fixed&&) = delete;
    int number;
  };
  const Function<Fixed()> make = [] { return Fixed(7); };
  EXPECT_EQ(make().number, 7);
}

TEST(Function, keeps_state_between_calls) {
  const Function<int()> next = [n = 0]() mutable { return ++n; };
  next();
  EXPECT_EQ(next(), 2);
}

TEST(Function, throws_a_bug_when_it_is_called_empty) {
  Function<void()> empty;
  EXPECT_FALSE(empty);
  EXPECT_THROW(empty(), Bug);
}

TEST(FunctionRef, borrows_a_callable) {
  int calls = 0;
  auto count = [&calls](int by) { return calls += by; };
  const FunctionRef<int(int)> borrowed = count;

  borrowed(2);

  EXPECT_EQ(borrowed(3), 5);
}

}  // namespace
}  // namespace keel::function_test
