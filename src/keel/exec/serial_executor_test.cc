// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/serial_executor.h"

#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "keel/exec/call.h"
#include "keel/exec/inline_executor.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"

namespace keel {
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

TEST(SerialExecutor, does_not_end_in_its_own_job) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        InlineExecutor here;
        auto* serial = new SerialExecutor(here);
        (void)execute(*serial, [serial] { delete serial; });
      },
      "a serial executor does not end inside one of its own jobs");
}

}  // namespace
}  // namespace keel
