// A queue of at most 64 numbers, filled and emptied: a ring against std::deque. Nanoseconds for one number in and out.

#include "keel/base/circular_buffer.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <deque>

namespace keel {
namespace {

constexpr std::uint64_t waiting_max = 64;

struct Ring {
  bool push(std::uint64_t value) { return values.try_push(value); }
  std::uint64_t pop() { return values.pop_front(); }
  CircularBuffer<std::uint64_t> values{waiting_max};
};
struct Deque {
  bool push(std::uint64_t value) {
    if (values.size() == waiting_max) return false;
    values.push_back(value);
    return true;
  }
  std::uint64_t pop() {
    const std::uint64_t value = values.front();
    values.pop_front();
    return value;
  }
  std::deque<std::uint64_t> values;
};

template <class Queue>
void fill_and_empty(benchmark::State& state) {
  Queue queue;
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  while (state.KeepRunningBatch(waiting_max)) {
    benchmark::DoNotOptimize(queue);
    while (queue.push(in)) ++in;
    for (std::uint64_t i = 0; i < waiting_max; ++i) out += queue.pop();
  }
  if (out != in * (in - 1) / 2) state.SkipWithError("a number was lost");
}
BENCHMARK(fill_and_empty<Ring>)->Name("queue/ring");
BENCHMARK(fill_and_empty<Deque>)->Name("queue/deque");

// The last 64 of many.
void overwrite(benchmark::State& state) {
  CircularBuffer<std::uint64_t> last(waiting_max);
  std::uint64_t number = 0;
  for (auto _ : state) {
    last.push_overwriting(++number);
    benchmark::DoNotOptimize(last);
  }
  if (last.back() != number) state.SkipWithError("the last number was lost");
}
BENCHMARK(overwrite)->Name("queue/overwriting_ring");

}  // namespace
}  // namespace keel
