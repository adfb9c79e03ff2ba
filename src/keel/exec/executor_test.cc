#include "keel/exec/executor.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace keel::executor_test {
namespace {

// Runs nothing, but remembers the order; `discards_next` runs one as a stopped executor does.
struct Keeping final : Executor {
  void post(Job& job) noexcept override {
    EXPECT_LT(count, 3);
    jobs[count++] = &job;
  }
  std::size_t discard_first() noexcept { return discard(*jobs[0]); }
  Job* jobs[3] = {};
  int count = 0;
};
struct Nothing : Job {
  Nothing() : Job([](Job&) noexcept {}) {}
};

TEST(Executor, there_is_none_outside_jobs) { EXPECT_EQ(Executor::current(), nullptr); }

TEST(Executor, current_is_per_thread_and_set_current_returns_what_was) {
  Keeping first, second;

  EXPECT_EQ(Executor::set_current(&first), nullptr);
  EXPECT_EQ(Executor::set_current(&second), &first);
  EXPECT_EQ(Executor::current(), &second);
  std::thread([] { EXPECT_EQ(Executor::current(), nullptr); }).join();
  EXPECT_EQ(Executor::set_current(nullptr), &second);
}

TEST(Executor, is_serial_unless_it_says_otherwise) { EXPECT_TRUE(Keeping().is_serial()); }

TEST(Executor, without_a_bound_takes_everything_that_is_offered) {
  Keeping executor;
  Nothing first, second, third;
  second.next = &third;

  EXPECT_TRUE(executor.offer(first));
  EXPECT_TRUE(executor.offer_all(second, third, 2));

  ASSERT_EQ(executor.count, 3);
  EXPECT_EQ(executor.jobs[0], &first);
  EXPECT_EQ(executor.jobs[1], &second);
  EXPECT_EQ(executor.jobs[2], &third);
}

TEST(Executor, without_a_clock_takes_nothing_for_later) {
  Keeping executor;
  Nothing job;

  EXPECT_FALSE(executor.has_clock());
  EXPECT_FALSE(executor.offer_after(job, Duration()));
  EXPECT_EQ(executor.count, 0);
}

TEST(Executor, tells_a_job_that_asks_whether_it_is_discarded) {
  struct Asks : Job {
    Asks() : Job([](Job& job) noexcept { static_cast<Asks&>(job).answer = Executor::discards(); }) {}
    bool answer = false;
  } asks;
  Keeping executor;
  executor.post(asks);

  EXPECT_EQ(executor.discard_first(), 1u);
  EXPECT_TRUE(asks.answer);
  asks.run(asks);
  EXPECT_FALSE(asks.answer) << "only while it is discarded";
}

TEST(Executor, does_not_count_a_discarded_job_that_does_not_ask) {
  Keeping executor;
  Nothing job;
  executor.post(job);

  EXPECT_EQ(executor.discard_first(), 0u);
}

}  // namespace
}  // namespace keel::executor_test
