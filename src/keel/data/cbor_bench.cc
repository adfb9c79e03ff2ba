// Time per value of CBOR and MessagePack on one thread, beside JSON of the same struct and libcbor; buffer and arena
// reused; `allocations` are heap allocations for one.

#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/cbor.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"

#if __has_include(<cbor.h>)
#include <cbor.h>
#define KEEL_HAS_LIBCBOR 1
#endif

namespace keel {
namespace {

// As in json_bench.
struct Address {
  std::string_view city;
  std::string_view country;
};
struct User {
  std::int64_t id;
  std::string_view name;
  std::string_view email;
  std::int64_t age;
  bool active;
  double score;
  Address address;
  std::array<std::string_view, 3> tags;
};
const User user = {1234567,
                   "Ada Lovelace",
                   "ada@example.org",
                   36,
                   true,
                   97.25,
                   {"London", "United Kingdom"},
                   {"mathematics", "engines", "poetry, and more"}};

struct Json {
  static bool read(User& to, std::string_view bytes, Arena& arena, Violations& wrong) {
    return json::read(to, bytes, arena, wrong);
  }
  static void write(Buffer& out, const User& from) { json::write(out, from); }
};
struct CborForm {
  static bool read(User& to, std::string_view bytes, Arena& arena, Violations& wrong) {
    return cbor::read(to, bytes, arena, wrong);
  }
  static void write(Buffer& out, const User& from) { cbor::write(out, from); }
};
struct MessagePackForm {
  static bool read(User& to, std::string_view bytes, Arena& arena, Violations& wrong) {
    return message_pack::read(to, bytes, arena, wrong);
  }
  static void write(Buffer& out, const User& from) { message_pack::write(out, from); }
};

template <class Form>
void read_user(benchmark::State& state) {
  Buffer bytes;
  Form::write(bytes, user);
  Arena arena;
  User to;
  Violations wrong;
  Form::read(to, bytes.view(), arena, wrong);  // The arena's first block.
  const std::size_t before = internal::allocations();
  for (auto _ : state) {
    if (!Form::read(to, bytes.view(), arena, wrong)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(to);
  }
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(internal::allocations() - before), benchmark::Counter::kAvgIterations);
  state.counters["bytes"] = static_cast<double>(bytes.size());
  if (to.tags[2] != user.tags[2] || to.address.country != user.address.country) state.SkipWithError("not the same");
}
BENCHMARK(read_user<Json>);
BENCHMARK(read_user<CborForm>);
BENCHMARK(read_user<MessagePackForm>);

template <class Form>
void write_user(benchmark::State& state) {
  Buffer bytes;
  Form::write(bytes, user);
  const std::size_t before = internal::allocations();
  for (auto _ : state) {
    bytes.clear();
    Form::write(bytes, user);
    benchmark::DoNotOptimize(bytes.data());
    benchmark::ClobberMemory();
  }
  state.counters["allocations"] =
      benchmark::Counter(static_cast<double>(internal::allocations() - before), benchmark::Counter::kAvgIterations);
}
BENCHMARK(write_user<Json>);
BENCHMARK(write_user<CborForm>);
BENCHMARK(write_user<MessagePackForm>);

#ifdef KEEL_HAS_LIBCBOR
// Its tree, and from it the fields.
void read_user_libcbor(benchmark::State& state) {
  const std::string bytes = cbor::write(user);
  for (auto _ : state) {
    cbor_load_result result;
    cbor_item_t* const root = cbor_load(reinterpret_cast<cbor_data>(bytes.data()), bytes.size(), &result);
    if (root == nullptr) {
      state.SkipWithError("refused");
      break;
    }
    User to{};
    const auto text = [](const cbor_item_t* item) {
      return std::string_view(reinterpret_cast<const char*>(cbor_string_handle(item)), cbor_string_length(item));
    };
    const cbor_pair* const pairs = cbor_map_handle(root);
    for (std::size_t i = 0; i < cbor_map_size(root); ++i) {
      const std::string_view key = text(pairs[i].key);
      const cbor_item_t* const value = pairs[i].value;
      if (key == "id") to.id = static_cast<std::int64_t>(cbor_get_int(value));
      if (key == "name") to.name = text(value);
      if (key == "email") to.email = text(value);
      if (key == "age") to.age = static_cast<std::int64_t>(cbor_get_int(value));
      if (key == "active") to.active = cbor_get_bool(value);
      if (key == "score") to.score = cbor_float_get_float(value);
      if (key == "address") {
        const cbor_pair* const parts = cbor_map_handle(value);
        for (std::size_t j = 0; j < cbor_map_size(value); ++j) {
          if (text(parts[j].key) == "city") to.address.city = text(parts[j].value);
          if (text(parts[j].key) == "country") to.address.country = text(parts[j].value);
        }
      }
      if (key == "tags") {
        cbor_item_t** const tags = cbor_array_handle(value);
        for (std::size_t j = 0; j < to.tags.size(); ++j) to.tags[j] = text(tags[j]);
      }
    }
    benchmark::DoNotOptimize(to);
    if (to.tags[2] != user.tags[2] || to.address.country != user.address.country) state.SkipWithError("not the same");
    cbor_item_t* gone = root;
    cbor_decref(&gone);
  }
}
BENCHMARK(read_user_libcbor);
#endif

}  // namespace
}  // namespace keel
