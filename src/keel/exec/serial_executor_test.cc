// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/serial_executor.h"

#include <gtest/gtest.h>

#include <deque>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/host.h"
#include "keel/exec/call.h"
#include "keel/exec/inline_executor.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"

namespace keel::serial_executor_test {
namespace {

TEST(SerialExecutor, runs_one_job_at_a_time_for_many_threads) {
  ThreadPool pool({.threads = 3});
  int count = 0;  // Without a lock, which is the point.
  {
    SerialExecutor serial(pool, {.queue_max = 10'000});
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) EXPECT_TRUE(execute(serial, [&count] { ++count; }));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(count, 3000) << "its end waits for what was posted";
}

TEST(SerialExecutor, keeps_the_order_of_posting_over_several_turns) {
  ThreadPool pool({.threads = 3});
  std::vector<int> order;
  {
    SerialExecutor serial(pool);
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(execute(serial, [&order, i] { order.push_back(i); }));
  }
  ASSERT_EQ(order.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(SerialExecutor, lets_others_have_the_thread_after_64_jobs) {
  ThreadPool pool({.threads = 1});
  std::string order;
  std::latch go{1};
  {
    SerialExecutor first(pool), second(pool);
    EXPECT_TRUE(execute(pool, [&] { go.wait(); }));
    for (int i = 0; i < 65; ++i) EXPECT_TRUE(execute(first, [&] { order += 'a'; }));
    EXPECT_TRUE(execute(second, [&] { order += 'b'; }));
    go.count_down();
  }
  EXPECT_EQ(order, std::string(64, 'a') + "ba");
}

TEST(SerialExecutor, is_current_in_its_jobs_and_serial) {
  ThreadPool pool({.threads = 1});
  SerialExecutor serial(pool);

  EXPECT_TRUE(serial.is_serial());
  EXPECT_EQ(submit(serial, [] { return Executor::current(); }).get().value(), &serial);
  EXPECT_EQ(submit(pool, [] { return Executor::current(); }).get().value(), &pool);
}

TEST(SerialExecutor, refuses_an_offer_when_too_many_wait_and_never_a_post) {
  std::latch began{1}, go{1};
  std::string order;
  ThreadPool pool({.threads = 1});
  SerialExecutor serial(pool, {.queue_max = 2});
  EXPECT_TRUE(execute(serial, [&] {
    began.count_down();
    go.wait();
  }));
  began.wait();

  EXPECT_TRUE(execute(serial, [&] { order += 'a'; }));
  EXPECT_EQ(execute_all(serial, std::vector<Function<void()>>(2)).error().code(), Code::ResourceExhausted);
  EXPECT_TRUE(execute(serial, [&] { order += 'b'; }));
  EXPECT_EQ(serial.queued(), 2u);
  EXPECT_EQ(execute(serial, [&] { order += 'c'; }).error().code(), Code::ResourceExhausted);
  struct Note : Job {
    explicit Note(std::string& s) : Job([](Job& job) noexcept { static_cast<Note&>(job).text += 'd'; }), text(s) {}
    std::string& text;
  } posted(order);
  serial.post(posted);
  EXPECT_EQ(serial.queued(), 3u);

  go.count_down();
  EXPECT_TRUE(submit(pool, [] {}).get());
  while (serial.queued() != 0) std::this_thread::yield();
  EXPECT_EQ(submit(serial, [&] { return order; }).get().value(), "abd");
}

TEST(SerialExecutor, runs_over_an_executor_that_runs_at_once) {
  InlineExecutor here;
  SerialExecutor serial(here);
  std::string order;

  EXPECT_TRUE(execute(serial, [&] {
    EXPECT_TRUE(execute(serial, [&] { order += 'b'; }));
    order += 'a';
  }));

  EXPECT_EQ(order, "ab");
}

TEST(SerialExecutor, runs_delayed_jobs_one_at_a_time_and_not_before_their_time) {
  ThreadPool pool({.threads = 3});
  SerialExecutor serial(pool);
  Executor& executor = serial;
  int count = 0;  // Without a lock.
  const Instant began = Host::system().now();
  std::vector<Submitted<Duration>> ran;
  for (int i = 0; i < 100; ++i) {
    ran.push_back(submit_after(executor, 5_ms, [&] {
      EXPECT_EQ(Executor::current(), &serial);
      ++count;
      return Host::system().now() - began;
    }));
    EXPECT_TRUE(execute_after(executor, 5_ms, [&count] { ++count; }));
    EXPECT_TRUE(execute(executor, [&count] { ++count; }));
  }

  for (auto& after : ran) EXPECT_GE(after.get().value(), 5_ms);
  EXPECT_TRUE(submit_after(executor, Duration(), [] {}).get());
  while (submit(serial, [&count] { return count; }).get().value() < 300) std::this_thread::yield();
}

TEST(SerialExecutor, refuses_delayed_jobs_when_too_many_wait_for_their_time_or_below_there_is_no_clock) {
  ThreadPool pool({.threads = 1});
  SerialExecutor serial(pool, {.queue_max = 2});
  auto first = submit_after(serial, 1_h, [] {});
  auto second = submit_after(serial, 1_h, [] {});

  EXPECT_EQ(submit_after(serial, 1_h, [] {}).get().error().code(), Code::ResourceExhausted);
  EXPECT_EQ(execute_after(serial, 1_h, [] {}).error().code(), Code::ResourceExhausted);

  ThreadPool narrow({.threads = 1, .queue_max = 1});
  SerialExecutor above(narrow);
  auto only = submit_after(above, 1_h, [] {});
  EXPECT_EQ(execute_after(above, 1_h, [] {}).error().code(), Code::ResourceExhausted);
  narrow.stop();
  EXPECT_EQ(execute_after(above, 1_h, [] {}).error().code(), Code::ResourceExhausted);

  InlineExecutor here;
  SerialExecutor timeless(here);
  EXPECT_EQ(execute_after(timeless, Duration(), [] {}).error().code(), Code::Unsupported);
}

TEST(SerialExecutor, discards_at_its_end_what_is_not_due) {
  ThreadPool pool({.threads = 2});
  auto held = std::make_shared<int>(7);
  bool ran = false;
  Submitted<> later;
  {
    SerialExecutor serial(pool);
    later = submit_after(serial, 1_h, [&ran] { ran = true; });
    EXPECT_TRUE(execute_after(serial, 1_h, [&ran, held] { ran = true; }));
  }

  EXPECT_TRUE(later.is_done());
  EXPECT_EQ(later.get().error().code(), Code::Cancelled);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(pool.stop(), 0u) << "what is left below is nobody's job";
  EXPECT_FALSE(ran);
}

TEST(SerialExecutor, discards_what_is_not_due_when_the_pool_below_is_stopped) {
  ThreadPool pool({.threads = 2});
  SerialExecutor serial(pool);
  bool ran = false;
  std::string order;
  struct Note : Job {
    explicit Note(std::string& s) : Job([](Job& job) noexcept { static_cast<Note&>(job).text += 'a'; }), text(s) {}
    std::string& text;
  } posted(order);
  auto later = submit_after(serial, 1_h, [&ran] { ran = true; });
  EXPECT_TRUE(serial.offer_after(posted, 1_h));

  EXPECT_EQ(pool.stop(), 2u);

  EXPECT_EQ(later.get().error().code(), Code::Cancelled);
  EXPECT_EQ(order, "a") << "one that does not ask runs";
  EXPECT_FALSE(ran);
}

// One at a time also then: without a lock, for ThreadSanitizer.
TEST(SerialExecutor, ends_or_loses_its_pool_while_times_come) {
  for (const bool stops_pool : {false, true}) {
    for (int round = 0; round < 20; ++round) {
      ThreadPool pool({.threads = 2});
      int count = 0;
      struct Counting : Job {
        explicit Counting(int& n) : Job([](Job& job) noexcept { ++static_cast<Counting&>(job).count; }), count(n) {}
        int& count;
      };
      std::deque<Counting> jobs;
      int taken = 0;
      {
        SerialExecutor serial(pool);
        for (int i = 0; i < 200; ++i) {
          taken += serial.offer_after(jobs.emplace_back(count), 10_us * i) ? 1 : 0;
          if (i % 4 == 0) taken += execute(serial, [&count] { ++count; }) ? 1 : 0;
        }
        if (stops_pool) pool.stop();
      }
      EXPECT_EQ(count, taken) << "none asks whether it is discarded";
    }
  }
}

TEST(SerialExecutor, does_not_end_in_its_own_job) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        InlineExecutor here;
        auto* serial = new SerialExecutor(here);
        (void)execute(*serial, [serial] { delete serial; });
      },
      "a serial executor must not be destroyed inside one of its own jobs");
}

}  // namespace
}  // namespace keel::serial_executor_test
