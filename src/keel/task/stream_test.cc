#include "keel/task/stream.h"

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

namespace keel {
namespace {

struct StreamTest : ::testing::Test {
  testing::TestLoop loop;
};
void ignore(StartCore&) noexcept {}

Stream<int> count_to(int end) {
  for (int i = 0; i < end; ++i) co_yield i;
}
Stream<int> count_slowly(int end) {
  for (int i = 0; i < end; ++i) {
    co_await sleep_for(1_ms);
    co_yield i;
  }
}
// Suspends before some values and not before others.
Stream<int> count_unevenly(int end) {
  for (int i = 0; i < end; ++i) {
    if (i % 3 == 1) co_await sleep_for(1_ms);
    co_yield i;
  }
}
Task<std::vector<int>> collect(Stream<int> stream) {
  std::vector<int> all;
  while (auto value = co_await stream.next()) all.push_back(*value);
  co_return all;
}

TEST_F(StreamTest, yields_each_value_once_and_in_order) {
  EXPECT_EQ(loop.run(collect(count_to(5))).value(), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.run(collect(count_slowly(5))).value(), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.run(collect(count_unevenly(5))).value(), (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(loop.run(collect(count_to(0))).value(), std::vector<int>{});
}
TEST_F(StreamTest, does_not_use_the_stack_for_its_length) {
  EXPECT_EQ(loop.run(collect(count_to(1'000'000))).value().size(), 1'000'000u);
}
TEST_F(StreamTest, runs_only_when_it_is_asked) {
  int steps = 0;
  auto counting = [](int& s) -> Stream<int> {
    ++s;
    co_yield 1;
    ++s;
    co_yield 2;
    ++s;
  };
  auto take_one = [](Stream<int>& stream) -> Task<int> { co_return *co_await stream.next(); };
  Stream<int> stream = counting(steps);
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(loop.run(take_one(stream)).value(), 1);
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(loop.run(take_one(stream)).value(), 2);
  EXPECT_EQ(steps, 2);
}
TEST_F(StreamTest, is_over_for_good) {
  auto past_the_end = [](Stream<int> stream) -> Task<bool> {
    while (co_await stream.next()) {
    }
    const auto again = co_await stream.next();
    co_return !again.has_value();
  };
  EXPECT_TRUE(loop.run(past_the_end(count_to(2))).value());
}

Stream<int> fails_after(int end, bool slowly) {
  for (int i = 0; i < end; ++i) co_yield i;
  if (slowly) co_await sleep_for(1_ms);
  co_await fail(Code::Conflict, "no more");
}
TEST_F(StreamTest, an_error_goes_to_the_one_who_asks) {
  for (const bool slowly : {false, true}) {
    EXPECT_EQ(loop.run(collect(fails_after(3, slowly))).error().code(), Code::Conflict);
    auto attempts = [](Stream<int> stream) -> Task<std::string> {
      std::string said;
      for (int i = 0; i < 5; ++i) {
        auto next = co_await attempt(stream.next());
        said += !next ? 'e' : *next ? 'v' : '0';
      }
      co_return said;
    };
    EXPECT_EQ(loop.run(attempts(fails_after(2, slowly))).value(), "vve00");
  }
}
Stream<int> throws_after_one() {
  co_yield 1;
  throw std::runtime_error("thrown");
}
TEST_F(StreamTest, an_exception_is_an_internal_error) {
  EXPECT_EQ(loop.run(collect(throws_after_one())).error().code(), Code::Internal);
}
Stream<int> fails_inside_a_task() {
  auto failing = []() -> Task<int> {
    co_await sleep_for(1_ms);
    co_return fail(Code::NotFound, "below");
  };
  co_yield co_await failing();
}
TEST_F(StreamTest, an_error_of_an_awaited_task_ends_it) {
  EXPECT_EQ(loop.run(collect(fails_inside_a_task())).error().code(), Code::NotFound);
}

Stream<int> holds(std::shared_ptr<int> held) {
  for (int i = 0;; ++i) co_yield i + *held;
}
TEST_F(StreamTest, destroyed_early_it_destroys_its_locals) {
  auto held = std::make_shared<int>(7);
  {
    auto take_two = [](Stream<int>& stream) -> Task<int> {
      co_await stream.next();
      co_return *co_await stream.next();
    };
    Stream<int> stream = holds(held);
    EXPECT_EQ(loop.run(take_two(stream)).value(), 8);
    Stream<int> moved = std::move(stream);
    EXPECT_EQ(loop.run(take_two(moved)).value(), 10);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}
TEST_F(StreamTest, a_stopped_consumer_ends_it) {
  Start<std::vector<int>> start;
  EXPECT_FALSE(start.begin(collect(count_slowly(1000)), &ignore));
  loop.advance(10_ms);
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(StreamTest, a_time_limit_on_next_ends_it) {
  auto limited = [](Stream<int> stream) -> Task<std::string> {
    std::string said;
    while (true) {
      auto next = co_await attempt(with_timeout(10_ms, as_task(stream.next())));
      if (!next) {
        said += next.error().code() == Code::DeadlineExceeded ? 'd' : '?';
      } else if (*next) {
        said += 'v';
      } else {
        co_return said + '0';
      }
    }
  };
  auto slower_and_slower = []() -> Stream<int> {
    for (int i = 0;; ++i) {
      co_await sleep_for(4_ms * i);
      co_yield i;
    }
  };
  EXPECT_EQ(loop.run(limited(slower_and_slower())).value(), "vvvd0");
}
TEST_F(StreamTest, streams_feed_streams) {
  auto even = [](Stream<int> from) -> Stream<int> {
    while (auto value = co_await from.next()) {
      if (*value % 2 == 0) co_yield *value;
    }
  };
  EXPECT_EQ(loop.run(collect(even(even(count_unevenly(7))))).value(), (std::vector{0, 2, 4, 6}));
}
TEST_F(StreamTest, several_are_asked_at_once) {
  auto pairs = [](Stream<int> a, Stream<int> b) -> Task<int> {
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
Stream<std::unique_ptr<int>> owned() {
  co_yield std::make_unique<int>(1);
  co_yield std::make_unique<int>(2);
}
TEST_F(StreamTest, yields_what_can_only_be_moved) {
  auto sum = [](Stream<std::unique_ptr<int>> stream) -> Task<int> {
    int total = 0;
    while (auto value = co_await stream.next()) total += **value;
    co_return total;
  };
  EXPECT_EQ(loop.run(sum(owned())).value(), 3);
}
Stream<int> from_pool(ThreadPool& pool) {
  for (int i = 0; i < 100; ++i) {
    if (i % 2 == 0) co_await resume_on(pool);
    co_yield i;
  }
}
TEST_F(StreamTest, values_made_on_a_pool_arrive_where_they_are_asked_for) {
  ThreadPool pool({.name = "stream", .threads = 2});
  auto check = [](Stream<int> stream, testing::TestLoop& home) -> Task<int> {
    int count = 0;
    while (auto value = co_await stream.next()) {
      if (Executor::current() == &home && *value == count) ++count;
    }
    co_return count;
  };
  EXPECT_EQ(loop.run(check(from_pool(pool), loop)).value(), 100);
  pool.stop();
}
Stream<int> joins_before_it_yields() {
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
TEST_F(StreamTest, may_have_scopes_between_its_values) {
  EXPECT_EQ(loop.run(collect(joins_before_it_yields())).value(), (std::vector{10, 11, 12}));
}
TEST(StreamDeathTest, a_scope_across_a_yield_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto wrong = []() -> Stream<int> {
    Scope scope;
    co_yield 1;
  };
  EXPECT_DEATH(
      {
        testing::TestLoop loop;
        (void)loop.run(collect(wrong())).is_ok();
      },
      "joined before co_yield");
}

}  // namespace
}  // namespace keel
