// A plain struct that is 206 bytes of JSON, written and read by data/json; see ../turns/turns.h for how it is measured,
// and
// ../peers/rust/json_text for who is compared.

#include <array>
#include <cstdio>
#include <string_view>

#include "../turns/turns.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace {

using namespace keel;

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

constexpr std::string_view text =
    R"({"id":1234567,"name":"Ada Lovelace","email":"ada@example.org","age":36,"active":true,"score":97.25,)"
    R"("address":{"city":"London","country":"United Kingdom"},"tags":["mathematics","engines","poetry, and more"]})";
constexpr std::string_view shuffled =
    R"({"tags":["mathematics","engines","poetry, and more"],"score":97.25,"name":"Ada Lovelace","active":true,)"
    R"("address":{"country":"United Kingdom","city":"London"},"id":1234567,"email":"ada@example.org","age":36})";

constexpr int times = 1000;

struct Bench {
  Arena arena;
  Buffer buffer;
  User user;
  std::string_view from;
  bool is_right = true;

  bool read_once() {
    Violations wrong;
    return json::read(user, from, arena, wrong);
  }
  void write_once() {
    buffer.clear();
    json::write(buffer, user);
  }
  // What was read is written as it was, in the order of the struct.
  bool begin(std::string_view with) {
    from = with;
    if (!read_once()) return false;
    write_once();
    return buffer.view() == text;
  }
};

void write_round(void* with) {
  auto& bench = *static_cast<Bench*>(with);
  for (int i = 0; i < times; ++i) {
    bench.write_once();
    asm volatile("" ::"r"(bench.buffer.data()) : "memory");
  }
}
void read_round(void* with) {
  auto& bench = *static_cast<Bench*>(with);
  for (int i = 0; i < times; ++i) {
    bench.is_right &= bench.read_once();
    asm volatile("" ::"r"(&bench.user) : "memory");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = turns_read(argc, argv).what;
  Bench bench;
  if (!bench.begin(what == "read-shuffled" ? shuffled : text)) return 1;
  if (what == "write") return turns_measure(write_round, &bench, times);
  if (what != "read" && what != "read-shuffled") return 2;
  const int code = turns_measure(read_round, &bench, times);
  return bench.is_right ? code : 1;
}
