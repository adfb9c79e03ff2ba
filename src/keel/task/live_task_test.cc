#include "keel/task/live_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/exec/thread_pool.h"
#include "keel/task/channel.h"
#include "keel/task/event.h"
#include "keel/task/group.h"
#include "keel/task/resume_on.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::live_task_test {
namespace {

void ignore(StartCore&) noexcept {}

struct LiveTaskTest : ::testing::Test {
  testing::TestLoop loop;

  // Without places: "outer: What for 1.500s".
  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    each_live_task(loop, [&](const LiveTask& task) {
      std::string line = to_string(task, loop.now());
      for (std::size_t at; (at = line.find(" (")) != line.npos;) line.erase(at, line.find(')', at) + 1 - at);
      lines.push_back(line);
    });
    return lines;
  }
  void end(StartCore& start) {
    start.stop();
    loop.run_until([&] { return start.has_ended(); });
  }
};
using Lines = std::vector<std::string>;

Task<> sleeps_long() { co_await sleep_for(1_h); }
Task<> calls_one_that_sleeps() { co_await sleeps_long(); }

TEST_F(LiveTaskTest, tells_what_a_task_waits_for_and_since_when) {
  EXPECT_EQ(lines(), Lines());
  Start<void> start;
  start.begin(sleeps_long(), &ignore);
  loop.advance(1500_ms);

  EXPECT_EQ(lines(), Lines{"live_task_test::sleeps_long: SleepFor for 1.500s"});

  start.stop();
  EXPECT_EQ(lines(), Lines{"live_task_test::sleeps_long: away, stopped"});
  end(start);
  EXPECT_EQ(lines(), Lines());
}

TEST_F(LiveTaskTest, names_the_chain_of_awaits_from_the_innermost) {
  Start<void> start;
  start.begin(calls_one_that_sleeps(), &ignore);

  EXPECT_EQ(lines(), Lines{"live_task_test::sleeps_long < live_task_test::calls_one_that_sleeps: SleepFor for 0.000s"});
  end(start);
}

TEST_F(LiveTaskTest, says_in_which_file_and_line_a_task_is_written) {
  Start<void> start;
  start.begin(sleeps_long(), &ignore);
  std::string line;
  each_live_task(loop, [&](const LiveTask& task) { line = to_string(task, loop.now()); });
  end(start);
  if (line.find(" (") == line.npos) GTEST_SKIP() << "built without debug information: " << line;
  EXPECT_NE(line.find("sleeps_long (live_task_test.cc:"), line.npos) << line;
}

Task<> waits_for(Event& event) { co_await event.wait(); }
Task<> takes_from(Channel<int>& channel) {
  while (auto value = co_await channel.receive()) {
  }
}
Task<> parent_of_many(Event& event, Channel<int>& channel) {
  Scope scope;
  scope.spawn(takes_from(channel));
  co_await all(waits_for(event), with_timeout(1_s, calls_one_that_sleeps()));
  co_await scope.join();
}

TEST_F(LiveTaskTest, shows_parents_above_their_children) {
  Event event;
  Channel<int> channel(1);
  Start<void> start;
  Start<void> other;
  start.begin(parent_of_many(event, channel), &ignore);
  other.begin(waits_for(event), &ignore);

  EXPECT_EQ(lines(),
            (Lines{"live_task_test::parent_of_many: All for 0.000s",
                   "  live_task_test::takes_from: Channel::Receive for 0.000s",
                   "  live_task_test::waits_for: Event::Wait for 0.000s", "  as_task: Timed for 0.000s",
                   "    live_task_test::sleeps_long < live_task_test::calls_one_that_sleeps: SleepFor for 0.000s",
                   "live_task_test::waits_for: Event::Wait for 0.000s"}));
  end(start);
  end(other);
}

TEST_F(LiveTaskTest, shows_those_below_a_stop_source) {
  StopSource source;
  Start<void> start;
  Start<void> other;
  start.begin(sleeps_long(), &ignore, {.stop = &source});
  other.begin(sleeps_long(), &ignore, {.stop = &source});

  EXPECT_EQ(lines(), (Lines{"live_task_test::sleeps_long: SleepFor for 0.000s",
                            "live_task_test::sleeps_long: SleepFor for 0.000s"}));
  end(start);
  EXPECT_EQ(lines(), Lines{"live_task_test::sleeps_long: SleepFor for 0.000s"});
  source.request_stop();
  loop.run_until([&] { return other.has_ended(); });
  EXPECT_EQ(lines(), Lines());
  EXPECT_TRUE(loop.waiting().empty()) << "a source without tasks may be destroyed on another thread";
}

