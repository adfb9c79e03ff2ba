// What recording costs: nanoseconds per call, with the worker's own cells and without; and what series take in memory.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <optional>
#include <string>

#include "keel/observe/metric.h"

namespace keel::metrics {
namespace {

template <class F>
void measure(benchmark::State& state, F&& record) {
  if (state.range(0) != 0) {
    ThreadCells cells;
    for (auto _ : state) record();
  } else {
    for (auto _ : state) record();
  }
}

void counter_add(benchmark::State& state) {
  Registry registry;
  const Counter counter = registry.counter("bench_total", "Bench");
  measure(state, [&] { counter.add(); });
}
BENCHMARK(counter_add)->ArgName("own_cells")->Arg(0)->Arg(1);

void histogram_observe(benchmark::State& state) {
  Registry registry;
  const Histogram histogram = registry.histogram("bench_seconds", "Bench", latency_seconds);
  std::uint64_t value = 1;
  measure(state, [&] { histogram.observe((value += 977) & 0xffffff); });
}
BENCHMARK(histogram_observe)->ArgName("own_cells")->Arg(0)->Arg(1);

void gauge_set(benchmark::State& state) {
  Registry registry;
  const Gauge gauge = registry.gauge("bench_value", "Bench");
  double value = 1;
  measure(state, [&] { gauge.set(value += 1); });
}
BENCHMARK(gauge_set)->ArgName("own_cells")->Arg(1);

void counter_gauge_and_histogram(benchmark::State& state) {
  Registry registry;
  const Counter counter = registry.counter("bench_total", "Bench");
  const Gauge gauge = registry.gauge("bench_value", "Bench");
  const Histogram histogram = registry.histogram("bench_seconds", "Bench", latency_seconds);
  std::uint64_t value = 1;
  measure(state, [&] {
    counter.add();
    gauge.set(static_cast<double>(value));
    histogram.observe((value += 977) & 0xffffff);
  });
  if (counter.value() != histogram.count()) state.SkipWithError("counter and histogram differ");
}
BENCHMARK(counter_gauge_and_histogram)->ArgName("own_cells")->Arg(0)->Arg(1);

void histogram_observe_sampled(benchmark::State& state) {
  Registry registry({.sample_rate = 0.1});
  const Histogram histogram = registry.histogram("bench_seconds", "Bench", latency_seconds);
  std::uint64_t value = 1;
  measure(state, [&] { histogram.observe((value += 977) & 0xffffff); });
}
BENCHMARK(histogram_observe_sampled)->ArgName("own_cells")->Arg(1);

std::size_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Of the heap, by as many series as there are, a third of each kind, of which one thread has recorded all.
void memory(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::size_t taken = 0;
  for (auto _ : state) {
    const std::size_t before = heap_bytes();
    std::optional<Registry> registry(std::in_place);
    std::optional<ThreadCells> cells(std::in_place);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      const Label label{"number", number};
      if (i % 3 == 0) registry->counter("bench_total", "Bench", {label}).add();
      if (i % 3 == 1) registry->gauge("bench_value", "Bench", {label}).set(1);
      if (i % 3 == 2) registry->histogram("bench_seconds", "Bench", latency_seconds, {label}).observe(1);
    }
    taken = heap_bytes() - before;
    cells.reset();
    registry.reset();
  }
  state.counters["bytes"] = static_cast<double>(taken);
  state.counters["bytes_per_series"] = static_cast<double>(taken) / static_cast<double>(count);
}
BENCHMARK(memory)->ArgName("series")->Arg(10'000);

}  // namespace
}  // namespace keel::metrics
