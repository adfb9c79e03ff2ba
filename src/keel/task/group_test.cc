#include "keel/task/group.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "keel/base/bug.h"
#include "keel/observe/unhandled.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::group_test {
namespace {

struct GroupTest : ::testing::Test {
  testing::TestLoop loop;
};
void ignore(StartCore&) noexcept {}

Task<std::string> text(std::string value, Duration duration) {
  co_await sleep_for(duration);
  co_return value;
}
Task<std::unique_ptr<int>> number(int value, Duration duration) {
  co_await sleep_for(duration);
  co_return std::make_unique<int>(value);
}
Task<std::string> failing(Code code, Duration duration) {
  co_await sleep_for(duration);
  co_return fail(code, "failed");
}

Task<std::string> joins(Duration first, Duration second) {
  auto all_three =
      co_await all(text("a text too long for the small buffer", first), number(7, second), sleep_for(1_ms));
  auto& [a, b, nothing] = all_three;
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(nothing)>, std::monostate>);
  co_return a + std::to_string(*b);
}
TEST_F(GroupTest, all_yields_every_value) {
  for (const auto first : {Duration(), 10_ms}) {
    for (const auto second : {Duration(), 5_ms, 20_ms}) {
      EXPECT_EQ(loop.run(joins(first, second)).value(), "a text too long for the small buffer7");
    }
  }
}
TEST_F(GroupTest, all_runs_at_the_same_time) {
  const Instant before = loop.now();
  EXPECT_TRUE(loop.run(joins(50_ms, 50_ms)).is_ok());
  EXPECT_LT(loop.now() - before, 60_ms);
}

