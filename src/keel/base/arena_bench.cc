// 64 bytes from an arena that is rewound after each request of 64 allocations, as a worker does it, against malloc and
// free and against the standard's memory resources, which are called as containers call them. Nanoseconds per
// allocation; `allocations` are heap allocations per allocation. `latency` takes the time of each of the arena apart,
// as percentiles in ns; what the clock itself takes is part of it, and `clock` is the median of that.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/arena_resource.h"
#include "keel/base/host.h"
#include "keel/base/testing/allocation_count.h"

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
  if (arena.statistics().high_water < bytes * per_request) state.SkipWithError("less was allocated than asked for");
}
BENCHMARK(arena_64_bytes);

void arena_latency(benchmark::State& state) {
  Arena arena;
  std::vector<std::int64_t> took, clock;
  took.reserve(static_cast<std::size_t>(state.max_iterations));
  clock.reserve(took.capacity());
  int allocated = 0;
  for (auto _ : state) {
    const Instant before = Host::system().now();
    const Instant began = Host::system().now();
    benchmark::DoNotOptimize(touch(arena.allocate(bytes)));
    took.push_back((Host::system().now() - began).count_ns());
    clock.push_back((began - before).count_ns());
    if (++allocated % per_request == 0) arena.rewind();
  }
  const auto percentile = [](std::vector<std::int64_t>& of, double p) {
    const auto at = of.begin() + static_cast<std::ptrdiff_t>(p / 100 * static_cast<double>(of.size() - 1));
    std::nth_element(of.begin(), at, of.end());
    return static_cast<double>(*at);
  };
  state.counters["p50"] = percentile(took, 50);
  state.counters["p99"] = percentile(took, 99);
  state.counters["p99.9"] = percentile(took, 99.9);
  state.counters["clock"] = percentile(clock, 50);
}
BENCHMARK(arena_latency)->Iterations(100'000);

// Scratch memory: four allocations, then back to where it was.
void arena_mark_and_rewind(benchmark::State& state) {
  Arena arena;
  touch(arena.allocate(bytes));
  const std::size_t before = internal::allocations();
  while (state.KeepRunningBatch(4)) {
    const Arena::Mark mark = arena.mark();
    for (int i = 0; i < 4; ++i) benchmark::DoNotOptimize(touch(arena.allocate(bytes)));
    arena.rewind(mark);
  }
  count(state, before);
}
BENCHMARK(arena_mark_and_rewind);

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

// `end` is what ends a request.
template <class End>
void of_resource(benchmark::State& state, std::pmr::memory_resource* resource, End end) {
  benchmark::DoNotOptimize(resource);  // Or the compiler sees which one it is.
  void* blocks[per_request];
  const auto request = [&] {
    for (void*& block : blocks) benchmark::DoNotOptimize(block = touch(resource->allocate(bytes, 8)));
    for (void* block : blocks) resource->deallocate(block, bytes, 8);
    end();
  };
  request();
  const std::size_t before = internal::allocations();
  while (state.KeepRunningBatch(per_request)) request();
  count(state, before);
}

void arena_resource_64_bytes(benchmark::State& state) {
  Arena arena;
  ArenaResource resource(arena);
  of_resource(state, &resource, [&] { arena.rewind(); });
}
BENCHMARK(arena_resource_64_bytes);

// With a first block that is as large as the request, which release() comes back to.
void monotonic_buffer_64_bytes(benchmark::State& state) {
  alignas(16) char first[per_request * bytes];
  std::pmr::monotonic_buffer_resource resource(first, sizeof first);
  of_resource(state, &resource, [&] { resource.release(); });
}
BENCHMARK(monotonic_buffer_64_bytes);

void unsynchronized_pool_64_bytes(benchmark::State& state) {
  std::pmr::unsynchronized_pool_resource resource;
  of_resource(state, &resource, [] {});
}
BENCHMARK(unsynchronized_pool_64_bytes);

}  // namespace
}  // namespace keel