Task<> nests(int depth) {
  if (depth == 0) co_await sleep_for(1_h);
  else co_await nests(depth - 1);
}
TEST_F(LiveTaskTest, cuts_a_long_chain) {
  Start<void> start;
  start.begin(nests(LiveTask::frames_max - 1), &ignore);
  EXPECT_FALSE(lines().at(0).find("…") != std::string::npos) << lines().at(0);
  end(start);
  EXPECT_FALSE(start.take());

  start.begin(nests(LiveTask::frames_max), &ignore);
  EXPECT_TRUE(lines().at(0).find("nests < …: SleepFor") != std::string::npos) << lines().at(0);
  end(start);
}

Task<int> first_of_two(Event& event) {
  auto one = [](Event& e) -> Task<int> {
    co_await e.wait();
    co_return 1;
  };
  co_return co_await any(one(event), one(event));
}
TEST_F(LiveTaskTest, shows_the_branches_of_any_and_none_afterwards) {
  Event event;
  Start<int> start;
  start.begin(first_of_two(event), &ignore);

  const Lines seen = lines();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], "live_task_test::first_of_two: Any for 0.000s");
  EXPECT_TRUE(seen[1].starts_with("  live_task_test::first_of_two") && seen[1].ends_with(": Event::Wait for 0.000s"))
      << seen[1];
  event.set();
  loop.run_until([&] { return start.has_ended(); });
  EXPECT_EQ(lines(), Lines());
}

// The service that leaks: one handler of a hundred never ends.
Task<> handles(Event& event, bool is_stuck) {
  if (is_stuck) co_await waits_for(event);
}
Task<> serves(Event& event) {
  Scope scope;
  for (int i = 0; i < 100; ++i) scope.spawn(handles(event, i == 42));
  co_await scope.join();
}

TEST_F(LiveTaskTest, finds_the_one_that_is_stuck) {
  Event event;
  Start<void> start;
  start.begin(serves(event), &ignore);
  loop.advance(60_s);

  EXPECT_EQ(lines(), (Lines{"live_task_test::serves: Scope::Join for 60.000s",
                            "  live_task_test::waits_for < live_task_test::handles: Event::Wait for 60.000s"}));
  end(start);
}

Task<> reports_on(testing::TestLoop& loop, Lines& seen) {
  co_await sleep_for(1_ms);
  each_live_task(loop, [&](const LiveTask& task) {
    seen.push_back(task.state == LiveTask::State::Runs ? "runs" : "waits");
    EXPECT_EQ(task.frame_count, 1);
  });
}
TEST_F(LiveTaskTest, may_be_asked_by_a_task_which_then_runs) {
  Lines seen;
  EXPECT_TRUE(loop.run(reports_on(loop, seen)).is_ok());
  EXPECT_EQ(seen, Lines{"runs"});
}

Task<> goes_away(ThreadPool& pool, bool& is_back) {
  Executor& home = *(co_await this_task()).executor;
  co_await resume_on(pool);
  co_await resume_on(home);
  is_back = true;
}
TEST_F(LiveTaskTest, says_that_a_task_is_away) {
  ThreadPool pool({.name = "test", .threads = 1});
  bool is_back = false;
  Start<void> start;
  start.begin(goes_away(pool, is_back), &ignore);

  EXPECT_EQ(lines(), Lines{"live_task_test::goes_away: away"});
  loop.run_until([&] { return start.has_ended(); });
  EXPECT_TRUE(is_back);
}

// Children of a task that is on the pool wait at home, and come and go between the threads.
Task<> naps(Executor& home) {
  co_await resume_on(home);
  co_await sleep_for(1_us);
}
Task<> commutes(ThreadPool& pool) {
  Executor& home = *(co_await this_task()).executor;
  for (int i = 0; i < 200; ++i) {
    co_await resume_on(pool);
    co_await naps(home);
    co_await resume_on(home);
  }
}
Task<> many_commute(ThreadPool& pool) {
  Scope scope;
  for (int i = 0; i < 10; ++i) scope.spawn(commutes(pool));
  co_await scope.join();
}
TEST_F(LiveTaskTest, may_be_asked_while_tasks_go_from_thread_to_thread) {
  ThreadPool pool({.name = "test", .threads = 2});
  Start<void> start;
  start.begin(many_commute(pool), &ignore);
  std::size_t most = 0;
  loop.run_until([&] {
    std::size_t count = 0;
    each_live_task(loop, [&](const LiveTask& task) { count += task.frame_count > 0; });
    most = std::max(most, count);
    return start.has_ended();
  });

  EXPECT_EQ(most, 11u);
  EXPECT_TRUE(start.take().is_ok());
}

}  // namespace
}  // namespace keel::live_task_test
