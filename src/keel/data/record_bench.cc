// Time of a Record of ten fields on one thread: making, encoding, decoding, and the two together; buffer and arena
// reused. `allocations` are heap allocations for one. The struct of the same fields stands beside it.

#include <benchmark/benchmark.h>

#include <span>
#include <string>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/cbor.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/record.h"

namespace keel {
namespace {

const Uuid device = *Uuid::parse("0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
const Timestamp time_of_it = Timestamp::from_unix_seconds(1363896240);
constexpr std::byte raw[8] = {};

void fill(Record& record) {
  static_cast<void>(record.set("id", std::uint32_t{1234567}));
  static_cast<void>(record.set("at", time_of_it));
  static_cast<void>(record.set("raw", std::span<const std::byte>(raw)));
  static_cast<void>(record.set("name", "Ada Lovelace"));
  static_cast<void>(record.set("level", std::int16_t{-3}));
  static_cast<void>(record.set("score", 97.25));
  static_cast<void>(record.set("active", true));
  static_cast<void>(record.set("device", device));
  static_cast<void>(record.set("country", "United Kingdom"));
  static_cast<void>(record.set("nothing", nullptr));
}

// Of its scope, which must end before SetItemsProcessed(): that allocates.
struct Counted {
  explicit Counted(benchmark::State& of) : state(of) {}
  ~Counted() {
    state.counters["allocations"] =
        benchmark::Counter(static_cast<double>(internal::allocations() - before), benchmark::Counter::kAvgIterations);
  }
  benchmark::State& state;
  std::size_t before = internal::allocations();
};

void create(benchmark::State& state) {
  Arena arena;
  {
    Record first(arena);
    fill(first);
  }
  {
    const Counted counted(state);
    for (auto _ : state) {
      arena.rewind();
      Record record(arena);
      fill(record);
      benchmark::DoNotOptimize(record);
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(create);

void create_one_field(benchmark::State& state) {
  Arena arena;
  static_cast<void>(Record(arena).set("id", 1));
  {
    const Counted counted(state);
    for (auto _ : state) {
      arena.rewind();
      Record record(arena);
      static_cast<void>(record.set("id", 1));
      benchmark::DoNotOptimize(record);
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(create_one_field);

void get(benchmark::State& state) {
  Record record;
  fill(record);
  {
    const Counted counted(state);
    for (auto _ : state) {
      benchmark::DoNotOptimize(*record.get<double>("score"));
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(get);

void encode(benchmark::State& state) {
  Record record;
  fill(record);
  Buffer out;
  cbor::write(out, record);
  const Counted counted(state);
  for (auto _ : state) {
    out.clear();
    cbor::write(out, record);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.counters["bytes"] = static_cast<double>(out.size());
}
BENCHMARK(encode);

struct CborForm {
  static void write(Buffer& out, const Record& record) { cbor::write(out, record); }
  static bool read(Record& record, std::string_view bytes, Arena& arena, Violations& wrong) {
    return cbor::read(record, bytes, arena, wrong);
  }
};
struct MessagePackForm {
  static void write(Buffer& out, const Record& record) { message_pack::write(out, record); }
  static bool read(Record& record, std::string_view bytes, Arena& arena, Violations& wrong) {
    return message_pack::read(record, bytes, arena, wrong);
  }
};
struct JsonForm {
  static void write(Buffer& out, const Record& record) { json::write(out, record); }
  static bool read(Record& record, std::string_view bytes, Arena& arena, Violations& wrong) {
    return json::read(record, bytes, arena, wrong);
  }
};

template <class Form>
void encode_and_decode(benchmark::State& state) {
  Record record;
  fill(record);
  Buffer out;
  Arena arena;
  Violations wrong;
  const auto once = [&] {
    arena.rewind();
    out.clear();
    Form::write(out, record);
    Record again(arena);
    if (!Form::read(again, out.view(), arena, wrong)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(again);
  };
  once();
  const Counted counted(state);
  for (auto _ : state) once();
}
BENCHMARK(encode_and_decode<CborForm>);
BENCHMARK(encode_and_decode<MessagePackForm>);
BENCHMARK(encode_and_decode<JsonForm>);

}  // namespace
}  // namespace keel
