// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/call.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/base/sanitizers.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/exec/delayed_jobs.h"
#include "keel/exec/inline_executor.h"
#include "keel/exec/serial_executor.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/unhandled.h"

namespace keel::call_test {
namespace {

struct Refusing final : Executor {
  void post(Job&) noexcept override { ADD_FAILURE() << "what may be refused is offered"; }
  bool offer(Job&) noexcept override { return false; }
  bool offer_all(Job&, Job&, std::size_t) noexcept override { return false; }
  bool has_clock() const noexcept override { return with_clock; }
  bool with_clock = false;
};
struct Keeping final : Executor {
  void post(Job& posted) noexcept override { job = &posted; }
  std::size_t discard_it() noexcept { return discard(*job); }
  Job* job = nullptr;
};

TEST(Execute, runs_the_callable_on_the_executor_and_destroys_it) {
  ThreadPool pool({.threads = 2});
  Executor* seen = nullptr;
  auto held = std::make_shared<int>(7);

  EXPECT_TRUE(execute(pool, [&seen, held] { seen = Executor::current(); }));
  pool.stop();

  EXPECT_EQ(seen, &pool);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Execute, takes_callables_that_only_move_and_large_ones) {
  InlineExecutor here;
  int sum = 0;
  std::array<int, 100> many{};
  many[99] = 3;

  EXPECT_TRUE(execute(here, [&sum, one = std::make_unique<int>(4)] { sum += *one; }));
  EXPECT_TRUE(execute(here, [&sum, many] { sum += many[99]; }));

  EXPECT_EQ(sum, 7);
}

TEST(Execute, says_that_the_executor_has_refused_and_lets_go_of_the_callable) {
  Refusing executor;
  auto held = std::make_shared<int>(7);
  std::vector<std::function<void()>> callables(3, [held] {});

  EXPECT_EQ(execute(executor, [held] {}).error().code(), Code::ResourceExhausted);
  EXPECT_EQ(execute_all(executor, callables).error().code(), Code::ResourceExhausted);

  callables.clear();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Execute, says_why_nothing_runs_later) {
  Refusing executor;
  auto held = std::make_shared<int>(7);

  const Error without_clock = execute_after(executor, 1_ms, [held] {}).error();
  EXPECT_EQ(without_clock.code(), Code::Unsupported);
  EXPECT_EQ(without_clock.message(),
            "the executor has no clock, so it cannot delay a job: use a ThreadPool or the loop of a worker");
  EXPECT_EQ(submit_after(executor, 1_ms, [held] {}).get().error().code(), Code::Unsupported);
  executor.with_clock = true;
  EXPECT_EQ(execute_after(executor, 1_ms, [held] {}).error().code(), Code::ResourceExhausted);
  EXPECT_EQ(submit_after(executor, 1_ms, [held] {}).get().error().code(), Code::ResourceExhausted);

  EXPECT_EQ(held.use_count(), 1);
}

TEST(Execute, later_is_refused_where_there_is_no_memory_to_remember_it) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "sanitizers refuse no memory";
  struct Nothing : Job {
    Nothing() : Job([](Job&) noexcept {}) {}
  };
  TimerWheel wheel{Instant()};
  ThreadPool pool({.queue_max = 10'000});
  SerialExecutor serial(pool, {.queue_max = 10'000});
  DelayedJobs delayed(pool, wheel);
  std::vector<Nothing> jobs(2000);
  {
    // Blocks that others have left are used up first.
    const internal::WithoutMemory none;
    std::size_t next = 0;
    while (next < 1000 && delayed.start(jobs[next], Instant::never())) ++next;
    EXPECT_LT(next, 1000u);
    EXPECT_FALSE(delayed.send(jobs[next], Instant::never()));
    EXPECT_FALSE(serial.offer_after(jobs[next], 1_h)) << "nor is it remembered here";
    EXPECT_FALSE(pool.offer_after(jobs[next], 1_h));
  }
  EXPECT_TRUE(serial.offer_after(jobs[1999], 1_h));
  pool.stop();
}

TEST(Execute, lets_go_of_a_discarded_callable_without_calling_it) {
  Keeping executor;
  auto held = std::make_shared<int>(7);
  bool ran = false;
  EXPECT_TRUE(execute(executor, [&ran, held] { ran = true; }));

  EXPECT_EQ(executor.discard_it(), 1u);

  EXPECT_FALSE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Execute, runs_a_batch_in_order) {
  InlineExecutor here;
  std::string order;
  std::vector<std::function<void()>> callables;
  for (const char c : {'a', 'b', 'c'}) callables.push_back([&order, c] { order += c; });

  EXPECT_TRUE(execute_all(here, callables));
  EXPECT_TRUE(execute_all(here, std::vector<std::function<void()>>()));

  EXPECT_EQ(order, "abc");
}

TEST(Execute, logs_and_counts_what_the_callable_throws_and_its_executor_goes_on) {
  log::Reader reader(false);
  const std::uint64_t before = unhandled_errors();
  int destroyed = 0;
  std::atomic<int> ran = 0;
  const auto throws = [held = std::shared_ptr<int>(&destroyed, [](int* count) { ++*count; })] {
    throw std::runtime_error("the disk is upside down");
  };
  ThreadPool pool({.threads = 1});
  {
    SerialExecutor serial(pool);
    InlineExecutor here;
    for (Executor* const executor :
         {static_cast<Executor*>(&here), static_cast<Executor*>(&pool), static_cast<Executor*>(&serial)}) {
      EXPECT_TRUE(execute(*executor, throws));
      EXPECT_TRUE(execute(*executor, [&ran] { ++ran; }));
    }
    EXPECT_TRUE(execute_after(pool, 1_ms, [&ran] {
      ++ran;
      throw 7;
    }));
    while (ran != 4) Host::system().sleep(1_ms);
  }
  pool.stop();

  EXPECT_EQ(unhandled_errors(), before + 4);
  int lines = 0;
  reader.drain([&](const log::Record& record) {
    if (record.component() != "unhandled") return;
    ++lines;
    EXPECT_EQ(record.level(), Level::Error);
    EXPECT_NE(record.message().find("a callable passed to execute() threw"), std::string_view::npos);
  });
  EXPECT_EQ(lines, 4);
}

// The measure of "small": 48 bytes of captures; and with a handle, captures and value together 72.
TEST(Execute, of_a_small_callable_does_not_allocate_once_it_is_warm) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "sanitizers count nothing";
  ThreadPool pool({.threads = 2, .queue_max = 10'000});
  std::atomic<std::uint64_t> sum{0};
  const std::array<std::uint64_t, 5> captured = {1, 2, 3, 4, 5};
  const auto small = [&sum, captured] { sum += captured[4]; };
  const auto counting = [&sum, captured] { return sum += captured[4]; };
  static_assert(sizeof small == 48 && sizeof counting == 48);

  // Concurrent jobs: more than below, and more than the threads keep for themselves.
  std::latch go{1};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(execute(pool, [&go] { go.wait(); }));
  std::vector<Submitted<std::uint64_t>> handles;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(execute(pool, small));
    handles.push_back(submit(pool, counting));
  }
  go.count_down();
  EXPECT_TRUE(wait_all(handles));
  handles.clear();
  ASSERT_TRUE(pool.drain(20_s));

  std::size_t executing = 0;
  std::size_t submitting = 0;
  for (int round = 0; round < 10; ++round) {
    const std::size_t before = internal::allocations();
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(execute(pool, small));
    const std::size_t between = internal::allocations();
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(submit(pool, counting).get().is_ok());
    submitting += internal::allocations() - between;
    executing += between - before;
    ASSERT_TRUE(pool.drain(20_s));
  }

  EXPECT_EQ(executing, 0u);
  EXPECT_EQ(submitting, 0u);
  EXPECT_EQ(sum, 5u * (2 * 1000 + 10 * 2 * 500));
}

}  // namespace
}  // namespace keel::call_test
