// What it costs to find the handler of a request among 100 routes: nanoseconds per request, its parameters included.
// `latency` takes the time of each match apart, as percentiles in ns; the clock's own time is part of it.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/http/internal/request_test.h"

namespace keel::http {
namespace {

Response answer(Request&) { return Response::text(Status::Ok, "ok"); }

const Router& router() {
  static Router made;
  [[maybe_unused]] static const bool filled = [] {
    for (int i = 0; i < 25; ++i) {
      const std::string base = "/api/things" + std::to_string(i);
      made.get(base, &answer).post(base, &answer).get(base + "/{id}", &answer).get(base + "/{id}/parts", &answer);
    }
    return true;
  }();
  return made;
}

void match(benchmark::State& state, std::string_view target, bool is_route) {
  TestRequest request(router(), "GET", target);
  for (auto _ : state) {
    const Router::Match found = router().match(*request);
    benchmark::DoNotOptimize(&found);
    if (found.is_route != is_route) state.SkipWithError("the wrong answer");
  }
}
BENCHMARK_CAPTURE(match, literal, "/api/things12", true);
BENCHMARK_CAPTURE(match, parameter, "/api/things12/1234", true);
BENCHMARK_CAPTURE(match, parameter_within, "/api/things12/1234/parts", true);
BENCHMARK_CAPTURE(match, unknown, "/api/nothing/here", false);

void latency(benchmark::State& state) {
  TestRequest request(router(), "GET", "/api/things12/1234");
  std::vector<std::int64_t> took;
  took.reserve(2'000'000);
  for (auto _ : state) {
    const Instant began = Host::system().now();
    const Router::Match found = router().match(*request);
    benchmark::DoNotOptimize(&found);
    took.push_back((Host::system().now() - began).count_ns());
  }
  std::sort(took.begin(), took.end());
  const auto percentile = [&](double p) {
    return static_cast<double>(took[static_cast<std::size_t>(p / 100 * static_cast<double>(took.size() - 1))]);
  };
  state.counters["p50"] = percentile(50);
  state.counters["p99"] = percentile(99);
  state.counters["p99.9"] = percentile(99.9);
}
BENCHMARK(latency)->Iterations(200'000);

}  // namespace
}  // namespace keel::http
