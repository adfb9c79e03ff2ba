// Time per JSON text on one thread, buffer and arena reused; `allocations` are heap allocations for one. Run with
// --benchmark_perf_counters=INSTRUCTIONS where the library has them.

#include <benchmark/benchmark.h>

#include <string>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/json.h"

namespace keel {
namespace {

void count(benchmark::State& state, std::size_t before) {
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(internal::allocations() - before), benchmark::Counter::kAvgIterations);
}

void write_27_bytes(benchmark::State& state) {
  Buffer buffer;
  const auto write = [&] {
    buffer.clear();
    json::Writer out(buffer);
    out.begin_object().key("message").string("Hello, World!").end_object();
    benchmark::DoNotOptimize(buffer.data());
    benchmark::ClobberMemory();
  };
  write();  // The buffer's first bytes.
  const std::size_t before = internal::allocations();
  for (auto _ : state) write();
  count(state, before);
  state.SetLabel(std::string(buffer.view()));
}
BENCHMARK(write_27_bytes);

void read_three_fields(benchmark::State& state) {
  const std::string body = R"({"name":"Ada Lovelace","email":"ada@example.org","age":36})";
  Arena arena;
  const auto read = [&] {
    json::Reader in(body, arena);
    std::string_view name;
    std::string_view email;
    std::int64_t age = 0;
    in.begin_object();
    while (auto key = in.next_key()) {
      if (*key == "name") {
        name = in.string();
      } else if (*key == "email") {
        email = in.string();
      } else if (*key == "age") {
        age = in.int64();
      } else {
        in.skip();
      }
    }
    if (!in.finish()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(name);
    benchmark::DoNotOptimize(email);
    benchmark::DoNotOptimize(age);
  };
  read();  // The arena's first block.
  const std::size_t before = internal::allocations();
  for (auto _ : state) read();
  count(state, before);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK(read_three_fields);

void write_a_clean_string_of_4_KiB(benchmark::State& state) {
  const std::string text(4096, 'x');
  Buffer buffer;
  for (auto _ : state) {
    buffer.clear();
    json::Writer(buffer).string(text);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 4096);
}
BENCHMARK(write_a_clean_string_of_4_KiB);

}  // namespace
}  // namespace keel
