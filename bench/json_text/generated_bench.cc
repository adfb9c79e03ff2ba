// What json_bench measures of a struct with rules, for the one that keel gen api makes of users.yaml. Its text is in
// std::string and its tags are in a std::vector, and json::read() begins with a new struct: the vector and the tag of
// 16 bytes are allocated each time.

#include <benchmark/benchmark.h>

#include <cstddef>
#include <string_view>

#include "generated/types.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace {

using namespace keel;

constexpr std::string_view user_text =
    R"({"id":1234567,"name":"Ada Lovelace","email":"ada@example.org","age":36,"active":true,"score":97.25,)"
    R"("address":{"city":"London","country":"United Kingdom"},"tags":["mathematics","engines","poetry, and more"]})";
constexpr std::string_view shuffled_text =
    R"({"tags":["mathematics","engines","poetry, and more"],"score":97.25,"name":"Ada Lovelace","active":true,)"
    R"("address":{"country":"United Kingdom","city":"London"},"id":1234567,"email":"ada@example.org","age":36})";

void count(benchmark::State& state, std::size_t before) {
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(keel::internal::allocations() - before),
                                                     benchmark::Counter::kAvgIterations);
}

void read_user(benchmark::State& state, std::string_view text) {
  Arena arena;
  generated::User user;
  Violations wrong;
  json::read(user, text, arena, wrong);  // The arena's first block.
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) {
    if (!json::read(user, text, arena, wrong)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(user);
  }
  count(state, before);
}
void read_a_generated_struct(benchmark::State& state) { read_user(state, user_text); }
void read_a_generated_struct_shuffled(benchmark::State& state) { read_user(state, shuffled_text); }
BENCHMARK(read_a_generated_struct);
BENCHMARK(read_a_generated_struct_shuffled);

void write_a_generated_struct(benchmark::State& state) {
  Arena arena;
  const auto user = json::parse<generated::User>(user_text, arena).value();
  Buffer buffer;
  json::write(buffer, user);
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) {
    buffer.clear();
    json::write(buffer, user);
    benchmark::ClobberMemory();
  }
  count(state, before);
}
BENCHMARK(write_a_generated_struct);

}  // namespace
