// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/internal/job_batch.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "keel/base/testing/interleaving.h"

namespace keel::internal::job_batch_test {
namespace {

struct Counted : Job {
  Counted() : Job([](Job&) noexcept {}) {}
  int taken = 0;
};

TEST(JobBatch, gives_jobs_in_their_order_to_owner_and_thief) {
  std::deque<Counted> jobs(3);
  JobBatch batch;
  EXPECT_EQ(batch.take(), nullptr);
  EXPECT_EQ(batch.steal(), nullptr);

  for (std::size_t i = 0; i < 3; ++i) batch.put(i, jobs[i]);
  batch.publish(3);

  EXPECT_EQ(batch.left(), 3u);
  EXPECT_EQ(batch.take(), &jobs[0]);
  EXPECT_EQ(batch.steal(), &jobs[1]);
  EXPECT_EQ(batch.left(), 1u);
  EXPECT_EQ(batch.take(), &jobs[2]);
  EXPECT_EQ(batch.take(), nullptr);
  EXPECT_EQ(batch.take(), nullptr);
  EXPECT_EQ(batch.steal(), nullptr);
  EXPECT_EQ(batch.left(), 0u);
}

TEST(JobBatch, gives_each_job_once_while_it_is_filled_again_and_again) {
  constexpr std::size_t fills = 2000;
  std::deque<Counted> jobs(fills * JobBatch::size_max);
  JobBatch batch;
  std::atomic<bool> ended{false};
  std::vector<std::thread> thieves;
  for (int t = 0; t < 2; ++t) {
    thieves.emplace_back([&] {
      while (!ended) {
        if (Job* const job = batch.steal()) ++static_cast<Counted*>(job)->taken;
      }
    });
  }

  for (std::size_t fill = 0; fill < fills; ++fill) {
    const std::size_t count = fill % JobBatch::size_max + 1;
    for (std::size_t i = 0; i < count; ++i) batch.put(i, jobs[fill * JobBatch::size_max + i]);
    batch.publish(count);
    while (Job* const job = batch.take()) ++static_cast<Counted*>(job)->taken;
  }
  ended = true;
  for (std::thread& thief : thieves) thief.join();

  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool was_put = i % JobBatch::size_max <= i / JobBatch::size_max % JobBatch::size_max;
    ASSERT_EQ(jobs[i].taken, was_put ? 1 : 0) << i;
  }
}

// One fill ends and another like it begins while somebody takes from it.
struct FilledAgain {
  struct Job : keel::Job {
    Job() : keel::Job([](keel::Job&) noexcept {}) {}
    interleaving::Watched<int> taken = 0;
  };
  BasicJobBatch<interleaving::Atomics, 2> batch;
  std::array<Job, 4> jobs;

  static bool count(keel::Job* job) {
    if (job == nullptr) return false;
    auto& taken = static_cast<Job*>(job)->taken;
    taken = taken + 1;
    return true;
  }
  void fill() {
    batch.put(0, jobs[0]);
    batch.put(1, jobs[1]);
    batch.publish(2);
    while (count(batch.take())) {
    }
    batch.put(0, jobs[2]);
    batch.put(1, jobs[3]);
    batch.publish(2);
    while (count(batch.take())) {
    }
  }
  void steal() { count(batch.steal()); }
  void check() {
    for (const Job& job : jobs) interleaving::require(job.taken == 1, "each job is given once");
  }
};

TEST(JobBatch, gives_each_job_once_in_every_order_of_operations) {
  for (const int stale_loads : {0, 2}) {
    const auto verdict =
        interleaving::explore<FilledAgain>({&FilledAgain::fill, &FilledAgain::steal}, {.stale_loads = stale_loads});
    EXPECT_EQ(verdict.failure, "");
    EXPECT_GT(verdict.schedules, 10u);
  }
  // The claim, which is its first atomic, is what hands the jobs over.
  const auto failure = [](const interleaving::Options& options) {
    return interleaving::explore<FilledAgain>({&FilledAgain::fill, &FilledAgain::steal}, options).failure;
  };
  EXPECT_NE(failure({.stale_loads = 1, .weak_loads_of = 0}), "");
  EXPECT_NE(failure({.stale_loads = 1, .weak_stores_of = 0}), "");
}

}  // namespace
}  // namespace keel::internal::job_batch_test
