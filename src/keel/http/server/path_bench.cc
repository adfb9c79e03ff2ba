// Cost of matching a path against 400 patterns: whole literal, one parameter, three segments deep with a way back.

#include <benchmark/benchmark.h>

#include <string>

#include "keel/http/server/path.h"

namespace keel::http {
namespace {

const PathTree& tree() {
  static const PathTree made = [] {
    PathTree tree;
    for (std::uint32_t i = 0; i < 100; ++i) {
      const std::string base = "/api/things" + std::to_string(i);
      for (const char* tail : {"", "/{id}", "/{id}/parts", "/special/other"}) {
        if (!tree.add(base + tail, i)) std::abort();
      }
    }
    return tree;
  }();
  return made;
}

void match(benchmark::State& state, std::string_view path) {
  PathParams params;
  for (auto _ : state) benchmark::DoNotOptimize(tree().match(path, params));
}

BENCHMARK_CAPTURE(match, literal, "/api/things42");
BENCHMARK_CAPTURE(match, parameter, "/api/things42/1234");
BENCHMARK_CAPTURE(match, way_back, "/api/things42/special/parts");
BENCHMARK_CAPTURE(match, absent, "/api/nothing/here");

}  // namespace
}  // namespace keel::http
