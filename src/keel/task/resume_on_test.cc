// Crosses threads: run under ThreadSanitizer.
#include "keel/task/resume_on.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>

#include "keel/exec/call.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"
#include "keel/observe/span.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::resume_on_test {
namespace {

struct ResumeOnTest : ::testing::Test {
  testing::TestLoop loop;
  ThreadPool pool{{.name = "test", .threads = 3}};
};
void ignore(StartCore&) noexcept {}

Task<bool> goes_and_returns(ThreadPool& pool) {
  Executor& home = *(co_await this_task()).executor;
  co_await resume_on(pool);
  const bool away = Executor::current() == &pool && (co_await this_task()).executor == &pool;
  co_await resume_on(pool);
  co_await resume_on(home);
  co_return away&& Executor::current() == &home;
}
Task<> sleeps_on(ThreadPool& pool) {
  co_await resume_on(pool);
  co_await sleep_for(1_ms);
}
TEST_F(ResumeOnTest, a_sleep_on_a_pool_is_a_bug_of_its_task_alone) {
  const auto slept = loop.run(sleeps_on(pool));
  ASSERT_FALSE(slept);
  EXPECT_TRUE(slept.error().is_bug());
  EXPECT_TRUE(slept.error().message().starts_with("sleep_for() is awaited on a pool")) << slept.error().describe();
}

TEST_F(ResumeOnTest, a_task_goes_to_a_pool_and_comes_back) { EXPECT_TRUE(loop.run(goes_and_returns(pool)).value()); }

// What it works for goes with it: across suspensions, to a pool, into what it awaits and spawns.
Task<int> counts(ThreadPool& pool, const Span* expected) {
  int seen = current_span() == expected ? 1 : 0;
  co_await sleep_for(1_ms);
  seen += current_span() == expected ? 1 : 0;
  co_await resume_on(pool);
  seen += current_span() == expected ? 1 : 0;
  co_return seen;
}
Task<int> works_for(ThreadPool& pool, const Span* expected) {
  auto both = co_await with_timeout(1_s, all(counts(pool, expected), counts(pool, expected)));
  auto& [first, second] = both;
  Scope scope;
  int spawned = 0;
  const auto keep = [](ThreadPool& p, const Span* e, int& out) -> Task<> { out = co_await counts(p, e); };
  scope.spawn(keep(pool, expected, spawned));
  co_await scope.join();
  co_return first + second + spawned + co_await counts(pool, expected);
}
TEST_F(ResumeOnTest, a_task_works_for_its_span_wherever_it_goes) {
  const Span span{{1, 2}};
  const Span other{{3, 4}};
  const ScopedSpan here(other);
  Start<int> measured;
  Start<int> unknown;
  measured.begin(works_for(pool, &span), &ignore, {.span = &span});
  unknown.begin(works_for(pool, nullptr), &ignore);
  EXPECT_EQ(current_span(), &other);
  loop.run_until([&] {
    EXPECT_EQ(current_span(), &other);
    return measured.has_ended() && unknown.has_ended();
  });
  EXPECT_EQ(measured.take().value(), 12);
  EXPECT_EQ(unknown.take().value(), 12) << "a task without a span has none of those around it";
}

// Ends on the pool; how long it takes there decides whether its parent is before, in or after its suspension.
Task<int> ends_on(ThreadPool& pool, int spin) {
  co_await resume_on(pool);
  for (int i = 0; i < spin; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
  co_return 1;
}
Task<int> fails_on(ThreadPool& pool, int spin) {
  co_await resume_on(pool);
  for (int i = 0; i < spin; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
  co_return fail(Code::NotFound, "not on this pool");
}
Task<int> awaits_ends(ThreadPool& pool, int rounds) {
  Executor& home = *(co_await this_task()).executor;
  int total = 0;
  for (int i = 0; i < rounds; ++i) {
    total += co_await ends_on(pool, (i % 20) * 50);
    if (Executor::current() != &home) co_return -1;
    if (!co_await attempt(fails_on(pool, (i % 20) * 50))) ++total;
    if (Executor::current() != &home) co_return -1;
  }
  co_return total;
}
TEST_F(ResumeOnTest, a_parent_goes_on_at_home_when_its_child_ends_elsewhere) {
  EXPECT_EQ(loop.run(awaits_ends(pool, 2000)).value(), 4000);
}
TEST_F(ResumeOnTest, an_error_on_the_pool_ends_the_parent_at_home) {
  auto body = [](ThreadPool& p) -> Task<int> { co_return co_await fails_on(p, 0); };
  EXPECT_EQ(loop.run(body(pool)).error().code(), Code::NotFound);
}

// Parent and children on the pool: a child may continue, on another thread, before the parent has suspended.
Task<int> yields(int times, bool fails) {
  for (int i = 0; i < times; ++i) co_await checkpoint();
  if (fails) co_return fail(Code::Conflict, "on the pool");
  co_return 1;
}
Task<int> middle(int times, bool fails) { co_return co_await yields(times, fails); }
Task<int> lives_on(ThreadPool& pool, int rounds) {
  co_await resume_on(pool);
  int total = 0;
  for (int i = 0; i < rounds; ++i) {
    total += co_await middle(i % 3, false);
    if (!co_await attempt(middle(i % 3, true))) ++total;
  }
  co_return total;
}
TEST_F(ResumeOnTest, tasks_await_each_other_on_a_pool) { EXPECT_EQ(loop.run(lives_on(pool, 3000)).value(), 6000); }

Task<int> visits(Executor& home) {
  co_await resume_on(home);
  co_return 1;
}
Task<int> child_ends_at_home(ThreadPool& pool, int rounds) {
  Executor& home = *(co_await this_task()).executor;
  co_await resume_on(pool);
  int total = 0;
  for (int i = 0; i < rounds; ++i) {
    total += co_await visits(home);
    if (Executor::current() != &pool) co_return -1;
  }
  co_return total;
}
TEST_F(ResumeOnTest, a_parent_on_a_pool_stays_there_when_its_child_ends_at_home) {
  EXPECT_EQ(loop.run(child_ends_at_home(pool, 2000)).value(), 2000);
}

TEST_F(ResumeOnTest, many_tasks_at_once) {
  auto body = [](ThreadPool& p) -> Task<> {
    Scope scope;
    for (int i = 0; i < 200; ++i) scope.spawn(awaits_ends(p, 5));
    for (int i = 0; i < 50; ++i) scope.spawn(lives_on(p, 5));
    co_await scope.join();
  };
  EXPECT_TRUE(loop.run(body(pool)).is_ok());
}

TEST_F(ResumeOnTest, a_full_pool_is_resource_exhausted_where_the_task_is) {
  ThreadPool small({.name = "small", .threads = 1, .queue_max = 1});
  std::latch began{1}, go{1};
  struct Block : Job {
    Block(std::latch& b, std::latch& g) : Job(&run_it), began(b), go(g) {}
    static void run_it(Job& job) noexcept {
      auto& self = static_cast<Block&>(job);
      self.began.count_down();
      self.go.wait();
    }
    std::latch& began;
    std::latch& go;
  } block(began, go);
  small.post(block);
  began.wait();
  auto body = [](ThreadPool& p, std::latch& free) -> Task<int> {
    Scope scope;
    scope.spawn(ends_on(p, 0));
    auto second = co_await attempt(ends_on(p, 0));
    auto third = co_await attempt(resume_on(p));
    free.count_down();
    co_await scope.join();
    const bool both = !second && second.error().code() == Code::ResourceExhausted && !third &&
                      third.error().code() == Code::ResourceExhausted;
    if (!both) co_return 0;
    co_return co_await ends_on(p, 0);
  };
  EXPECT_EQ(loop.run(body(small, go)).value(), 1);
  auto fails = [](ThreadPool& p) -> Task<> { co_await resume_on(p); };
  small.stop();
  EXPECT_EQ(loop.run(fails(small)).error().code(), Code::ResourceExhausted);
}

Task<> goes(ThreadPool& pool, bool& was_there) {
  co_await resume_on(pool);
  was_there = true;
}
TEST_F(ResumeOnTest, a_task_on_its_way_to_a_pool_that_is_stopped_is_cancelled) {
  ThreadPool one({.name = "one", .threads = 1});
  std::latch began{1}, go{1};
  auto running = submit(one, [&] {
    began.count_down();
    go.wait();
  });
  began.wait();
  bool was_there = false;
  Start<void> start;
  ASSERT_FALSE(start.begin(goes(one, was_there), &ignore));
  auto not_due = submit_after(one, 1_h, [] {});

  std::thread stopper([&] { one.stop(Duration()); });
  while (!not_due.is_done()) std::this_thread::yield();  // It is discarded as soon as the pool is being stopped.
  go.count_down();
  stopper.join();
  loop.run_jobs();

  ASSERT_TRUE(start.has_ended());
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_FALSE(was_there);
}

TEST_F(ResumeOnTest, a_stopped_task_does_not_go_away) {
  StopSource stop;
  stop.request_stop();
  Start<int> start;
  EXPECT_TRUE(start.begin(ends_on(pool, 0), &ignore, {.stop = &stop}));
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}

Task<int> polls(ThreadPool& pool, std::latch& there) {
  Executor& home = *(co_await this_task()).executor;
  StopToken stop = (co_await this_task()).stop;
  co_await resume_on(pool);
  there.count_down();
  while (!stop.stop_requested()) std::this_thread::yield();
  co_await resume_on(home);
  co_return Executor::current() == &home ? 1 : 0;
}
TEST_F(ResumeOnTest, a_stopped_task_on_a_pool_sees_it_and_may_come_home) {
  std::latch there{1};
  Start<int> start;
  EXPECT_FALSE(start.begin(polls(pool, there), &ignore));
  there.wait();
  start.stop();
  loop.run_until([&] { return start.has_ended(); });
  EXPECT_EQ(start.take().value(), 1);
}

TEST_F(ResumeOnTest, a_limit_waits_for_what_is_on_a_pool) {
  auto body = [](ThreadPool& p, std::latch& on_pool) -> Task<int> {
    co_return co_await with_timeout(5_ms, polls(p, on_pool));
  };
  std::latch there{1};
  Start<int> start;
  EXPECT_FALSE(start.begin(body(pool, there), &ignore));
  there.wait();
  loop.run_until([&] { return start.has_ended(); });
  EXPECT_EQ(start.take().value(), 1);
}

Task<int> group_over_pool(ThreadPool& pool) {
  auto both = co_await all(ends_on(pool, 100), lives_on(pool, 3));
  auto& [a, b] = both;
  co_return a + b;
}
TEST_F(ResumeOnTest, groups_join_tasks_that_end_on_a_pool) { EXPECT_EQ(loop.run(group_over_pool(pool)).value(), 7); }

// Fails on the pool while children of its scope wait at home.
Task<> waits_long(std::atomic<int>& ended) {
  struct Count {
    std::atomic<int>& n;
    ~Count() { ++n; }
  } count{ended};
  co_await sleep_for(10_s);
}
Task<> fails_away_with_children(ThreadPool& pool, std::atomic<int>& ended) {
  Scope scope;
  scope.spawn(waits_long(ended));
  scope.spawn(waits_long(ended));
  co_await resume_on(pool);
  co_await fail(Code::Conflict, "away from home");
}
TEST_F(ResumeOnTest, children_at_home_are_joined_when_their_parent_fails_on_a_pool) {
  std::atomic<int> ended{0};
  const Instant before = loop.now();
  Start<void> start;
  EXPECT_FALSE(start.begin(fails_away_with_children(pool, ended), &ignore));
  while (!start.has_ended()) {
    loop.run_jobs();
    std::this_thread::yield();
  }
  EXPECT_EQ(start.take().error().code(), Code::Conflict);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(loop.now(), before);
}

// Its frame, with the scope in it, is destroyed on the pool where its parent awaits.
Task<int> fails_at_home(Executor& home, std::atomic<int>& ended) {
  co_await resume_on(home);
  Scope scope;
  scope.spawn(waits_long(ended));
  auto both = co_await all(sleep_for(1_ms), sleep_for(2_ms));
  auto& [a, b] = both;
  (void)a;
  (void)b;
  co_return co_await Result<int>(fail(Code::Conflict, "at home"));
}
TEST_F(ResumeOnTest, a_scope_joins_at_home_when_its_parent_is_on_a_pool) {
  auto body = [](ThreadPool& p, std::atomic<int>& n) -> Task<int> {
    Executor& home = *(co_await this_task()).executor;
    co_await resume_on(p);
    int conflicts = 0;
    for (int i = 0; i < 50; ++i) {
      auto result = co_await attempt(fails_at_home(home, n));
      if (Executor::current() == &p && !result && result.error().code() == Code::Conflict) ++conflicts;
    }
    co_return conflicts;
  };
  std::atomic<int> ended{0};
  EXPECT_EQ(loop.run(body(pool, ended)).value(), 50);
  EXPECT_EQ(ended, 50);
}

Task<> notes(std::string& trace, char name) {
  for (int i = 0; i < 2; ++i) {
    trace += name;
    co_await checkpoint();
  }
}
TEST_F(ResumeOnTest, a_checkpoint_lets_others_run) {
  std::string trace;
  auto body = [](std::string& t) -> Task<> {
    Scope scope;
    scope.spawn(notes(t, 'a'));
    scope.spawn(notes(t, 'b'));
    co_await scope.join();
  };
  EXPECT_TRUE(loop.run(body(trace)).is_ok());
  EXPECT_EQ(trace, "abab");
}
TEST_F(ResumeOnTest, a_checkpoint_ends_a_stopped_task) {
  std::string trace;
  Start<void> start;
  EXPECT_FALSE(start.begin(notes(trace, 'a'), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(trace, "a");
}
TEST_F(ResumeOnTest, a_checkpoint_ends_a_task_past_its_deadline) {
  std::string trace;
  Start<void> start;
  EXPECT_FALSE(start.begin(notes(trace, 'a'), &ignore, {.deadline = loop.now() + 5_ms}));
  loop.advance(Duration());
  EXPECT_FALSE(trace.empty());
  loop.run_until([&] { return start.has_ended(); });
  EXPECT_TRUE(start.take().is_ok());

  trace.clear();
  EXPECT_TRUE(start.begin(notes(trace, 'a'), &ignore, {.deadline = loop.now()}));
  EXPECT_EQ(start.take().error().code(), Code::DeadlineExceeded);
}

}  // namespace
}  // namespace keel::resume_on_test
