// Cost of parsing a request head, in time here and in instructions by
//   valgrind --tool=callgrind --toggle-collect='*parse_head*' parser_bench --benchmark_filter=plaintext

#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "keel/base/host.h"
#include "keel/http/parser.h"

namespace keel::http {
namespace {

constexpr std::string_view plaintext = "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
constexpr std::string_view browser =
    "GET /api/users?page=2&limit=50 HTTP/1.1\r\n"
    "Host: accounts.example.com\r\n"
    "Connection: keep-alive\r\n"
    "sec-ch-ua: \"Chromium\";v=\"126\", \"Not-A.Brand\";v=\"24\"\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Referer: https://accounts.example.com/users\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Cookie: session=8f14e45fceea167a5a36dedd4bea2543; theme=dark; consent=1\r\n"
    "\r\n";

void parse(benchmark::State& state, std::string_view bytes) {
  static RequestHead head;
  const HeadLimits limits;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_head(bytes, limits, head));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes.size()));
}

BENCHMARK_CAPTURE(parse, plaintext, plaintext);
BENCHMARK_CAPTURE(parse, browser, browser);

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
