// Cost of parsing a request head, in time here and in instructions by
//   valgrind --tool=callgrind --toggle-collect='*parse_head*' parser_bench --benchmark_filter=plaintext

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "keel/base/host.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/internal/parser_bench.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/response.h"

namespace keel::http {
namespace {

using namespace internal;

void check(std::string_view bytes, const RequestHead& head) {
  check_found(bytes, head.target(), head.field_count(), head.field(head.field_count() - 1).value);
}

void parse(benchmark::State& state, std::string_view bytes) {
  static RequestHead head;
  const HeadLimits limits;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_head(bytes, limits, head));
    benchmark::ClobberMemory();
  }
  check(bytes, head);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes.size()));
}

BENCHMARK_CAPTURE(parse, plaintext, plaintext);
BENCHMARK_CAPTURE(parse, request_350, request_350);
BENCHMARK_CAPTURE(parse, browser, browser);

// The request arrives sixteen bytes at a time, and each time the parser continues.
void fragments(benchmark::State& state, std::string_view bytes) {
  static RequestHead head;
  const HeadLimits limits;
  for (auto _ : state) {
    std::size_t size = fragment_bytes;
    HeadResult result = parse_head(bytes.substr(0, size), limits, head);
    while (result.state == HeadState::Incomplete) {
      size = std::min(size + fragment_bytes, bytes.size());
      result = resume_head(bytes.substr(0, size), limits, head);
    }
    benchmark::DoNotOptimize(result);
    benchmark::ClobberMemory();
  }
  check(bytes, head);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK_CAPTURE(fragments, request_350, request_350);
BENCHMARK_CAPTURE(fragments, browser, browser);

// A field by its index, by a search, and one that is not there; and names compared as the parser does.
void find_known(benchmark::State& state) {
  static RequestHead head;
  parse_head(browser, HeadLimits(), head);
  for (auto _ : state) {
    benchmark::DoNotOptimize(head.find(Known::AcceptEncoding));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(find_known);

void find_name(benchmark::State& state, std::string_view name, bool is_there) {
  static RequestHead head;
  parse_head(browser, HeadLimits(), head);
  for (auto _ : state) {
    benchmark::DoNotOptimize(name);
    const auto value = head.find(name);
    if (value.has_value() != is_there) std::abort();
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK_CAPTURE(find_name, referer, "Referer", true);
BENCHMARK_CAPTURE(find_name, last, "cookie", true);
BENCHMARK_CAPTURE(find_name, missing, "X-Request-Id", false);

void compare_names(benchmark::State& state) {
  std::string_view name = "Accept-Encoding";
  std::string_view wanted = "accept-encoding";
  for (auto _ : state) {
    benchmark::DoNotOptimize(name);
    benchmark::DoNotOptimize(wanted);
    benchmark::DoNotOptimize(equals_ignore_case(name, wanted));
  }
}
BENCHMARK(compare_names);

// Three fields set on a response.
void set_fields(benchmark::State& state) {
  for (auto _ : state) {
    Response response(Status::Ok);
    response.header("Cache-Control", "no-store").header("ETag", "\"v7\"").header("X-Request-Id", "8f14e45fceea167a");
    benchmark::DoNotOptimize(response.fields());
    if (!response.is_valid()) std::abort();
  }
}
BENCHMARK(set_fields);

// The time of each parse apart, as percentiles in ns; the clock's own time is part of it.
void latency(benchmark::State& state, std::string_view bytes) {
  static RequestHead head;
  const HeadLimits limits;
  std::vector<std::int64_t> took;
  for (auto _ : state) {
    const Instant began = Host::system().now();
    benchmark::DoNotOptimize(parse_head(bytes, limits, head));
    benchmark::ClobberMemory();
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
BENCHMARK_CAPTURE(latency, browser, browser)->Iterations(200'000);

}  // namespace
}  // namespace keel::http
