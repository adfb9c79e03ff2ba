#include "keel/task/scope.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel {
namespace {

struct ScopeTest : ::testing::Test {
  testing::TestLoop loop;
  std::string trace;
};

struct Left {
  std::string& trace;
  char name;
  ~Left() { trace += name; }
};

Task<> child(std::string& trace, char name, Duration duration) {
  Left left{trace, name};
  co_await sleep_for(duration);
}
Task<int> failing_child(Duration duration, Code code) {
  co_await sleep_for(duration);
  co_return fail(code, "a child failed");
}

Task<> spawns_three(std::string& trace) {
  Scope scope;
  scope.spawn(child(trace, 'c', 30_ms));
  scope.spawn(child(trace, 'a', Duration()));
  scope.spawn(child(trace, 'b', 20_ms));
  EXPECT_EQ(scope.running(), 2u);
  co_await scope.join();
  trace += '.';
  scope.spawn(child(trace, 'd', 10_ms));
  co_await scope.join();
  co_await scope.join();
}
TEST_F(ScopeTest, join_waits_for_all_children_and_may_be_repeated) {
  EXPECT_TRUE(loop.run(spawns_three(trace)).is_ok());
  EXPECT_EQ(trace, "abc.d");
}

Task<> fails_with_children(std::string& trace, bool at_once) {
  Left local{trace, 'L'};
  Scope outer;
  outer.spawn(child(trace, 'o', 10_s));
  Scope inner;
  inner.spawn(child(trace, 'i', 10_s));
  if (!at_once) co_await sleep_for(5_ms);
  co_await fail(Code::Conflict, "the parent failed");
  trace += '!';
}
Task<> awaits_failing(std::string& trace, bool at_once) {
  auto result = co_await attempt(fails_with_children(trace, at_once));
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::Conflict);
  trace += '.';
}
TEST_F(ScopeTest, children_are_stopped_and_joined_before_an_error_goes_up) {
  for (const bool at_once : {true, false}) {
    trace.clear();
    const Instant before = loop.now();
    EXPECT_TRUE(loop.run(awaits_failing(trace, at_once)).is_ok());
    EXPECT_TRUE(trace == "ioL." || trace == "oiL.") << trace;
    EXPECT_LT(loop.now() - before, 1_s);
    EXPECT_EQ(loop.timers(), 0);
  }
}
TEST_F(ScopeTest, children_are_joined_when_the_root_fails) {
  EXPECT_EQ(loop.run(fails_with_children(trace, true)).error().code(), Code::Conflict);
  EXPECT_EQ(trace.size(), 3u);
}

Task<> reports(OnError on_error) {
  Scope scope;
  scope.spawn(failing_child(20_ms, Code::NotFound), on_error);
  scope.spawn(failing_child(10_ms, Code::DataLoss), on_error);
  scope.spawn(failing_child(Duration(), Code::Protocol), OnError::Ignore);
  co_await scope.join();
}
TEST_F(ScopeTest, join_reports_the_first_error) {
  EXPECT_EQ(loop.run(reports(OnError::Report)).error().code(), Code::DataLoss);
}
TEST_F(ScopeTest, join_ignores_the_errors_it_is_told_to) { EXPECT_TRUE(loop.run(reports(OnError::Ignore)).is_ok()); }

Task<> stops(std::string& trace) {
  Scope scope;
  scope.spawn(child(trace, 'a', 10_s));
  scope.spawn(child(trace, 'b', 10_s));
  scope.stop();
  EXPECT_EQ(scope.running(), 2u);
  co_await scope.join();
}
TEST_F(ScopeTest, stop_asks_and_join_waits_without_an_error) {
  EXPECT_TRUE(loop.run(stops(trace)).is_ok());
  EXPECT_EQ(trace, "ab");
}

Task<> joins_forever(std::string& trace) {
  Scope scope;
  scope.spawn(child(trace, 'a', 10_s));
  co_await scope.join();
  trace += '!';
}
TEST_F(ScopeTest, stopping_the_declaring_task_stops_the_children_and_waits) {
  Start<void> start;
  EXPECT_FALSE(start.begin(joins_forever(trace), [](StartCore&) noexcept {}));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(trace, "a");
}
TEST_F(ScopeTest, a_deadline_stops_the_children_and_waits) {
  auto body = [](std::string& t) -> Task<> { co_await with_timeout(5_ms, joins_forever(t)); };
  EXPECT_EQ(loop.run(body(trace)).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(trace, "a");
}
TEST_F(ScopeTest, children_of_a_stopped_scope_begin_no_operation) {
  auto body = [](std::string& t) -> Task<> {
    Scope scope;
    scope.stop();
    scope.spawn(child(t, 'a', 10_s));
    EXPECT_EQ(scope.running(), 0u);
    co_await scope.join();
  };
  EXPECT_TRUE(loop.run(body(trace)).is_ok());
  EXPECT_EQ(trace, "a");
}

// A child that is slow to end holds its parent.
Task<> lingers(std::string& trace) {
  Left left{trace, 'x'};
  (void)co_await attempt(sleep_for(10_s));
  Scope late;
  trace += 'l';
}
Task<> fails_over_lingering(std::string& trace) {
  Scope scope;
  scope.spawn(lingers(trace));
  co_await fail(Code::Conflict, "the parent failed");
}
TEST_F(ScopeTest, a_child_may_clean_up_before_it_ends) {
  EXPECT_EQ(loop.run(fails_over_lingering(trace)).error().code(), Code::Conflict);
  EXPECT_EQ(trace, "lx");
}

Task<> spawns_many(int count, int& ended) {
  struct Count {
    static Task<> one(int& n, int i) {
      if (i % 2 == 0) co_await sleep_for(Duration::milliseconds(i % 7));
      ++n;
    }
  };
  Scope scope;
  for (int i = 0; i < count; ++i) scope.spawn(Count::one(ended, i));
  co_await scope.join();
}
TEST_F(ScopeTest, holds_thousands_of_children) {
  int ended = 0;
  EXPECT_TRUE(loop.run(spawns_many(10'000, ended)).is_ok());
  EXPECT_EQ(ended, 10'000);
}

using ScopeDeathTest = ScopeTest;
TEST_F(ScopeDeathTest, a_scope_with_live_children_is_not_destroyed) {
  auto body = [](std::string& t) -> Task<> {
    Scope scope;
    scope.spawn(child(t, 'a', 10_s));
    co_return;
  };
  EXPECT_DEATH((void)loop.run(body(trace)), "a Scope is joined before its coroutine returns");
}
TEST_F(ScopeDeathTest, a_scope_is_declared_in_a_task) { EXPECT_DEATH(Scope(), "declared in the body of a task"); }

}  // namespace
}  // namespace keel
