// What recording costs: nanoseconds per call, with the worker's own cells and without.

#include <benchmark/benchmark.h>

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

}  // namespace
}  // namespace keel::metrics
