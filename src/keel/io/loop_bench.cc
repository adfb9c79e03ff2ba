// Jobs that go to and fro between two workers: nanoseconds and system calls per hop, by engine and by how many jobs are
// under way at the same time. On one core with taskset -c 0, on two without.
#include <benchmark/benchmark.h>

#include <atomic>
#include <deque>

#include "keel/io/runtime.h"

namespace keel::io {
namespace {

constexpr long hops_per_round = 2000;

struct Ball : Job {
  Ball(Loop& a, Loop& b) noexcept : Job(&hop), ends{&a, &b} {}
  static void hop(Job& job) noexcept {
    auto& self = static_cast<Ball&>(job);
    if (--self.left == 0) {
      self.in_play->fetch_sub(1, std::memory_order_release);
      self.in_play->notify_one();
      return;
    }
    self.at = 1 - self.at;
    self.ends[self.at]->post(self);
  }
  Loop* ends[2];
  int at = 0;
  long left = 0;
  std::atomic<long>* in_play = nullptr;
};

std::uint64_t system_calls(Runtime& runtime) {
  std::uint64_t count = 0;
  runtime.each([&](Loop& loop) { count += loop.engine().system_calls(); });
  return count;
}

void post_between_workers(benchmark::State& state, EngineKind kind) {
  std::atomic<long> in_play{0};  // Both outlive the workers.
  std::deque<Ball> balls;
  auto runtime = Runtime::make({.workers = 2, .engine = kind, .pin = true});
  if (!runtime || !(*runtime)->start()) {
    state.SkipWithError("the engine is not to be had");
    return;
  }
  for (long i = 0; i < state.range(0); ++i) balls.emplace_back((*runtime)->loop(0), (*runtime)->loop(1));
  const std::uint64_t before = system_calls(**runtime);
  for (auto _ : state) {
    in_play = state.range(0);
    for (Ball& ball : balls) {
      ball.left = hops_per_round;
      ball.at = 0;
      ball.in_play = &in_play;
      ball.ends[0]->post(ball);
    }
    for (long left = in_play; left != 0; left = in_play) in_play.wait(left);
  }
  const long hops = state.iterations() * hops_per_round * state.range(0);
  state.SetItemsProcessed(hops);
  state.counters["calls_per_hop"] = static_cast<double>(system_calls(**runtime) - before) / static_cast<double>(hops);
}
BENCHMARK_CAPTURE(post_between_workers, uring, EngineKind::Uring)
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->UseRealTime()
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(post_between_workers, epoll, EngineKind::Epoll)
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace keel::io
