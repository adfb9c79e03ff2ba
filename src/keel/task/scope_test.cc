#include "keel/task/scope.h"

#include <gtest/gtest.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/span.h"
#include "keel/observe/unhandled.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::scope_test {
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

Task<> spawns_limited(std::string& trace) {
  Scope scope;
  scope.spawn(with_timeout(10_ms, child(trace, 'a', 30_ms)), OnError::Ignore);
  scope.spawn(with_timeout(30_ms, child(trace, 'b', 12_ms)));
  scope.spawn(with_timeout(Duration(), child(trace, 'c', 10_ms)), OnError::Ignore);
  scope.spawn(with_timeout(5_ms, with_timeout(1_s, child(trace, 'd', 30_ms))));
  auto named = child(trace, 'e', 20_ms);
  scope.spawn(std::move(named));
  co_await scope.join();
}
TEST_F(ScopeTest, spawn_takes_a_task_with_a_time_limit_and_one_that_had_a_name) {
  EXPECT_EQ(loop.run(spawns_limited(trace)).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(trace, "dabe");
}

Task<> note_span(std::vector<const Span*>& spans) {
  spans.push_back(current_span());
  co_await sleep_for(5_ms);
  spans.push_back(current_span());
}
Task<> spawns_one(std::vector<const Span*>& spans) {
  Scope scope;
  scope.spawn(note_span(spans));
  co_await scope.join();
}
TEST_F(ScopeTest, children_work_for_what_their_parent_works_for) {
  const Span span{{1, 2}};
  std::vector<const Span*> spans;
  Start<void> start;
  ASSERT_FALSE(start.begin(spawns_one(spans), [](StartCore&) noexcept {}, {.span = &span}));

  loop.advance(10_ms);

  ASSERT_TRUE(start.has_ended());
  EXPECT_TRUE(start.take());
  EXPECT_EQ(spans, (std::vector<const Span*>{&span, &span}));
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

// --- Exceptions, and bugs of children.

Task<int> throws(bool at_once, const std::string& local) {
  if (!at_once) co_await sleep_for(5_ms);
  co_return static_cast<unsigned char>(local.at(7));
}
Task<int> awaits_what_throws(std::string& trace, bool at_once) {
  Left left{trace, 'L'};
  const std::string local = "local";
  Scope scope;
  scope.spawn(child(trace, 'a', 10_s));
  scope.spawn(lingers(trace));
  co_return co_await throws(at_once, local);
}
TEST_F(ScopeTest, children_are_stopped_and_joined_when_a_task_throws_that_is_awaited_beside_them) {
  for (const bool at_once : {true, false}) {
    trace.clear();

    const Result<int> result = loop.run(awaits_what_throws(trace, at_once));

    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().is_bug());
    EXPECT_TRUE(trace == "alxL" || trace == "lxaL") << trace;
    EXPECT_EQ(loop.timers(), 0);
  }
}

Task<> has_a_bug(Duration duration) {
  co_await sleep_for(duration);
  throw_bug("a child has a bug", std::source_location::current());
}
Task<> spawns_bugs(OnError on_error) {
  Scope scope;
  scope.spawn(has_a_bug(Duration()), on_error);
  scope.spawn(has_a_bug(10_ms), on_error);
  scope.spawn(failing_child(5_ms, Code::Conflict), on_error);
  co_await scope.join();
}
Task<> fails_over_a_bug() {
  Scope scope;
  scope.spawn(has_a_bug(Duration()));
  scope.spawn(has_a_bug(10_ms), OnError::Ignore);
  co_await sleep_for(20_ms);
  co_await fail(Code::Conflict, "the parent failed");
}

struct ScopeBugsTest : ScopeTest {
  // The lines about unhandled errors since the last call.
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    reader.drain([&](const log::Record& record) {
      if (record.component() != "unhandled" || record.level() != Level::Error) return;
      std::string line(record.message());
      record.for_each(
          [&](const log::FieldView& field) { line.append(" ").append(field.name).append("=").append(field.text); });
      all.push_back(std::move(line));
    });
    return all;
  }
  log::Reader reader{false};
  const std::uint64_t before = unhandled_errors();
};
TEST_F(ScopeBugsTest, of_children_whose_errors_are_ignored_are_logged_and_counted) {
  EXPECT_TRUE(loop.run(spawns_bugs(OnError::Ignore)));

  EXPECT_EQ(unhandled_errors(), before + 2);
  const std::vector<std::string> said = lines();
  ASSERT_EQ(said.size(), 2u);
  for (const std::string& line : said) {
    EXPECT_NE(line.find("error=a child has a bug"), line.npos) << line;
    EXPECT_NE(line.find("places=scope_test.cc:"), line.npos) << line;
    EXPECT_NE(line.find("stack="), line.npos) << line;
  }
}
TEST_F(ScopeBugsTest, that_join_does_not_report_are_logged_and_counted) {
  EXPECT_TRUE(loop.run(spawns_bugs(OnError::Report)).error().is_bug()) << "the first";
  EXPECT_EQ(unhandled_errors(), before + 1) << "the second";

  EXPECT_EQ(loop.run(fails_over_a_bug()).error().code(), Code::Conflict);
  EXPECT_EQ(unhandled_errors(), before + 3) << "nobody joined them";
  EXPECT_EQ(lines().size(), 3u);
}

using ScopeDeathTest = ScopeTest;
Task<> returns_early(std::string& t) {
  Scope scope;
  scope.spawn(child(t, 'a', 10_s));
  co_return;
}
Task<> throws_over_children(std::string& t) {
  Scope scope;
  scope.spawn(child(t, 'a', 10_s));
  scope.spawn(child(t, 'b', 10_s));
  co_await sleep_for(1_ms);
  throw std::out_of_range("a handler");
}
// The first line of a check says where the Scope stands, what to write and who runs.
TEST_F(ScopeDeathTest, a_scope_is_not_destroyed_by_a_return_while_children_run) {
  EXPECT_DEATH(
      (void)loop.run(returns_early(trace)),
      "scope_test.cc:[0-9]+: .*a Scope must be joined before its coroutine returns: co_await scope.join\\(\\) before "
      "every co_return.*1 child runs: .*child.* waits for Sleep");
}
TEST_F(ScopeDeathTest, a_scope_is_not_destroyed_by_an_exception_while_children_run) {
  EXPECT_DEATH(
      (void)loop.run(throws_over_children(trace)),
      "scope_test.cc:[0-9]+: .*an exception leaves a coroutine while children of its Scope run: move the code that "
      "may throw into another Task, .*2 children run: .*child.* waits for Sleep");
}
TEST_F(ScopeTest, is_declared_in_a_task) { EXPECT_THROW(Scope(), Bug); }

}  // namespace
}  // namespace keel::scope_test
