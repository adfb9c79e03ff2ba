// keel/exec/internal/executor_bench.h — what the benchmarks of executors, ours and of others, measure, and how.
//
//   rate      nanoseconds of a job: one thread brings 10,000 that only count, and waits until all have run. With one
//             worker that is one producer and one worker.
//   latency   one job at a time: from before it is handed over until it runs, as percentiles in ns over all of them.

#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "keel/base/host.h"

namespace keel::internal {

inline constexpr std::size_t jobs_per_round = 10'000;

// Jobs that have not run yet; wait() returns when the last of them has.
class Count {
 public:
  void begin(std::size_t jobs) noexcept { left_.store(jobs, std::memory_order_relaxed); }
  void done() noexcept {
    ran_.store(ran_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // Exact with one worker only.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_all();
  }
  void wait() noexcept {
    for (std::size_t now = left_.load(std::memory_order_acquire); now != 0;
         now = left_.load(std::memory_order_acquire)) {
      left_.wait(now, std::memory_order_acquire);
    }
  }
  std::uint64_t ran() const noexcept { return ran_.load(std::memory_order_relaxed); }

 private:
  alignas(64) std::atomic<std::size_t> left_{0};
  std::atomic<std::uint64_t> ran_{0};
};

// `bring(count)` hands over one job that calls count.done().
template <class Bring>
void measure_rate(benchmark::State& state, Count& count, Bring bring) {
  while (state.KeepRunningBatch(jobs_per_round)) {
    count.begin(jobs_per_round);
    const Instant began = Host::system().now();
    for (std::size_t i = 0; i < jobs_per_round; ++i) bring(count);
    count.wait();
    state.SetIterationTime((Host::system().now() - began).count_seconds());
  }
}

// `bring(f)` hands over a job that calls f.
template <class Bring>
void measure_latency(benchmark::State& state, Bring bring) {
  constexpr int jobs = 2000;
  std::vector<std::int64_t> took;
  Count count;
  Instant began, ran;
  for (auto _ : state) {
    Duration sum;
    for (int i = 0; i < jobs; ++i) {
      count.begin(1);
      began = Host::system().now();
      bring([&ran, &count] {
        ran = Host::system().now();
        count.done();
      });
      count.wait();
      sum = sum + (ran - began);
      took.push_back((ran - began).count_ns());
    }
    state.SetIterationTime(sum.count_seconds() / jobs);
  }
  if (count.ran() != took.size()) state.SkipWithError("not every job has run once");
  std::sort(took.begin(), took.end());
  const auto percentile = [&](double p) {
    return static_cast<double>(took[static_cast<std::size_t>(p / 100 * static_cast<double>(took.size() - 1))]);
  };
  state.counters["p50"] = percentile(50);
  state.counters["p99"] = percentile(99);
}

}  // namespace keel::internal
