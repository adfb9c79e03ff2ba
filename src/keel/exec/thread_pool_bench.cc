// A job through a ThreadPool: nanoseconds per job to post it (`post`), and from the first post to the end of the last
// job (`run`), by number of threads; and the time from post to done of one job at a time as percentiles in ns
// (`latency`). Each round checks that every job has run once. `allocations` is per job, on the thread that posts.
//
// `work` jobs compute for about two microseconds and are all there before the first begins: what more threads gain.
// `monitored` jobs also count, set a gauge and observe a histogram.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/exec/thread_pool.h"
#include "keel/observe/metric.h"

namespace keel {
namespace {

constexpr std::size_t jobs_per_round = 2000;

struct Meters {
  metrics::Registry registry;
  metrics::Counter jobs = registry.counter("bench_jobs_total", "Jobs that were run");
  metrics::Gauge last = registry.gauge("bench_last", "Number of the job that ran last");
  metrics::Histogram size = registry.histogram("bench_size_bytes", "Size of a job", metrics::size_bytes);
};

struct Round;
struct Task : Job {
  Task(Round& in, std::uint32_t at, Run what) noexcept : Job(what), round(in), number(at) {}
  void done() noexcept;
  Round& round;
  std::uint32_t number;
  Instant ended;
};

struct Round {
  explicit Round(Job::Run what) {
    for (std::uint32_t i = 0; i < jobs_per_round; ++i) tasks.emplace_back(*this, i, what);
  }
  void begin(std::size_t jobs) noexcept { left.store(jobs, std::memory_order_relaxed); }
  void wait() noexcept {
    for (std::size_t now = left.load(std::memory_order_acquire); now != 0; now = left.load(std::memory_order_acquire)) {
      left.wait(now, std::memory_order_acquire);
    }
  }
  // Posts all and gives the time that this took.
  Duration post(ThreadPool& pool) noexcept {
    const Instant began = Host::system().now();
    for (Task& task : tasks) pool.post(task);
    return Host::system().now() - began;
  }
  std::atomic<std::size_t> left = 0;
  std::deque<Task> tasks;
  Meters* meters = nullptr;
};

void Task::done() noexcept {
  // Also when it is the last one the round outlives this call: wait() returns to its owner.
  if (round.left.fetch_sub(1, std::memory_order_acq_rel) == 1) round.left.notify_all();
}

void nothing(Job& job) noexcept { static_cast<Task&>(job).done(); }
void compute(Job& job) noexcept {
  auto& task = static_cast<Task&>(job);
  std::uint64_t value = task.number;
  for (int i = 0; i < 1500; ++i) benchmark::DoNotOptimize(value = value * 6364136223846793005 + 1442695040888963407);
  task.done();
}
void note_time(Job& job) noexcept {
  auto& task = static_cast<Task&>(job);
  task.ended = Host::system().now();
  task.done();
}
void monitored(Job& job) noexcept {
  auto& task = static_cast<Task&>(job);
  const Meters& meters = *task.round.meters;
  meters.jobs.add();
  meters.last.set(task.number);
  meters.size.observe(std::uint64_t{task.number});
  task.done();
}

ThreadPoolOptions options(const benchmark::State& state) {
  return {.name = "bench", .threads = static_cast<int>(state.range(0)), .queue_max = 10'000};
}

void check(benchmark::State& state, const ThreadPool& pool, std::uint64_t jobs) {
  if (pool.executed() != jobs) state.SkipWithError("not every job has run once");
}

void post(benchmark::State& state) {
  ThreadPool pool(options(state));
  Round round(&nothing);
  std::size_t allocations = 0;
  std::uint64_t jobs = 0;
  while (state.KeepRunningBatch(jobs_per_round)) {
    round.begin(jobs_per_round);
    const std::size_t before = internal::allocations();
    state.SetIterationTime(round.post(pool).count_seconds());
    allocations += internal::allocations() - before;
    round.wait();
    jobs += jobs_per_round;
  }
  pool.stop();
  check(state, pool, jobs);
  state.counters["allocations"] = static_cast<double>(allocations) / static_cast<double>(jobs);
}
BENCHMARK(post)->ArgName("threads")->Arg(1)->Arg(4)->UseManualTime();

// Gives the number of jobs.
std::uint64_t run_rounds(benchmark::State& state, Job::Run what, Meters* meters) {
  ThreadPool pool(options(state));
  Round round(what);
  round.meters = meters;
  std::uint64_t jobs = 0;
  while (state.KeepRunningBatch(jobs_per_round)) {
    round.begin(jobs_per_round);
    const Instant began = Host::system().now();
    round.post(pool);
    round.wait();
    state.SetIterationTime((Host::system().now() - began).count_seconds());
    jobs += jobs_per_round;
  }
  pool.stop();
  check(state, pool, jobs);
  return jobs;
}

void run(benchmark::State& state) { run_rounds(state, &nothing, nullptr); }
BENCHMARK(run)->ArgName("threads")->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Arg(16)->Arg(32)->UseManualTime();

void work(benchmark::State& state) { run_rounds(state, &compute, nullptr); }
BENCHMARK(work)->ArgName("threads")->Arg(1)->Arg(2)->Arg(4)->UseManualTime();

void run_monitored(benchmark::State& state) {
  Meters meters;
  if (run_rounds(state, &monitored, &meters) != meters.jobs.value()) state.SkipWithError("a job was not counted");
}
BENCHMARK(run_monitored)->ArgName("threads")->Arg(32)->UseManualTime();

void latency(benchmark::State& state) {
  ThreadPool pool(options(state));
  Round round(&note_time);
  std::vector<std::int64_t> took;
  Duration sum;
  for (auto _ : state) {
    for (Task& task : round.tasks) {
      round.begin(1);
      const Instant began = Host::system().now();
      pool.post(task);
      round.wait();
      const Duration one = task.ended - began;
      took.push_back(one.count_ns());
      sum = sum + one;
    }
    state.SetIterationTime(sum.count_seconds() / static_cast<double>(took.size()));
  }
  pool.stop();
  check(state, pool, took.size());
  std::sort(took.begin(), took.end());
  const auto percentile = [&](double p) {
    return static_cast<double>(took[static_cast<std::size_t>(p / 100 * static_cast<double>(took.size() - 1))]);
  };
  state.counters["p50"] = percentile(50);
  state.counters["p90"] = percentile(90);
  state.counters["p95"] = percentile(95);
  state.counters["p99"] = percentile(99);
  state.counters["p99.9"] = percentile(99.9);
  state.counters["p99.99"] = percentile(99.99);
}
BENCHMARK(latency)->ArgName("threads")->Arg(4)->UseManualTime()->Iterations(10);

}  // namespace
}  // namespace keel
