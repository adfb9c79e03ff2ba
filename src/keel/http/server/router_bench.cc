// What it costs to find the handler of a request: nanoseconds per request, its parameters included, among 6, 100 and
// 10,000 routes. `latency` takes the time of each match apart, as percentiles in ns; the clock's own time is part of
// it.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/http/testing/internal/request_test.h"

namespace keel::http {
namespace {

Response answer(Request&) { return Response::text(Status::Ok, "ok"); }

// This many routes: half without a parameter, a third with one, a sixth with two.
const Router& router_of(int routes) {
  static std::map<int, std::unique_ptr<Router>> made;
  std::unique_ptr<Router>& router = made[routes];
  if (router != nullptr) return *router;
  router = std::make_unique<Router>();
  for (int i = 0; i < routes / 6 + 1; ++i) {
    const std::string base = "/api/things" + std::to_string(i);
    const std::string patterns[] = {base,
                                    base + "/list",
                                    base + "/state/now",
                                    base + "/item/{id}",
                                    base + "/typed/{id:uint}",
                                    base + "/item/{id}/parts/{part}"};
    for (const std::string& pattern : patterns) {
      if (static_cast<int>(router->routes().size()) < routes) router->get(pattern, answer);
    }
  }
  return *router;
}

void match(benchmark::State& state, std::string_view method, std::string_view target, Status expected) {
  const Router& router = router_of(static_cast<int>(state.range(0)));
  TestRequest request(router, method, target);
  const Response first = *request.answer();
  if (first.status() != expected) state.SkipWithError("the wrong answer");
  const Handler* const handler = request.match().handler;
  for (auto _ : state) {
    const RouteMatch& found = router.match(*request);
    benchmark::DoNotOptimize(&found);
    if (found.handler != handler) state.SkipWithError("the wrong answer");
  }
}
#define KEEL_ROUTES Arg(6)->Arg(100)->Arg(10'000)
BENCHMARK_CAPTURE(match, literal, "GET", "/api/things0/state/now", Status::Ok)->KEEL_ROUTES;
BENCHMARK_CAPTURE(match, parameter, "GET", "/api/things0/item/1234", Status::Ok)->KEEL_ROUTES;
BENCHMARK_CAPTURE(match, typed_parameter, "GET", "/api/things0/typed/1234", Status::Ok)->KEEL_ROUTES;
BENCHMARK_CAPTURE(match, two_parameters, "GET", "/api/things0/item/1234/parts/56", Status::Ok)->KEEL_ROUTES;
BENCHMARK_CAPTURE(match, unknown, "GET", "/api/nothing/here", Status::NotFound)->KEEL_ROUTES;
BENCHMARK_CAPTURE(match, not_allowed, "POST", "/api/things0/item/1234", Status::MethodNotAllowed)->KEEL_ROUTES;

// Each look-up another of the routes: at 10,000 their memory is not in the first cache.
void match_all(benchmark::State& state) {
  const Router& router = router_of(static_cast<int>(state.range(0)));
  std::vector<std::unique_ptr<TestRequest>> requests;
  for (const Router::RouteName& route : router.routes()) {
    std::string target(route.pattern);
    for (std::size_t brace; (brace = target.find('{')) != std::string::npos;) {
      target.replace(brace, target.find('}') - brace + 1, "1234");
    }
    requests.push_back(std::make_unique<TestRequest>(router, "GET", target));
    if (requests.size() == 1'000) break;
  }
  std::size_t at = 0;
  for (auto _ : state) {
    const RouteMatch& found = router.match(**requests[at]);
    benchmark::DoNotOptimize(&found);
    if (found.index != at) state.SkipWithError("the wrong answer");
    at = at + 1 == requests.size() ? 0 : at + 1;
  }
}
BENCHMARK(match_all)->KEEL_ROUTES;

void latency(benchmark::State& state) {
  const Router& router = router_of(100);
  TestRequest request(router, "GET", "/api/things12/item/1234");
  std::vector<std::int64_t> took;
  took.reserve(2'000'000);
  for (auto _ : state) {
    const Instant began = Host::system().now();
    const RouteMatch& found = router.match(*request);
    benchmark::DoNotOptimize(&found);
    if (!found.is_route) state.SkipWithError("the wrong answer");
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