Task<std::string> joins_failing(Duration fails_after, Duration other) {
  auto both = co_await all(text("never", other), failing(Code::NotFound, fails_after));
  auto& [a, b] = both;
  co_return a + b;
}
TEST_F(GroupTest, all_ends_with_the_first_error_and_stops_the_others) {
  const Instant before = loop.now();
  EXPECT_EQ(loop.run(joins_failing(5_ms, 10_s)).error().code(), Code::NotFound);
  EXPECT_EQ(loop.run(joins_failing(Duration(), 10_s)).error().code(), Code::NotFound);
  EXPECT_EQ(loop.run(joins_failing(5_ms, Duration())).error().code(), Code::NotFound);
  EXPECT_LT(loop.now() - before, 1_s);
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(GroupTest, all_does_not_begin_what_follows_an_error) {
  auto body = []() -> Task<int> {
    auto both = co_await all(failing(Code::NotFound, Duration()), number(1, 10_s));
    auto& [a, b] = both;
    co_return static_cast<int>(a.size()) + *b;
  };
  Start<int> start;
  EXPECT_TRUE(start.begin(body(), &ignore));
  EXPECT_EQ(start.take().error().code(), Code::NotFound);
}
TEST_F(GroupTest, all_is_stopped_with_its_task) {
  Start<std::string> start;
  EXPECT_FALSE(start.begin(joins(10_s, 10_s), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(GroupTest, all_of_a_stopped_task_does_not_begin) {
  StopSource stop;
  stop.request_stop();
  Start<std::string> start;
  EXPECT_TRUE(start.begin(joins(10_s, 10_s), &ignore, {.stop = &stop}));
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}
Task<std::string> joins_in_time() {
  auto both = co_await with_timeout(10_ms, all(text("a", 1_s), text("b", 1_s)));
  auto& [a, b] = both;
  co_return a + b;
}
TEST_F(GroupTest, all_obeys_a_limit) {
  EXPECT_EQ(loop.run(joins_in_time()).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(loop.timers(), 0);
}

Task<std::string> picks(Duration a, Duration b, bool b_fails) {
  if (b_fails) co_return co_await any(text("a", a), failing(Code::Unavailable, b));
  co_return co_await any(text("a", a), text("b", b), failing(Code::Unavailable, 1_ms));
}
TEST_F(GroupTest, any_yields_the_first_success_and_stops_the_others) {
  const Instant before = loop.now();
  EXPECT_EQ(loop.run(picks(10_s, 5_ms, false)).value(), "b");
  EXPECT_EQ(loop.run(picks(5_ms, 10_s, false)).value(), "a");
  EXPECT_EQ(loop.run(picks(10_s, Duration(), false)).value(), "b");
  EXPECT_EQ(loop.run(picks(5_ms, Duration(), true)).value(), "a");
  EXPECT_LT(loop.now() - before, 1_s);
  EXPECT_EQ(loop.timers(), 0);
}
Task<std::string> all_fail() {
  co_return co_await any(failing(Code::NotFound, 9_ms), failing(Code::Unavailable, 2_ms));
}
TEST_F(GroupTest, any_ends_with_the_first_error_when_all_fail) {
  EXPECT_EQ(loop.run(all_fail()).error().code(), Code::Unavailable);
}
Task<> first_sleep() { co_await any(sleep_for(5_ms), sleep_for(10_s)); }
TEST_F(GroupTest, any_takes_operations) {
  const Instant before = loop.now();
  EXPECT_TRUE(loop.run(first_sleep()).is_ok());
  EXPECT_LT(loop.now() - before, 1_s);
}
TEST_F(GroupTest, any_is_stopped_with_its_task) {
  Start<std::string> start;
  EXPECT_FALSE(start.begin(picks(10_s, 10_s, true), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}
TEST_F(GroupTest, any_that_is_stopped_when_one_has_failed_tells_why_it_was_stopped) {
  Start<std::string> start;
  EXPECT_FALSE(start.begin(picks(10_s, Duration(), true), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}
Task<std::string> picks_in_time() {
  co_return co_await with_timeout(10_ms, any(text("a", 1_s), failing(Code::Unavailable, 1_ms)));
}
TEST_F(GroupTest, any_obeys_a_limit) {
  EXPECT_EQ(loop.run(picks_in_time()).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(loop.timers(), 0);
}

// --- Bugs of branches.

using Branches = Task<std::string> (*)();

Task<std::string> has_a_bug(Duration duration) {
  co_await sleep_for(duration);
  throw_bug("a branch has a bug", std::source_location::current());
}
Task<std::string> has_a_bug_when_it_is_stopped() {
  const Result<> slept = co_await attempt(sleep_for(10_s));
  throw_bug(slept ? "it slept" : "a branch has a bug", std::source_location::current());
}
template <Branches a, Branches b>
Task<std::string> one_of() {
  co_return co_await any(a(), b());
}
template <Branches a, Branches b>
Task<std::string> both_of() {
  auto both = co_await all(a(), b());
  auto& [first, second] = both;
  co_return first + second;
}
constexpr auto bug = [] { return has_a_bug(1_ms); };
constexpr auto late_bug = [] { return has_a_bug(2_ms); };
constexpr auto bug_at_once = [] { return has_a_bug(Duration()); };
constexpr auto error = [] { return failing(Code::NotFound, 1_ms); };
constexpr auto late_error = [] { return failing(Code::NotFound, 2_ms); };
constexpr auto value = [] { return text("a", 1_ms); };
constexpr auto late_value = [] { return text("b", 2_ms); };

struct GroupBugsTest : GroupTest {
  std::uint64_t reported() const { return unhandled_errors() - before; }
  const std::uint64_t before = unhandled_errors();
};
TEST_F(GroupBugsTest, that_are_the_result_are_not_reported_beside_it) {
  EXPECT_TRUE(loop.run(one_of<bug, late_error>()).error().is_bug());
  EXPECT_TRUE(loop.run(both_of<bug, late_value>()).error().is_bug());
  EXPECT_EQ(reported(), 0u);
}
TEST_F(GroupBugsTest, that_the_result_does_not_have_are_reported) {
  EXPECT_EQ(loop.run(one_of<bug, late_value>()).value(), "b");
  EXPECT_EQ(reported(), 1u) << "another branch succeeded";
  EXPECT_EQ(loop.run(one_of<error, late_bug>()).error().code(), Code::NotFound);
  EXPECT_EQ(reported(), 2u) << "another branch failed first";

  Start<std::string> start;
  EXPECT_FALSE(start.begin(one_of<bug_at_once, has_a_bug_when_it_is_stopped>(), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(reported(), 4u) << "it was stopped";

  EXPECT_EQ(loop.run(one_of<error, late_value>()).value(), "b");
  EXPECT_EQ(reported(), 4u) << "that is no bug";
}
TEST_F(GroupBugsTest, of_a_branch_that_is_stopped_are_reported) {
  EXPECT_EQ(loop.run(both_of<error, has_a_bug_when_it_is_stopped>()).error().code(), Code::NotFound);
  EXPECT_EQ(reported(), 1u);
  EXPECT_EQ(loop.run(one_of<value, has_a_bug_when_it_is_stopped>()).value(), "a");
  EXPECT_EQ(reported(), 2u);
}

Task<int> nested(int depth) {
  if (depth == 0) {
    co_await sleep_for(3_ms);
    co_return 1;
  }
  auto both = co_await all(nested(depth - 1), nested(depth - 1));
  auto& [a, b] = both;
  co_return a + b;
}
TEST_F(GroupTest, groups_nest) { EXPECT_EQ(loop.run(nested(8)).value(), 256); }

}  // namespace
}  // namespace keel::group_test
