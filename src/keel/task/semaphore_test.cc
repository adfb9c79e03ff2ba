#include "keel/task/semaphore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "keel/task/event.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::semaphore_test {
namespace {

struct SemaphoreTest : ::testing::Test {
  testing::TestLoop loop;
  std::string said;
};
void ignore(StartCore&) noexcept {}

Task<> hold(Semaphore& semaphore, std::string& said, char name, Duration duration) {
  Semaphore::Permit permit = co_await semaphore.acquire();
  said += name;
  co_await sleep_for(duration);
}

TEST_F(SemaphoreTest, lets_in_as_many_as_it_has_permits) {
  Semaphore two(2);
  Start<void> a, b, c;
  EXPECT_FALSE(a.begin(hold(two, said, 'a', 10_ms), &ignore));
  EXPECT_FALSE(b.begin(hold(two, said, 'b', 20_ms), &ignore));
  EXPECT_FALSE(c.begin(hold(two, said, 'c', 10_ms), &ignore));
  EXPECT_EQ(said, "ab");
  EXPECT_EQ(two.available(), 0u);
  EXPECT_EQ(two.waiting(), 1u);
  loop.advance(12_ms);
  EXPECT_EQ(said, "abc");
  loop.advance(20_ms);
  EXPECT_EQ(two.available(), 2u);
  EXPECT_TRUE(a.has_ended() && b.has_ended() && c.has_ended());
}
TEST_F(SemaphoreTest, serves_in_the_order_of_arrival_and_nobody_overtakes) {
  Semaphore one(1);
  Start<void> a, b, c;
  a.begin(hold(one, said, 'a', 10_ms), &ignore);
  b.begin(hold(one, said, 'b', 10_ms), &ignore);
  loop.advance(12_ms);
  // b holds the permit that a gave back: it was never free.
  EXPECT_FALSE(one.try_acquire());
  c.begin(hold(one, said, 'c', 10_ms), &ignore);
  loop.advance(50_ms);
  EXPECT_EQ(said, "abc");
}
TEST_F(SemaphoreTest, a_stopped_waiter_leaves_and_the_permit_goes_to_the_next) {
  Semaphore one(1);
  Start<void> a, b, c;
  a.begin(hold(one, said, 'a', 10_ms), &ignore);
  b.begin(hold(one, said, 'b', 10_ms), &ignore);
  c.begin(hold(one, said, 'c', 10_ms), &ignore);
  b.stop();
  loop.advance(50_ms);
  EXPECT_EQ(said, "ac");
  EXPECT_EQ(b.take().error().code(), Code::Cancelled);
  EXPECT_EQ(one.available(), 1u);
  EXPECT_EQ(one.waiting(), 0u);
}
TEST_F(SemaphoreTest, a_holder_that_is_stopped_gives_its_permit_back) {
  Semaphore one(1);
  Start<void> a, b;
  a.begin(hold(one, said, 'a', 1_h), &ignore);
  b.begin(hold(one, said, 'b', 10_ms), &ignore);
  a.stop();
  loop.run_jobs();
  EXPECT_EQ(a.take().error().code(), Code::Cancelled);
  loop.advance(20_ms);
  EXPECT_EQ(said, "ab");
}

// A permit is handed to a task that is stopped before it runs again: it must come back.
TEST_F(SemaphoreTest, a_permit_granted_to_a_task_that_is_stopped_is_not_lost) {
  Semaphore one(1);
  auto give_and_stop = [](Semaphore& s, Start<void>& waiter) -> Task<> {
    {
      Semaphore::Permit permit = co_await s.acquire();
      co_await sleep_for(1_ms);
    }
    waiter.stop();
  };
  Start<void> a, b;
  a.begin(give_and_stop(one, b), &ignore);
  b.begin(hold(one, said, 'b', 1_ms), &ignore);
  loop.advance(50_ms);
  EXPECT_TRUE(a.take().is_ok());
  EXPECT_EQ(b.take().error().code(), Code::Cancelled);
  EXPECT_EQ(one.available(), 1u);
}
Task<> take_either(Semaphore& a, Semaphore& b) { Semaphore::Permit permit = co_await any(a.acquire(), b.acquire()); }
TEST_F(SemaphoreTest, any_of_two_that_are_granted_together_takes_one_permit) {
  Semaphore a(1);
  Semaphore b(1);
  auto grant_both = [](Semaphore::Permit& first, Semaphore::Permit& second) -> Task<> {
    first.release();
    second.release();
    co_return;
  };
  Semaphore::Permit of_a = *a.try_acquire();
  Semaphore::Permit of_b = *b.try_acquire();
  Start<void> taking;
  EXPECT_FALSE(taking.begin(take_either(a, b), &ignore));
  EXPECT_TRUE(loop.run(grant_both(of_a, of_b)));
  loop.run_jobs();
  EXPECT_TRUE(taking.take());
  EXPECT_EQ(a.available(), 1u);
  EXPECT_EQ(b.available(), 1u);
}
TEST_F(SemaphoreTest, a_permit_moves_and_is_given_back_once) {
  Semaphore two(2);
  Semaphore::Permit first = *two.try_acquire();
  Semaphore::Permit second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_TRUE(second);
  EXPECT_EQ(two.available(), 1u);
  second.release();
  second.release();
  EXPECT_EQ(two.available(), 2u);
  Semaphore::Permit third = *two.try_acquire();
  third = *two.try_acquire();
  EXPECT_EQ(two.available(), 1u) << "the permit it had goes back when it takes another";
}
TEST_F(SemaphoreTest, waiting_ends_at_a_deadline) {
  Semaphore none(1);
  Semaphore::Permit held = *none.try_acquire();
  auto limited = [](Semaphore& s) -> Task<> { Semaphore::Permit p = co_await with_timeout(10_ms, s.acquire()); };
  EXPECT_EQ(loop.run(limited(none)).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(none.waiting(), 0u);
}

Task<> count_inside(Semaphore& semaphore, int& inside, int& most, Duration duration) {
  Semaphore::Permit permit = co_await semaphore.acquire();
  most = std::max(most, ++inside);
  co_await sleep_for(duration);
  --inside;
}
Task<> crowd(Semaphore& semaphore, int& most, Host& host) {
  int inside = 0;
  Scope scope;
  for (int i = 0; i < 500; ++i) {
    scope.spawn(count_inside(semaphore, inside, most, 1_us * static_cast<std::int64_t>(host.random() % 5000)));
  }
  co_await scope.join();
}
TEST_F(SemaphoreTest, never_more_inside_than_permits) {
  Semaphore seven(7);
  int most = 0;
  EXPECT_TRUE(loop.run(crowd(seven, most, loop)).is_ok());
  EXPECT_EQ(most, 7);
  EXPECT_EQ(seven.available(), 7u);
}

TEST(SemaphoreDeathTest, ending_before_a_permit_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Semaphore::Permit permit;
        Semaphore one(1);
        permit = *one.try_acquire();
      },
      "must outlive its permits");
}

}  // namespace
}  // namespace keel::semaphore_test
