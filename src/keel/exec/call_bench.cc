// Callables on executors: nanoseconds of a call of execute() or submit() (`…_post`), with its allocations on the
// calling thread; of a job from the first call to the end of the last (`…_rate`); and from the call until it runs
// (`latency`). What these measure, and how: internal/executor_bench.h. Others do the same in pool_peers_bench.cc. Each
// round checks that every callable has run once.

#include "keel/exec/call.h"

#include <benchmark/benchmark.h>

#include <atomic>
#include <functional>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/exec/inline_executor.h"
#include "keel/exec/internal/executor_bench.h"
#include "keel/exec/serial_executor.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"

namespace keel {
namespace {

using internal::Count;
using internal::jobs_per_round;

constexpr std::size_t queue_max = 1'000'000;

ThreadPoolOptions fixed(const benchmark::State& state) {
  return {.name = "bench", .threads = static_cast<int>(state.range(0)), .queue_max = queue_max};
}
ThreadPoolOptions elastic(const benchmark::State& state) {
  return {.name = "bench", .threads = 1, .threads_max = static_cast<int>(state.range(0)), .queue_max = queue_max};
}

void finish(benchmark::State& state, ThreadPool& pool, std::uint64_t jobs) {
  pool.stop();
  if (pool.executed() != jobs) state.SkipWithError("not every job has run once");
}

// A round of jobs that all wait at the same time, for every thread is held, and some more, for what threads keep back:
// later ones find the memory for theirs. Gives how many have run.
template <class Bring>
std::uint64_t fill(benchmark::State& state, ThreadPool& pool, Count& count, Bring& bring) {
  const auto held = static_cast<std::size_t>(state.range(0));
  constexpr std::size_t kept_back = 1000;
  const std::size_t jobs = held + kept_back + jobs_per_round;
  std::atomic<bool> is_open = false;
  count.begin(jobs);
  const auto wait = [&] {
    is_open.wait(false);
    count.done();
  };
  for (std::size_t i = 0; i < held + kept_back; ++i) {
    if (!execute(pool, wait)) state.SkipWithError("refused");
  }
  bring(pool, count);
  is_open = true;
  is_open.notify_all();
  count.wait();
  return jobs;
}

// `bring(pool, count)` hands over a round of jobs; the time of that alone.
template <class Bring>
void measure_post(benchmark::State& state, ThreadPoolOptions options, Bring bring) {
  ThreadPool pool(std::move(options));
  Count count;
  std::size_t allocations = 0;
  std::uint64_t jobs = fill(state, pool, count, bring);
  while (state.KeepRunningBatch(jobs_per_round)) {
    count.begin(jobs_per_round);
    const std::size_t before = internal::allocations();
    const Instant began = Host::system().now();
    bring(pool, count);
    state.SetIterationTime((Host::system().now() - began).count_seconds());
    allocations += internal::allocations() - before;
    count.wait();
    jobs += jobs_per_round;
  }
  finish(state, pool, jobs);
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(allocations), benchmark::Counter::kAvgIterations);
}

void execute_each(ThreadPool& pool, Count& count) {
  for (std::size_t i = 0; i < jobs_per_round; ++i) {
    if (!execute(pool, [&count] { count.done(); })) return;
  }
}
// The handles are destroyed immediately: nobody looks for the results.
void submit_each(std::vector<Submitted<>>& handles, ThreadPool& pool, Count& count) {
  for (std::size_t i = 0; i < jobs_per_round; ++i) handles[i] = submit(pool, [&count] { count.done(); });
}

void execute_post(benchmark::State& state) { measure_post(state, fixed(state), &execute_each); }
BENCHMARK(execute_post)->ArgName("threads")->Arg(1)->Arg(4)->UseManualTime();
void execute_post_elastic(benchmark::State& state) { measure_post(state, elastic(state), &execute_each); }
BENCHMARK(execute_post_elastic)->ArgName("threads_max")->Arg(4)->UseManualTime();

void submit_post(benchmark::State& state) {
  std::vector<Submitted<>> handles(jobs_per_round);
  measure_post(state, fixed(state), [&](ThreadPool& pool, Count& count) { submit_each(handles, pool, count); });
}
BENCHMARK(submit_post)->ArgName("threads")->Arg(1)->Arg(4)->UseManualTime();
void submit_post_elastic(benchmark::State& state) {
  std::vector<Submitted<>> handles(jobs_per_round);
  measure_post(state, elastic(state), [&](ThreadPool& pool, Count& count) { submit_each(handles, pool, count); });
}
BENCHMARK(submit_post_elastic)->ArgName("threads_max")->Arg(4)->UseManualTime();

// A hundred in one call: one lock and one wake-up for all of them.
void execute_all_post(benchmark::State& state) {
  constexpr std::size_t at_once = 100;
  struct Done {
    Count* count;
    void operator()() const { count->done(); }
  };
  measure_post(state, fixed(state), [&](ThreadPool& pool, Count& count) {
    const std::vector<Done> callables(at_once, Done{&count});
    for (std::size_t i = 0; i < jobs_per_round; i += at_once) {
      if (!execute_all(pool, callables)) return;
    }
  });
}
BENCHMARK(execute_all_post)->ArgName("threads")->Arg(1)->Arg(4)->UseManualTime();

void measure_pool_rate(benchmark::State& state, ThreadPoolOptions options) {
  ThreadPool pool(std::move(options));
  Count count;
  std::uint64_t jobs = 0;
  internal::measure_rate(state, count, [&](Count& c) {
    if (execute(pool, [&c] { c.done(); })) ++jobs;
  });
  finish(state, pool, jobs);
}
void execute_rate(benchmark::State& state) { measure_pool_rate(state, fixed(state)); }
BENCHMARK(execute_rate)->ArgName("threads")->Arg(1)->Arg(2)->Arg(4)->UseManualTime();
void execute_rate_elastic(benchmark::State& state) { measure_pool_rate(state, elastic(state)); }
BENCHMARK(execute_rate_elastic)->ArgName("threads_max")->Arg(4)->UseManualTime();

void submit_rate(benchmark::State& state) {
  ThreadPool pool(fixed(state));
  Count count;
  std::uint64_t jobs = 0;
  std::vector<Submitted<>> handles(jobs_per_round);
  internal::measure_rate(state, count,
                         [&](Count& c) { handles[jobs++ % jobs_per_round] = submit(pool, [&c] { c.done(); }); });
  finish(state, pool, jobs);
}
BENCHMARK(submit_rate)->ArgName("threads")->Arg(1)->Arg(4)->UseManualTime();

void serial_rate(benchmark::State& state) {
  ThreadPool pool(fixed(state));
  Count count;
  SerialExecutor serial(pool, {.queue_max = queue_max});
  internal::measure_rate(state, count, [&](Count& c) {
    if (!execute(serial, [&c] { c.done(); })) state.SkipWithError("refused");
  });
  if (count.ran() != static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("not every job has run once");
}
BENCHMARK(serial_rate)->ArgName("threads")->Arg(1)->UseManualTime();

void latency(benchmark::State& state) {
  ThreadPool pool(fixed(state));
  internal::measure_latency(state, [&](auto f) {
    if (!execute(pool, f)) state.SkipWithError("refused");
  });
}
BENCHMARK(latency)->ArgName("threads")->Arg(1)->UseManualTime()->Iterations(10);

void execute_inline(benchmark::State& state) {
  InlineExecutor here;
  std::uint64_t ran = 0;
  for (auto _ : state) {
    auto taken = execute(here, [&ran] { ++ran; });
    benchmark::DoNotOptimize(taken);
  }
  if (ran != static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("not every job has run once");
}
BENCHMARK(execute_inline);

void submit_inline(benchmark::State& state) {
  InlineExecutor here;
  std::uint64_t ran = 0;
  for (auto _ : state) {
    auto result = submit(here, [&ran] { return ++ran; }).get();
    benchmark::DoNotOptimize(result);
  }
  if (ran != static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("not every job has run once");
}
BENCHMARK(submit_inline);

}  // namespace
}  // namespace keel
