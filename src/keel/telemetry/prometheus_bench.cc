// One scrape by number of series: time to render all of them, the bytes that this gives, and bytes per series. The
// counters of a family have three labels each, as request counters do; what was rendered is counted.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "keel/telemetry/prometheus.h"

namespace keel::telemetry {
namespace {

void render(benchmark::State& state) {
  const auto series = static_cast<std::size_t>(state.range(0));
  metrics::Registry registry;
  for (std::size_t i = 0; i < series; ++i) {
    const std::string route = "/api/v1/things/" + std::to_string(i) + "/{id}";
    registry
        .counter("http_requests_total", "Requests with a response",
                 {{"method", "GET"}, {"route", route}, {"status_class", "2xx"}})
        .add(i);
  }
  Prometheus exporter(registry);
  Buffer out;
  exporter.render(out);  // Prepares the texts, once.
  for (auto _ : state) {
    out.clear();
    exporter.render(out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  const std::string_view text = out.view();
  if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) != series + 2) {
    state.SkipWithError("not one line for each series");
  }
  state.counters["bytes"] = static_cast<double>(text.size());
  state.counters["bytes_per_series"] = static_cast<double>(text.size()) / static_cast<double>(series);
}
BENCHMARK(render)->ArgName("series")->Arg(100)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace keel::telemetry
