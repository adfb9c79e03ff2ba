// What a lookup costs (cold, warm, from several threads), what a call through an interface costs, and what a scope
// costs. Nanoseconds per lookup or call; `allocations` is per iteration.
//
//   call_direct       a function that is not inlined
//   call_interface    one virtual call, by a reference that the caller got from the container once
//   lookup_and_call   the same, asking the container each time
//   lookup_warm       many in a row; lookup_latency: each begins when the one before it has its response
//   lookup_cold       the first lookup of a type in Services whose tables are in no cache

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "keel/app/container.h"
#include "keel/base/host.h"
#include "keel/base/testing/allocation_count.h"

namespace keel::app {
namespace {

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(int n) = 0;
};
class PlainCounter : public Counter {
 public:
  [[gnu::noinline]] void add(int n) override { sum_ += n; }
  [[gnu::noinline]] void add_direct(int n) { sum_ += n; }

 private:
  int sum_ = 0;
};

template <int n>
struct Filler {};
template <int... n>
void fill(Container& container, std::integer_sequence<int, n...>) {
  (container.singleton<Filler<n>>(), ...);
}

// A service of the usual size: what is looked up is one of 40.
Services services() {
  Container container;
  fill(container, std::make_integer_sequence<int, 39>());
  container.singleton<Counter, PlainCounter>();
  return container.build().value();
}

void call_direct(benchmark::State& state) {
  PlainCounter counter;
  PlainCounter* at = &counter;
  benchmark::DoNotOptimize(at);
  for (auto _ : state) at->add_direct(1);
}
BENCHMARK(call_direct);

void call_interface(benchmark::State& state) {
  const Services all = services();
  Counter* at = &all.get<Counter>();
  benchmark::DoNotOptimize(at);
  for (auto _ : state) at->add(1);
}
BENCHMARK(call_interface);

void lookup_and_call(benchmark::State& state) {
  const Services all = services();
  const Services* at = &all;
  for (auto _ : state) {
    benchmark::DoNotOptimize(at);
    at->get<Counter>().add(1);
  }
}
BENCHMARK(lookup_and_call);

void lookup_warm(benchmark::State& state) {
  static const Services all = services();
  const Services* at = &all;
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) {
    benchmark::DoNotOptimize(at);
    Counter* counter = &at->get<Counter>();
    benchmark::DoNotOptimize(counter);
  }
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(keel::internal::allocations() - before),
                                                     benchmark::Counter::kAvgIterations);
}
BENCHMARK(lookup_warm)->Threads(1)->Threads(2)->Threads(8);

// 0, known when the lookup that found `counter` has ended.
std::uintptr_t zero_of(Counter& counter) {
  std::uintptr_t found = reinterpret_cast<std::uintptr_t>(&counter);
  asm volatile("and $0, %0" : "+r"(found));
  return found;
}

// Each lookup waits for the one before it: what a caller waits that has nothing else to do.
void lookup_latency(benchmark::State& state) {
  const Services all = services();
  const Services* at = &all;
  for (auto _ : state) {
    benchmark::DoNotOptimize(at);
    at += zero_of(at->get<Counter>());
  }
}
BENCHMARK(lookup_latency);

// The tables of 256 containers are read once each, after something larger than the caches has been written.
void lookup_cold(benchmark::State& state) {
  constexpr std::size_t count = 256;
  std::vector<Services> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(services());
  std::vector<char> noise(std::size_t{64} << 20);
  char fill = 0;
  for (auto _ : state) {
    std::fill(noise.begin(), noise.end(), ++fill);
    benchmark::ClobberMemory();
    const Instant began = Host::system().now();
    // Each begins when the one before it has its response, or their misses would overlap.
    for (std::size_t i = 0; i < count; ++i) i += zero_of(all[i].get<Counter>());
    const Duration took = Host::system().now() - began;
    state.SetIterationTime(took.count_seconds() / count);
  }
}
BENCHMARK(lookup_cold)->UseManualTime()->Iterations(50);

struct Request {};
struct Context {
  explicit Context(const Request&, Counter&) {}
};

void scope_with_one_service(benchmark::State& state) {
  Container container;
  container.singleton<Counter, PlainCounter>().given<Request>().scoped<Context>();
  const Services all = container.build().value();
  Arena memory;
  Request request;
  const auto once = [&] {
    {
      Services::Scope scope = all.scope(memory);
      scope.give(request);
      benchmark::DoNotOptimize(*scope.resolve<Context>());
    }
    memory.rewind();
  };
  once();
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) once();
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(keel::internal::allocations() - before),
                                                     benchmark::Counter::kAvgIterations);
}
BENCHMARK(scope_with_one_service);

void build_40_services(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(services());
}
BENCHMARK(build_40_services);

}  // namespace
}  // namespace keel::app
