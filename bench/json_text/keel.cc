// A struct that is 206 bytes of JSON, written and read by data/json: a plain one, and with --what=generated-… the one
// of users.yaml, which is validated as well. ../turns/turns.h says how it is measured, ../peers/rust/json_text who is
// compared.

#include <array>
#include <cstdio>
#include <string_view>

#include "../turns/turns.h"
#include "generated/types.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace {

using namespace keel;

struct Address {
  std::string_view city;
  std::string_view country;
  friend bool operator==(const Address&, const Address&) = default;
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
  friend bool operator==(const User&, const User&) = default;
};

constexpr std::string_view text =
    R"({"id":1234567,"name":"Ada Lovelace","email":"ada@example.org","age":36,"active":true,"score":97.25,)"
    R"("address":{"city":"London","country":"United Kingdom"},"tags":["mathematics","engines","poetry, and more"]})";
constexpr std::string_view shuffled =
    R"({"tags":["mathematics","engines","poetry, and more"],"score":97.25,"name":"Ada Lovelace","active":true,)"
    R"("address":{"country":"United Kingdom","city":"London"},"id":1234567,"email":"ada@example.org","age":36})";

constexpr int times = 1000;

template <class T>
struct Bench {
  Arena arena;
  Buffer buffer;
  T user{};
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
  // What was read is written, and read again: the same, in the order of the struct.
  bool begin(std::string_view with) {
    from = with;
    if (!read_once()) return false;
    write_once();
    T again{};
    Violations wrong;
    const bool is_same = json::read(again, buffer.view(), arena, wrong) && again == user;
    return is_same && buffer.view().size() == text.size();
  }
};

template <class T>
void write_round(void* with) {
  auto& bench = *static_cast<Bench<T>*>(with);
  for (int i = 0; i < times; ++i) {
    bench.write_once();
    asm volatile("" ::"r"(bench.buffer.data()) : "memory");
  }
}
template <class T>
void read_round(void* with) {
  auto& bench = *static_cast<Bench<T>*>(with);
  for (int i = 0; i < times; ++i) {
    bench.is_right &= bench.read_once();
    asm volatile("" ::"r"(&bench.user) : "memory");
  }
}

template <class T>
int measure(std::string_view what) {
  Bench<T> bench;
  if (!bench.begin(what == "read-shuffled" ? shuffled : text)) return 1;
  if (what == "write") return turns_measure(write_round<T>, &bench, times);
  if (what != "read" && what != "read-shuffled") return 2;
  const int code = turns_measure(read_round<T>, &bench, times);
  return bench.is_right ? code : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = turns_read(argc, argv).what;
  constexpr std::string_view generated_too = "generated-";
  if (what.starts_with(generated_too)) return measure<generated::User>(what.substr(generated_too.size()));
  return measure<User>(what);
}
