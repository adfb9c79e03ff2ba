// Nanoseconds per await and per task begun from plain code, frames from the pool.
#include <benchmark/benchmark.h>

#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel {
namespace {

Task<int> at_once() { co_return 1; }
Task<int> through(int depth) {
  if (depth == 0) co_return 1;
  co_return co_await through(depth - 1);
}
Task<int> failing() { co_return fail(Code::NotFound, "absent"); }
Result<int> plain() { return 1; }

struct Park : Leaf {
  using Value = int;
  explicit Park(Park*& where) noexcept : slot(where) {}
  bool start() noexcept {
    slot = this;
    return false;
  }
  Result<int> take() noexcept { return 1; }
  void complete() noexcept { wake(); }
  Park*& slot;
};

constexpr long per_round = 1000;

template <class Body>
void run_rounds(benchmark::State& state, Body body) {
  Start<long> start;
  for (auto _ : state) {
    if (!start.begin(body(), [](StartCore&) noexcept {})) state.SkipWithError("it waits");
    benchmark::DoNotOptimize(start.take().value());
  }
  state.SetItemsProcessed(state.iterations() * per_round);
}

Task<long> awaits_at_once() {
  long sum = 0;
  for (long i = 0; i < per_round; ++i) sum += co_await at_once();
  co_return sum;
}
void await_task_that_ends_at_once(benchmark::State& state) { run_rounds(state, &awaits_at_once); }
BENCHMARK(await_task_that_ends_at_once);

Task<long> awaits_errors() {
  long sum = 0;
  for (long i = 0; i < per_round; ++i) sum += (co_await attempt(failing())).has_value() ? 0 : 1;
  co_return sum;
}
void attempt_task_that_fails_at_once(benchmark::State& state) { run_rounds(state, &awaits_errors); }
BENCHMARK(attempt_task_that_fails_at_once);

Task<long> awaits_results() {
  long sum = 0;
  for (long i = 0; i < per_round; ++i) sum += co_await plain();
  co_return sum;
}
void await_result(benchmark::State& state) { run_rounds(state, &awaits_results); }
BENCHMARK(await_result);

void begin_task_that_ends_at_once(benchmark::State& state) {
  Start<int> start;
  for (auto _ : state) {
    if (!start.begin(at_once(), [](StartCore&) noexcept {})) state.SkipWithError("it waits");
    benchmark::DoNotOptimize(start.take().value());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(begin_task_that_ends_at_once);

// One round: an operation suspends the innermost of `depth` awaits and wakes it.
Task<int> parks(Park*& slot, int depth) {
  if (depth <= 1) co_return co_await Park(slot);
  co_return co_await parks(slot, depth - 1);
}
void suspend_and_wake(benchmark::State& state) {
  const int depth = static_cast<int>(state.range(0));
  Park* slot = nullptr;
  Start<int> start;
  for (auto _ : state) {
    if (start.begin(parks(slot, depth), [](StartCore&) noexcept {})) state.SkipWithError("it does not wait");
    slot->complete();
    benchmark::DoNotOptimize(start.take().value());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(suspend_and_wake)->Arg(1)->Arg(4);

void await_ten_deep(benchmark::State& state) {
  Start<int> start;
  for (auto _ : state) {
    if (!start.begin(through(10), [](StartCore&) noexcept {})) state.SkipWithError("it waits");
    benchmark::DoNotOptimize(start.take().value());
  }
  state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(await_ten_deep);

}  // namespace
}  // namespace keel
