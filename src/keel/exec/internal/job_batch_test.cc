// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/internal/job_batch.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace keel::internal {
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

// Runs two programs again and again, until every order of their atomic operations has been seen (one after the other:
// what processors may reorder is ThreadSanitizer's).
class EveryOrder {
 public:
  using Programs = std::array<std::function<void()>, 2>;

  // `make` gives fresh programs; `check` is asked after each run. How many orders there were.
  int explore(const std::function<Programs()>& make, const std::function<void()>& check) {
    int orders = 0;
    std::vector<Choice> choices;
    do {
      run(make(), choices);
      check();
      ++orders;
      while (!choices.empty() && !(choices.back().taken == 0 && choices.back().has_other)) choices.pop_back();
      if (!choices.empty()) choices.back().taken = 1;
    } while (!choices.empty());
    return orders;
  }

  // Before each operation.
  static void step() {
    if (running_ == nullptr) return;
    EveryOrder& order = *running_;
    std::unique_lock lock(order.mutex_);
    order.waits_[self_] = true;
    order.changed_.notify_all();
    order.changed_.wait(lock, [&] { return order.turn_ == static_cast<int>(self_); });
    order.turn_ = -1;
    order.waits_[self_] = false;
  }

 private:
  struct Choice {
    std::size_t taken;
    bool has_other;  // Both could have been next.
  };

  void run(const Programs& programs, std::vector<Choice>& choices) {
    waits_ = ended_ = {};
    turn_ = -1;
    std::array<std::thread, 2> threads;
    for (std::size_t i = 0; i < 2; ++i) {
      threads[i] = std::thread([this, i, &programs] {
        running_ = this;
        self_ = i;
        programs[i]();
        running_ = nullptr;
        const std::lock_guard lock(mutex_);
        ended_[i] = true;
        changed_.notify_all();
      });
    }
    {
      std::unique_lock lock(mutex_);
      for (std::size_t depth = 0;; ++depth) {
        changed_.wait(lock, [&] { return turn_ == -1 && (waits_[0] || ended_[0]) && (waits_[1] || ended_[1]); });
        if (ended_[0] && ended_[1]) break;
        if (depth == choices.size()) choices.push_back({ended_[0] ? 1u : 0u, !ended_[0] && !ended_[1]});
        turn_ = static_cast<int>(choices[depth].taken);
        changed_.notify_all();
      }
    }
    for (std::thread& thread : threads) thread.join();
  }

  static inline thread_local EveryOrder* running_ = nullptr;
  static inline thread_local std::size_t self_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<bool, 2> waits_{};
  std::array<bool, 2> ended_{};
  int turn_ = -1;
};

template <class T>
class Stepped {
 public:
  Stepped() = default;
  Stepped(T value) : value_(value) {}
  T load(std::memory_order) const {
    EveryOrder::step();
    return value_.load();
  }
  void store(T value, std::memory_order) {
    EveryOrder::step();
    value_.store(value);
  }
  T fetch_add(T by, std::memory_order) {
    EveryOrder::step();
    return value_.fetch_add(by);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order) {
    EveryOrder::step();
    return value_.compare_exchange_strong(expected, desired);
  }

 private:
  std::atomic<T> value_{};
};

TEST(JobBatch, gives_each_job_once_in_every_order_of_operations) {
  std::deque<Counted> jobs;
  std::unique_ptr<BasicJobBatch<Stepped>> batch;
  const auto count = [](Job* job) {
    if (job != nullptr) ++static_cast<Counted*>(job)->taken;
    return job != nullptr;
  };
  const auto make = [&]() -> EveryOrder::Programs {
    jobs.clear();
    jobs.resize(3);
    batch = std::make_unique<BasicJobBatch<Stepped>>();
    const auto fills = [&] {
      batch->put(0, jobs[0]);
      batch->put(1, jobs[1]);
      batch->publish(2);
      while (count(batch->take())) {
      }
      batch->put(0, jobs[2]);
      batch->publish(1);
      while (count(batch->take())) {
      }
    };
    return {fills, [&] { count(batch->steal()); }};
  };

  const int orders = EveryOrder().explore(make, [&] {
    for (const Counted& job : jobs) ASSERT_EQ(job.taken, 1);
  });

  EXPECT_GT(orders, 100);
}

}  // namespace
}  // namespace keel::internal
