#include "keel/task/generator.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/exec/thread_pool.h"
#include "keel/task/group.h"
#include "keel/task/resume_on.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::generator_test {
namespace {

struct GeneratorTest : ::testing::Test {
  testing::TestLoop loop;
};
void ignore(StartCore&) noexcept {}

Generator<int> count_to(int end) {
  for (int i = 0; i < end; ++i) co_yield i;
}
Generator<int> count_slowly(int end) {
  for (int i = 0; i < end; ++i) {
    co_await sleep_for(1_ms);
    co_yield i;
  }
}
// Suspends before some values and not before others.
Generator<int> count_unevenly(int end) {
  for (int i = 0; i < end; ++i) {
    if (i % 3 == 1) co_await sleep_for(1_ms);
    co_yield i;
  }
}
Task<std::vector<int>> collect(Generator<int> generator) {
  std::vector<int> all;
  while (auto value = co_await generator.next()) all.push_back(*value);
  co_return all;
}

TEST_F(GeneratorTest, yields_each_value_once_and_in_order) {
  EXPECT_EQ(loop.run(collect(count_to(5))).value(), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.run(collect(count_slowly(5))).value(), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.run(collect(count_unevenly(5))).value(), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.run(collect(count_to(0))).value(), std::vector<int>{});
}
TEST_F(GeneratorTest, does_not_use_the_stack_for_its_length) {
  EXPECT_EQ(loop.run(collect(count_to(1'000'000))).value().size(), 1'000'000u);
}
TEST_F(GeneratorTest, runs_only_when_it_is_asked) {
  int steps = 0;
  auto counting = [](int& s) -> Generator<int> {
    ++s;
    co_yield 1;
    ++s;
    co_yield 2;
    ++s;
  };
  auto take_one = [](Generator<int>& generator) -> Task<int> { co_return *co_await generator.next(); };
  Generator<int> generator = counting(steps);
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(loop.run(take_one(generator)).value(), 1);
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(loop.run(take_one(generator)).value(), 2);
  EXPECT_EQ(steps, 2);
}
TEST_F(GeneratorTest, is_over_for_good) {
  auto past_the_end = [](Generator<int> generator) -> Task<bool> {
    while (co_await generator.next()) {
    }
    const auto again = co_await generator.next();
    co_return !again.has_value();
  };
  EXPECT_TRUE(loop.run(past_the_end(count_to(2))).value());
}

Generator<int> fails_after(int end, bool slowly) {
  for (int i = 0; i < end; ++i) co_yield i;
  if (slowly) co_await sleep_for(1_ms);
  co_await fail(Code::Conflict, "no more");
}
TEST_F(GeneratorTest, an_error_goes_to_the_one_who_asks) {
  for (const bool slowly : {false, true}) {
    EXPECT_EQ(loop.run(collect(fails_after(3, slowly))).error().code(), Code::Conflict);
    auto attempts = [](Generator<int> generator) -> Task<std::string> {
      std::string said;
      for (int i = 0; i < 5; ++i) {
        auto next = co_await attempt(generator.next());
        said += !next ? 'e' : *next ? 'v' : '0';
      }
      co_return said;
    };
    EXPECT_EQ(loop.run(attempts(fails_after(2, slowly))).value(), "vve00");
  }
}
Generator<int> throws_after_one() {
  co_yield 1;
  throw std::runtime_error("thrown");
}
TEST_F(GeneratorTest, an_exception_is_an_internal_error) {
  EXPECT_EQ(loop.run(collect(throws_after_one())).error().code(), Code::Internal);
}
Generator<int> fails_inside_a_task() {
  auto failing = []() -> Task<int> {
    co_await sleep_for(1_ms);
    co_return fail(Code::NotFound, "below");
  };
  co_yield co_await failing();
}
TEST_F(GeneratorTest, an_error_of_an_awaited_task_ends_it) {
  EXPECT_EQ(loop.run(collect(fails_inside_a_task())).error().code(), Code::NotFound);
}

Generator<int> holds(std::shared_ptr<int> held) {
  for (int i = 0;; ++i) co_yield i + *held;
}
TEST_F(GeneratorTest, destroyed_early_it_destroys_its_locals) {
  auto held = std::make_shared<int>(7);
  {
    auto take_two = [](Generator<int>& generator) -> Task<int> {
      co_await generator.next();
      co_return *co_await generator.next();
    };
    Generator<int> generator = holds(held);
    EXPECT_EQ(loop.run(take_two(generator)).value(), 8);
    Generator<int> moved = std::move(generator);
    EXPECT_EQ(loop.run(take_two(moved)).value(), 10);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}
TEST_F(GeneratorTest, a_stopped_consumer_ends_it) {
  Start<std::vector<int>> start;
  EXPECT_FALSE(start.begin(collect(count_slowly(1000)), &ignore));
  loop.advance(10_ms);
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(GeneratorTest, a_time_limit_on_next_ends_it) {
  auto limited = [](Generator<int> generator) -> Task<std::string> {
    std::string said;
    while (true) {
      auto next = co_await attempt(with_timeout(10_ms, as_task(generator.next())));
      if (!next) {
        said += next.error().code() == Code::DeadlineExceeded ? 'd' : '?';
      } else if (*next) {
        said += 'v';
      } else {
        co_return said + '0';
      }
    }
  };
  auto slower_and_slower = []() -> Generator<int> {
    for (int i = 0;; ++i) {
      co_await sleep_for(4_ms * i);
      co_yield i;
    }
  };
  EXPECT_EQ(loop.run(limited(slower_and_slower())).value(), "vvvd0");
}
TEST_F(GeneratorTest, generators_feed_generators) {
  auto even = [](Generator<int> from) -> Generator<int> {
    while (auto value = co_await from.next()) {
      if (*value % 2 == 0) co_yield *value;
    }
  };
  EXPECT_EQ(loop.run(collect(even(even(count_unevenly(7))))).value(), (std::vector{0, 2, 4, 6}));
}
TEST_F(GeneratorTest, several_are_asked_at_once) {
  auto pairs = [](Generator<int> a, Generator<int> b) -> Task<int> {
    int sum = 0;
    while (true) {
      auto both = co_await all(as_task(a.next()), as_task(b.next()));
      auto& [left, right] = both;
      if (!left || !right) co_return sum;
      sum += *left * *right;
    }
  };
  EXPECT_EQ(loop.run(pairs(count_slowly(4), count_to(10))).value(), 0 + 1 + 4 + 9);
}
Generator<std::unique_ptr<int>> owned() {
  co_yield std::make_unique<int>(1);
  co_yield std::make_unique<int>(2);
}
TEST_F(GeneratorTest, yields_what_can_only_be_moved) {
  auto sum = [](Generator<std::unique_ptr<int>> generator) -> Task<int> {
    int total = 0;
    while (auto value = co_await generator.next()) total += **value;
    co_return total;
  };
  EXPECT_EQ(loop.run(sum(owned())).value(), 3);
}
Generator<int> from_pool(ThreadPool& pool) {
  for (int i = 0; i < 100; ++i) {
    if (i % 2 == 0) co_await resume_on(pool);
    co_yield i;
  }
}
TEST_F(GeneratorTest, values_made_on_a_pool_arrive_where_they_are_asked_for) {
  ThreadPool pool({.name = "generator", .threads = 2});
  auto check = [](Generator<int> generator, testing::TestLoop& home) -> Task<int> {
    int count = 0;
    while (auto value = co_await generator.next()) {
      if (Executor::current() == &home && *value == count) ++count;
    }
    co_return count;
  };
  EXPECT_EQ(loop.run(check(from_pool(pool), loop)).value(), 100);
  pool.stop();
}
Generator<int> joins_before_it_yields() {
  for (int i = 0; i < 3; ++i) {
    int sum = 0;
    {
      Scope scope;
      auto add = [](int& to, int what) -> Task<> {
        co_await sleep_for(1_ms);
        to += what;
      };
      scope.spawn(add(sum, i));
      scope.spawn(add(sum, 10));
      co_await scope.join();
    }
    co_yield sum;
  }
}
TEST_F(GeneratorTest, may_have_scopes_between_its_values) {
  EXPECT_EQ(loop.run(collect(joins_before_it_yields())).value(), (std::vector{10, 11, 12}));
}
TEST_F(GeneratorTest, a_scope_across_a_yield_is_a_bug) {
  auto wrong = []() -> Generator<int> {
    Scope scope;
    co_yield 1;
  };
  const auto collected = loop.run(collect(wrong()));
  ASSERT_FALSE(collected);
  EXPECT_TRUE(collected.error().is_bug());
  EXPECT_NE(collected.error().message().find("joined before co_yield"), std::string_view::npos);
}

}  // namespace
}  // namespace keel::generator_test
