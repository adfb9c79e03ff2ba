#include "keel/exec/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <deque>
#include <latch>
#include <string>

namespace keel {
namespace {

struct Call : Job {
  explicit Call(Function<void()> f) : Job(&run_it), body(std::move(f)) {}
  static void run_it(Job& job) noexcept { static_cast<Call&>(job).body(); }
  Function<void()> body;
};

TEST(ThreadPool, runs_every_job_once) {
  std::atomic<int> count{0};
  std::deque<Call> jobs;
  for (int i = 0; i < 1000; ++i) jobs.emplace_back([&] { ++count; });
  ThreadPool pool({.name = "test", .threads = 3});

  for (Call& job : jobs) pool.post(job);
  pool.stop();

  EXPECT_EQ(count, 1000);
  EXPECT_EQ(pool.executed(), 1000u);
  EXPECT_EQ(pool.queued(), 0u);
  EXPECT_EQ(pool.running(), 0);
}

TEST(ThreadPool, one_thread_runs_jobs_in_the_order_they_were_posted) {
  std::string order;
  std::deque<Call> jobs;
  for (char c = 'a'; c <= 'e'; ++c) jobs.emplace_back([&order, c] { order += c; });
  ThreadPool pool({.threads = 1});

  for (Call& job : jobs) pool.post(job);
  pool.stop();

  EXPECT_EQ(order, "abcde");
}

TEST(ThreadPool, refuses_when_the_queue_is_full_and_tells_what_waits_and_runs) {
  std::latch began{1};
  std::latch go{1};
  Call blocking([&] {
    began.count_down();
    go.wait();
  });
  Call first([] {}), second([] {}), third([] {}), forced([] {});
  ThreadPool pool({.threads = 1, .queue_max = 2});

  EXPECT_TRUE(pool.try_post(blocking));
  began.wait();
  EXPECT_TRUE(pool.try_post(first));
  EXPECT_TRUE(pool.try_post(second));

  EXPECT_FALSE(pool.try_post(third));
  EXPECT_EQ(pool.refused(), 1u);
  EXPECT_EQ(pool.queue_max(), 2u);
  pool.post(forced);
  EXPECT_EQ(pool.queued(), 3u);
  EXPECT_EQ(pool.running(), 1);
  EXPECT_EQ(pool.executed(), 0u);
  go.count_down();
  pool.stop();
  EXPECT_EQ(pool.executed(), 4u);
}

TEST(ThreadPool, stopping_runs_what_waits_and_what_that_posts) {
  std::atomic<int> count{0};
  ThreadPool pool({.threads = 2});
  Call inner([&] { ++count; });
  Call outer([&] {
    pool.post(inner);
    ++count;
  });

  pool.post(outer);
  pool.stop();

  EXPECT_EQ(count, 2);
  EXPECT_FALSE(pool.try_post(inner));
}

TEST(ThreadPool, is_current_on_its_named_threads) {
  Executor* seen = nullptr;
  std::array<char, 16> thread_name{};
  Call job([&] {
    seen = Executor::current();
    pthread_getname_np(pthread_self(), thread_name.data(), thread_name.size());
  });
  ThreadPool pool({.name = "database", .threads = 1});
  pool.post(job);
  pool.stop();

  EXPECT_EQ(seen, &pool);
  EXPECT_STREQ(thread_name.data(), "database-0");
  EXPECT_EQ(Executor::current(), nullptr);
}

TEST(ThreadPool, is_not_serial) {
  ThreadPool pool({.threads = 1});
  EXPECT_FALSE(pool.is_serial());
}

}  // namespace
}  // namespace keel
