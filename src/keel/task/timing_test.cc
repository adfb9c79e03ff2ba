#include "keel/task/timing.h"

#include <gtest/gtest.h>

#include "keel/task/testing.h"

namespace keel::timing_test {
namespace {

struct TimingTest : ::testing::Test {
  testing::TestLoop loop;
};
void ignore(StartCore&) noexcept {}

Task<int> later(int value, Duration duration) {
  co_await sleep_for(duration);
  co_return value;
}

TEST_F(TimingTest, sleep_for_ends_after_its_time_and_not_before) {
  Start<int> start;
  EXPECT_FALSE(start.begin(later(1, 50_ms), &ignore));
  loop.advance(49_ms);
  EXPECT_FALSE(start.has_ended());
  loop.advance(3_ms);
  EXPECT_EQ(start.take().value(), 1);
}
TEST_F(TimingTest, sleep_for_nothing_does_not_suspend) {
  Start<int> start;
  EXPECT_TRUE(start.begin(later(1, Duration()), &ignore));
  EXPECT_TRUE(start.take().is_ok());
}
TEST_F(TimingTest, a_sleep_is_cancelled_midway) {
  Start<int> start;
  EXPECT_FALSE(start.begin(later(1, 50_ms), &ignore));
  loop.advance(10_ms);
  start.stop();
  EXPECT_EQ(loop.timers(), 0);
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}
TEST_F(TimingTest, a_sleep_of_a_stopped_task_does_not_begin) {
  StopSource stop;
  stop.request_stop();
  Start<int> start;
  EXPECT_TRUE(start.begin(later(1, 50_ms), &ignore, {.stop = &stop}));
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}

Task<int> limited(Duration limit, Duration duration) { co_return co_await with_timeout(limit, later(1, duration)); }
TEST_F(TimingTest, what_ends_in_time_keeps_its_value) {
  EXPECT_EQ(loop.run(limited(50_ms, 10_ms)).value(), 1);
  EXPECT_EQ(loop.run(limited(50_ms, Duration())).value(), 1);
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(TimingTest, what_takes_longer_ends_with_deadline_exceeded) {
  const Instant before = loop.now();
  EXPECT_EQ(loop.run(limited(10_ms, 50_ms)).error().code(), Code::DeadlineExceeded);
  EXPECT_LT(loop.now() - before, 15_ms);
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(TimingTest, a_limit_that_is_over_does_not_begin_the_task) {
  EXPECT_EQ(loop.run(limited(Duration(), Duration())).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(loop.run(limited(-5_ms, 50_ms)).error().code(), Code::DeadlineExceeded);
}

Task<int> returns_limited(Duration limit, Duration duration) { return with_timeout(limit, later(1, duration)); }
TEST_F(TimingTest, a_limit_is_a_task_where_one_is_wanted) {
  EXPECT_EQ(loop.run(returns_limited(50_ms, 10_ms)).value(), 1);
  EXPECT_EQ(loop.run(returns_limited(10_ms, 50_ms)).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(loop.run(returns_limited(Duration(), Duration())).error().code(), Code::DeadlineExceeded);
  const Task<int> never_begun = returns_limited(50_ms, 10_ms);
  EXPECT_EQ(loop.timers(), 0);
}

TEST_F(TimingTest, a_request_to_stop_within_a_limit_is_cancelled) {
  Start<int> start;
  EXPECT_FALSE(start.begin(limited(10_ms, 50_ms), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(loop.timers(), 0);
}

Task<int> limits_operation(Duration limit) {
  auto result = co_await attempt(with_timeout(limit, sleep_for(30_ms)));
  co_return result ? 0 : static_cast<int>(result.error().code());
}
TEST_F(TimingTest, limits_an_operation) {
  EXPECT_EQ(loop.run(limits_operation(50_ms)).value(), 0);
  EXPECT_EQ(loop.run(limits_operation(10_ms)).value(), static_cast<int>(Code::DeadlineExceeded));
}

Task<Instant> deadline_within(Duration limit) {
  auto info = co_await this_task();
  (void)limit;
  co_return info.deadline;
}
Task<bool> nested_limits(Host& host) {
  const Instant now = host.now();
  const Instant shorter = co_await with_timeout(10_ms, deadline_within(10_ms));
  const Instant outer = (co_await this_task()).deadline;
  const Instant longer = co_await with_timeout(10_s, deadline_within(10_s));
  co_return shorter == now + 10_ms && outer == now + 100_ms && longer == outer;
}
Task<bool> within_100_ms(Host& host) { co_return co_await with_timeout(100_ms, nested_limits(host)); }
TEST_F(TimingTest, limits_only_shorten) { EXPECT_TRUE(loop.run(within_100_ms(loop)).value()); }

Task<int> outer_limit() { co_return co_await with_timeout(10_ms, limited(10_s, 20_s)); }
TEST_F(TimingTest, an_outer_limit_ends_an_inner_wait) {
  EXPECT_EQ(loop.run(outer_limit()).error().code(), Code::DeadlineExceeded);
}

Task<int> finishes_anyway() {
  (void)co_await attempt(sleep_for(1_s));
  co_return 5;
}
Task<int> limits_stubborn() { co_return co_await with_timeout(10_ms, finishes_anyway()); }
TEST_F(TimingTest, a_task_that_ends_well_after_all_keeps_its_value) {
  EXPECT_EQ(loop.run(limits_stubborn()).value(), 5);
}

Task<int> stacked(int depth) {
  if (depth == 0) co_return co_await later(1, 5_ms);
  co_return co_await with_timeout(1_s, stacked(depth - 1));
}
TEST_F(TimingTest, deeply_nested_limits_unwind) {
  EXPECT_EQ(loop.run(stacked(300)).value(), 1);
  EXPECT_EQ(loop.timers(), 0);
}

}  // namespace
}  // namespace keel::timing_test
