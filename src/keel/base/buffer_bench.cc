// A buffer filled with the pieces of a response, given away, and used up from its front; std::string beside it.

#include "keel/base/buffer.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace keel {
namespace {

constexpr std::string_view piece = "X-Request-Id: 8f14e45fceea167a5a36dedd4bea2543\r\n";
constexpr int pieces = 80;  // Nearly 4 KiB.

// Made, grown as it needs to, and freed, as for one answer.
template <class Bytes>
void append(benchmark::State& state) {
  for (auto _ : state) {
    Bytes bytes;
    for (int i = 0; i < pieces; ++i) bytes.append(piece);
    benchmark::DoNotOptimize(bytes.data());
    if (bytes.size() != pieces * piece.size()) std::abort();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * pieces * piece.size()));
}
BENCHMARK(append<Buffer>)->Name("append/buffer");
BENCHMARK(append<std::string>)->Name("append/string");

// 4 KiB that arrive together and are used a request at a time.
void consume(benchmark::State& state) {
  Buffer buffer;
  for (auto _ : state) {
    for (int i = 0; i < pieces; ++i) buffer.append(piece);
    while (!buffer.empty()) buffer.consume(piece.size() * 8);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(consume)->Name("consume/buffer");

void move(benchmark::State& state) {
  Buffer from;
  from.append(piece);
  for (auto _ : state) {
    Buffer to = std::move(from);
    benchmark::DoNotOptimize(to.data());
    from = std::move(to);
  }
  if (from.view() != piece) std::abort();
}
BENCHMARK(move)->Name("move/buffer");

}  // namespace
}  // namespace keel
