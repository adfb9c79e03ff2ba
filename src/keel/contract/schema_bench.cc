// Time of a check of a body of 1 KiB with typical constraints, on one thread; `allocations` are heap allocations for
// one. `read` is what the json::Value itself takes, and `ahead` reading, checking and going back.

#include <benchmark/benchmark.h>

#include <string>

#include "keel/base/testing/allocation_count.h"
#include "keel/contract/testing.h"

namespace keel::contract {
namespace {

constexpr std::string_view schema = R"({"type": "object", "required": ["id", "lines"], "additionalProperties": false,
  "properties": {
    "id": {"type": "string", "format": "uuid"},
    "email": {"type": "string", "format": "email", "maxLength": 200},
    "note": {"type": "string", "maxLength": 500},
    "created": {"type": "string", "format": "date-time"},
    "state": {"enum": ["open", "paid", "sent", "closed"]},
    "lines": {"type": "array", "minItems": 1, "maxItems": 100, "items": {
      "type": "object", "required": ["sku", "quantity"], "additionalProperties": false, "properties": {
        "sku": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^a"},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 100},
        "price": {"type": "number", "minimum": 0, "multipleOf": 0.01},
        "gift": {"type": "boolean"}}}}}})";

std::string body() {
  std::string text = R"({"id": "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50", "email": "ada@example.com",
    "note": "Please leave it with the neighbour at number twelve.", "created": "2026-11-24T12:00:37.250Z",
    "state": "paid", "lines": [)";
  for (int i = 0; text.size() < 960; ++i) {
    text += i == 0 ? "" : ", ";
    text += R"({"sku": "ab-1234", "quantity": 12, "price": 19.95, "gift": false})";
  }
  return text + "]}";
}

void count(benchmark::State& state, std::size_t before) {
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(keel::internal::allocations() - before),
                                                     benchmark::Counter::kAvgIterations);
  state.SetLabel(std::to_string(body().size()) + " bytes");
}

void check_1_KiB(benchmark::State& state) {
  const testing::Tables tables(schema);
  const json::Value value = *json::parse<json::Value>(body());
  Violations wrong;
  if (!check(value, tables.root(), wrong)) state.SkipWithError(wrong.error().describe().c_str());
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) benchmark::DoNotOptimize(check(value, tables.root(), wrong));
  count(state, before);
}
BENCHMARK(check_1_KiB);

void read_1_KiB(benchmark::State& state) {
  const std::string text = body();
  Arena arena;
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) {
    json::Reader in(text, arena);
    json::Value value;
    read_json(in, value);
    benchmark::DoNotOptimize(value);
  }
  count(state, before);
}
BENCHMARK(read_1_KiB);

void ahead_1_KiB(benchmark::State& state) {
  const testing::Tables tables(schema);
  const std::string text = body();
  Arena arena;
  Violations wrong;
  const std::size_t before = keel::internal::allocations();
  for (auto _ : state) {
    json::Reader in(text, arena);
    benchmark::DoNotOptimize(check_ahead(in, tables.root(), wrong));
  }
  count(state, before);
}
BENCHMARK(ahead_1_KiB);

}  // namespace
}  // namespace keel::contract
