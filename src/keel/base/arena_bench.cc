// 64 bytes from an arena that is rewound after each request of 64 allocations, as a worker does it, against malloc and
// free. Nanoseconds per allocation; `allocations` are heap allocations per allocation.

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "keel/base/arena.h"
#include "keel/observe/internal/allocation_count.h"

namespace keel {
namespace {

constexpr int per_request = 64;
constexpr std::size_t bytes = 64;

void count(benchmark::State& state, std::size_t before) {
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(internal::allocations() - before), benchmark::Counter::kAvgIterations);
}

// Writes to what it got, so that the memory is really there.
void* touch(void* block) {
  *static_cast<volatile char*>(block) = 1;
  return block;
}

void arena_64_bytes(benchmark::State& state) {
  Arena arena;
  touch(arena.allocate(bytes));
  arena.rewind();
  const std::size_t before = internal::allocations();
  while (state.KeepRunningBatch(per_request)) {
    for (int i = 0; i < per_request; ++i) benchmark::DoNotOptimize(touch(arena.allocate(bytes)));
    arena.rewind();
  }
  count(state, before);
}
BENCHMARK(arena_64_bytes);

void malloc_64_bytes(benchmark::State& state) {
  void* blocks[per_request];
  const std::size_t before = internal::allocations();
  while (state.KeepRunningBatch(per_request)) {
    for (void*& block : blocks) benchmark::DoNotOptimize(block = touch(std::malloc(bytes)));
    for (void* block : blocks) std::free(block);
  }
  count(state, before);
}
BENCHMARK(malloc_64_bytes);

}  // namespace
}  // namespace keel
