// Time per JSON text on one thread, buffer and arena reused; `allocations` are heap allocations for one. Run with
// --benchmark_perf_counters=INSTRUCTIONS where the library has them.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/json.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

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
constexpr std::string_view user_text =
    R"({"id":1234567,"name":"Ada Lovelace","email":"ada@example.org","age":36,"active":true,"score":97.25,)"
    R"("address":{"city":"London","country":"United Kingdom"},"tags":["mathematics","engines","poetry, and more"]})";
constexpr std::string_view shuffled_text =
    R"({"tags":["mathematics","engines","poetry, and more"],"score":97.25,"name":"Ada Lovelace","active":true,)"
    R"("address":{"country":"United Kingdom","city":"London"},"id":1234567,"email":"ada@example.org","age":36})";

void read_user(benchmark::State& state, std::string_view text) {
  Arena arena;
  User user;
  Violations wrong;
  json::read(user, text, arena, wrong);  // The arena's first block.
  const std::size_t before = internal::allocations();
  for (auto _ : state) {
    if (!json::read(user, text, arena, wrong)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(user);
  }
  count(state, before);
}
void read_a_struct_of_206_bytes(benchmark::State& state) { read_user(state, user_text); }
void read_a_struct_shuffled(benchmark::State& state) { read_user(state, shuffled_text); }
BENCHMARK(read_a_struct_of_206_bytes);
BENCHMARK(read_a_struct_shuffled);

void read_the_struct_by_hand(benchmark::State& state) {
  Arena arena;
  for (auto _ : state) {
    json::Reader in(user_text, arena);
    User user{};
    in.begin_object();
    while (auto key = in.next_key()) {
      if (*key == "id") {
        user.id = in.int64();
      } else if (*key == "name") {
        user.name = in.string();
      } else if (*key == "email") {
        user.email = in.string();
      } else if (*key == "age") {
        user.age = in.int64();
      } else if (*key == "active") {
        user.active = in.boolean();
      } else if (*key == "score") {
        user.score = in.number();
      } else if (*key == "address") {
        in.begin_object();
        while (auto part = in.next_key()) {
          if (*part == "city") {
            user.address.city = in.string();
          } else if (*part == "country") {
            user.address.country = in.string();
          } else {
            in.skip();
          }
        }
      } else if (*key == "tags") {
        std::size_t i = 0;
        in.begin_array();
        while (in.next_element()) {
          if (i == user.tags.size()) {
            in.skip();
          } else {
            user.tags[i++] = in.string();
          }
        }
      } else {
        in.skip();
      }
    }
    if (!in.finish()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(user);
  }
}
BENCHMARK(read_the_struct_by_hand);

void write_a_struct(benchmark::State& state) {
  Arena arena;
  const User user = json::parse<User>(user_text, arena).value();
  Buffer buffer;
  json::write(buffer, user);
  const std::size_t before = internal::allocations();
  for (auto _ : state) {
    buffer.clear();
    json::write(buffer, user);
    benchmark::ClobberMemory();
  }
  count(state, before);
}
BENCHMARK(write_a_struct);

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
