// The same work as call_bench.cc for std::async, which makes a thread for each job, and for the pools of Boost.Asio and
// oneTBB, where they were there when the benchmarks were configured: each in its usual way for jobs that nobody waits
// for.

#include <benchmark/benchmark.h>

#include <future>
#include <vector>

#include "keel/exec/internal/executor_bench.h"

#ifdef KEEL_BENCH_ASIO
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#endif
#ifdef KEEL_BENCH_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#endif

namespace keel {
namespace {

using internal::Count;

[[maybe_unused]] void check(benchmark::State& state, const Count& count) {
  if (count.ran() != static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("not every job has run once");
}

// Rounds of jobs; `until_all_ran`: the time until they have, or that of the calls alone. A future's destructor waits.
void measure_async(benchmark::State& state, bool until_all_ran) {
  std::atomic<std::uint64_t> ran = 0;
  std::uint64_t jobs = 0;
  std::vector<std::future<void>> waiting(internal::jobs_per_round);
  while (state.KeepRunningBatch(internal::jobs_per_round)) {
    const Instant began = Host::system().now();
    for (auto& one : waiting) {
      one = std::async(std::launch::async, [&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    }
    const Duration brought = Host::system().now() - began;
    for (auto& one : waiting) one.get();
    state.SetIterationTime((until_all_ran ? Host::system().now() - began : brought).count_seconds());
    jobs += internal::jobs_per_round;
  }
  if (ran != jobs) state.SkipWithError("not every job has run once");
}
void async_post(benchmark::State& state) { measure_async(state, false); }
BENCHMARK(async_post)->UseManualTime();
void async_rate(benchmark::State& state) { measure_async(state, true); }
BENCHMARK(async_rate)->UseManualTime();

#ifdef KEEL_BENCH_ASIO

void asio_rate(benchmark::State& state) {
  boost::asio::thread_pool pool(static_cast<std::size_t>(state.range(0)));
  Count count;
  internal::measure_rate(state, count, [&](Count& c) { boost::asio::post(pool, [&c] { c.done(); }); });
  pool.join();
  if (state.range(0) == 1) check(state, count);
}
BENCHMARK(asio_rate)->ArgName("threads")->Arg(1)->Arg(2)->Arg(4)->UseManualTime();

void asio_latency(benchmark::State& state) {
  boost::asio::thread_pool pool(static_cast<std::size_t>(state.range(0)));
  internal::measure_latency(state, [&](auto f) { boost::asio::post(pool, f); });
  pool.join();
}
BENCHMARK(asio_latency)->ArgName("threads")->Arg(1)->UseManualTime()->Iterations(10);

#endif
#ifdef KEEL_BENCH_TBB

// An arena without a place for the thread that brings the work.
struct Arena {
  explicit Arena(const benchmark::State& state)
      : control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(state.range(0)) + 1),
        arena(static_cast<int>(state.range(0)), 0) {}
  tbb::global_control control;
  tbb::task_arena arena;
};

void tbb_rate(benchmark::State& state) {
  Arena own(state);
  Count count;
  internal::measure_rate(state, count, [&](Count& c) { own.arena.enqueue([&c] { c.done(); }); });
  if (state.range(0) == 1) check(state, count);
}
BENCHMARK(tbb_rate)->ArgName("threads")->Arg(1)->Arg(2)->Arg(4)->UseManualTime();

// Spawned and stolen instead: the thread that brings the work keeps it, another one steals it, and whoever waits helps.
void tbb_group_rate(benchmark::State& state) {
  tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                              static_cast<std::size_t>(state.range(0)) + 1);
  tbb::task_group group;
  std::atomic<std::size_t> left = 0;
  while (state.KeepRunningBatch(internal::jobs_per_round)) {
    left.store(internal::jobs_per_round, std::memory_order_relaxed);
    const Instant began = Host::system().now();
    for (std::size_t i = 0; i < internal::jobs_per_round; ++i) {
      group.run([&left] { left.fetch_sub(1, std::memory_order_relaxed); });
    }
    group.wait();
    state.SetIterationTime((Host::system().now() - began).count_seconds());
    if (left.load(std::memory_order_relaxed) != 0) state.SkipWithError("not every job has run once");
  }
}
BENCHMARK(tbb_group_rate)->ArgName("threads")->Arg(1)->UseManualTime();

void tbb_latency(benchmark::State& state) {
  Arena own(state);
  internal::measure_latency(state, [&](auto f) { own.arena.enqueue(f); });
}
BENCHMARK(tbb_latency)->ArgName("threads")->Arg(1)->UseManualTime()->Iterations(10);

#endif

}  // namespace
}  // namespace keel
