// What the writer pays for one line: nanoseconds to format an access-log record.

#include <benchmark/benchmark.h>

#include "keel/telemetry/log_line.h"

namespace keel::telemetry {
namespace {

using log::field;

void access_line(benchmark::State& state) {
  log::Reader reader(false);
  log::Ring ring;
  log::Logger log("http.server");
  const Span span{{1, 2}};
  const ScopedSpan scoped(span);
  LineFormatter formatter(state.range(0) != 0 ? LineFormat::Json : LineFormat::Text, Level::Warn);
  Buffer out;
  std::size_t lines = 0;
  for (auto _ : state) {
    state.PauseTiming();
    out.clear();
    for (int i = 0; i < 1000; ++i) {
      log.info("request", field("method", "GET"), field("path", "/api/users/1234"), field("status", 200),
               field("bytes", std::uint64_t{123}), field("duration", Duration::microseconds(17)));
    }
    state.ResumeTiming();
    lines += reader.drain([&](const log::Record& record) { formatter.append(out, record); });
  }
  state.counters["ns_per_line"] =
      benchmark::Counter(static_cast<double>(lines) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(access_line)->ArgName("json")->Arg(0)->Arg(1);

}  // namespace
}  // namespace keel::telemetry
