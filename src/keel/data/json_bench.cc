// Time per JSON text on one thread, buffer and arena reused; `allocations` are heap allocations for one. Run with
// --benchmark_perf_counters=INSTRUCTIONS where the library has them.

#include <benchmark/benchmark.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/data/json.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

#if __has_include(<simdjson.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <simdjson.h>
#pragma GCC diagnostic pop
#define KEEL_HAS_SIMDJSON 1
#endif

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

// The same with what each field has to be like.
struct Judged {
  std::int64_t id;
  std::string_view name;
  std::string_view email;
  std::int64_t age;
  bool active;
  double score;
  Address address;
  std::array<std::string_view, 3> tags;
  void rules(Check& check) const {
    check(id).at_least(1);
    check(name).length(1, 100);
    check(email).length(3, 200);
    check(age).range(0, 150);
    check(score).range(0.0, 100.0);
    check.each(tags).length(1, 40);
  }
};
void read_a_struct_with_rules(benchmark::State& state) {
  Arena arena;
  Judged user;
  Violations wrong;
  json::read(user, user_text, arena, wrong);  // The arena's first block.
  const std::size_t before = internal::allocations();
  for (auto _ : state) {
    if (!json::read(user, user_text, arena, wrong)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(user);
  }
  count(state, before);
}
BENCHMARK(read_a_struct_with_rules);

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

struct Row {
  std::int64_t id;
  std::string_view name;
  std::string_view email;
  double balance;
  bool active;
  std::string_view joined;
  std::string_view note;
};
struct Page {
  std::int64_t total;
  std::int64_t offset;
  std::vector<Row> rows;
};
struct Series {
  std::string_view name;
  std::vector<double> values;
};

std::string page_text() {
  std::string text = R"({"total":4711,"offset":40,"rows":[)";
  for (int i = 0; i < 20; ++i) {
    const std::string id = std::to_string(100'000 + i * 977);
    text +=
        R"({"id":)" + id + R"(,"name":"Customer Number )" + id + R"(","email":"customer)" + id +
        R"(@example.org","balance":)" + std::to_string(i * 13) + ".25,\"active\":" + (i % 3 == 0 ? "false" : "true") +
        R"(,"joined":"2026-11-24T12:00:37Z","note":"pays late, but pays: \"always\", says the dunning letter of May"},)";
  }
  text.back() = ']';
  return text + "}";
}
std::string series_text() {
  std::string text = R"({"name":"temperature","values":[)";
  for (int i = 0; i < 128; ++i) text += json::write(i * 0.7853981633974483 / 3) + ",";
  text.back() = ']';
  return text + "}";
}

template <class T>
void read_a(benchmark::State& state, const std::string& text) {
  Arena arena;
  T value;
  for (auto _ : state) {
    arena.rewind();
    Violations wrong;
    if (!json::read(value, text, arena, wrong)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(value);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
void read_a_page_of_4_KiB(benchmark::State& state) { read_a<Page>(state, page_text()); }
void read_128_numbers(benchmark::State& state) { read_a<Series>(state, series_text()); }
BENCHMARK(read_a_page_of_4_KiB);
BENCHMARK(read_128_numbers);

// What the standard library alone takes for the numbers of the series.
void from_chars_of_128_numbers(benchmark::State& state) {
  const std::string text = series_text();
  std::vector<double> values;
  for (auto _ : state) {
    values.clear();
    const char* at = text.data() + text.find('[');
    while (*at != ']') at = std::from_chars(at + 1, text.data() + text.size(), values.emplace_back()).ptr;
    benchmark::DoNotOptimize(values.data());
    benchmark::ClobberMemory();
  }
}
void to_chars_of_128_numbers(benchmark::State& state) {
  Arena arena;
  const auto series = json::parse<Series>(series_text(), arena).value();
  std::string text(8192, ' ');
  for (auto _ : state) {
    char* to = text.data();
    for (const double value : series.values) {
      to = std::to_chars(to, to + 32, value).ptr;
      *to++ = ',';
    }
    benchmark::ClobberMemory();
  }
}
template <class T>
void write_a(benchmark::State& state, const std::string& text) {
  Arena arena;
  const T value = json::parse<T>(text, arena).value();
  Buffer buffer;
  for (auto _ : state) {
    buffer.clear();
    json::write(buffer, value);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
void write_a_page_of_4_KiB(benchmark::State& state) { write_a<Page>(state, page_text()); }
void write_128_numbers(benchmark::State& state) { write_a<Series>(state, series_text()); }
BENCHMARK(from_chars_of_128_numbers);
BENCHMARK(to_chars_of_128_numbers);
BENCHMARK(write_a_page_of_4_KiB);
BENCHMARK(write_128_numbers);

#ifdef KEEL_HAS_SIMDJSON
// By hand, as its manual has it: fields are asked for in the order of the text. Its parser reads up to SIMDJSON_PADDING
// bytes behind the text, which therefore has to be padded, and its strings are views into the parser's own buffer: they
// end with the next text. The functions named after a text are its best case: one parser, warm, and one text that was
// padded before the measurement. Those below fill_the_user() do more of what a handler has to do.
namespace ondemand = simdjson::ondemand;

bool fill(ondemand::document& in, User& user) {
  const auto address = [&](ondemand::object object) {
    return object["city"].get_string().get(user.address.city) == simdjson::SUCCESS &&
           object["country"].get_string().get(user.address.country) == simdjson::SUCCESS;
  };
  ondemand::object inner;
  ondemand::array tags;
  if (in["id"].get_int64().get(user.id) || in["name"].get_string().get(user.name) ||
      in["email"].get_string().get(user.email) || in["age"].get_int64().get(user.age) ||
      in["active"].get_bool().get(user.active) || in["score"].get_double().get(user.score) ||
      in["address"].get_object().get(inner) || !address(inner) || in["tags"].get_array().get(tags)) {
    return false;
  }
  std::size_t i = 0;
  for (auto tag : tags) {
    if (i == user.tags.size() || tag.get_string().get(user.tags[i++])) return false;
  }
  return i == user.tags.size();
}

bool fill(ondemand::document& in, Page& page) {
  ondemand::array rows;
  if (in["total"].get_int64().get(page.total) || in["offset"].get_int64().get(page.offset) ||
      in["rows"].get_array().get(rows)) {
    return false;
  }
  for (auto element : rows) {
    ondemand::object object;
    Row& row = page.rows.emplace_back();
    if (element.get_object().get(object) || object["id"].get_int64().get(row.id) ||
        object["name"].get_string().get(row.name) || object["email"].get_string().get(row.email) ||
        object["balance"].get_double().get(row.balance) || object["active"].get_bool().get(row.active) ||
        object["joined"].get_string().get(row.joined) || object["note"].get_string().get(row.note)) {
      return false;
    }
  }
  return true;
}

bool fill(ondemand::document& in, Series& series) {
  ondemand::array values;
  if (in["name"].get_string().get(series.name) || in["values"].get_array().get(values)) return false;
  for (auto element : values) {
    if (element.get_double().get(series.values.emplace_back())) return false;
  }
  return true;
}

template <class T>
void fill_a(benchmark::State& state, const std::string& text) {
  const simdjson::padded_string padded(text);
  ondemand::parser parser;
  T value;
  for (auto _ : state) {
    value = T();
    ondemand::document document;
    if (parser.iterate(padded).get(document) || !fill(document, value)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(value);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
void simdjson_a_struct_of_206_bytes(benchmark::State& state) { fill_a<User>(state, std::string(user_text)); }

// Calls each(string) for every string of the user.
template <class Each>
void each_string(User& user, Each each) {
  each(user.name);
  each(user.email);
  each(user.address.city);
  each(user.address.country);
  for (std::string_view& tag : user.tags) each(tag);
}
bool is_the_user(const User& user) {
  return user.id == 1234567 && user.name == "Ada Lovelace" && user.email == "ada@example.org" && user.age == 36 &&
         user.active && user.score == 97.25 && user.address.city == "London" &&
         user.address.country == "United Kingdom" && user.tags[0] == "mathematics" && user.tags[1] == "engines" &&
         user.tags[2] == "poetry, and more";
}
// Measures read(user), which fills it from user_text and leaves it readable until the next call.
template <class Read>
void fill_the_user(benchmark::State& state, Read read) {
  User user;
  if (!read(user) || !is_the_user(user)) {
    state.SkipWithError("another user");
    return;
  }
  const std::size_t before = internal::allocations();
  for (auto _ : state) {
    user = User();
    if (!read(user)) state.SkipWithError("refused");
    benchmark::DoNotOptimize(user);
  }
  count(state, before);
}
// A padded buffer that is kept for all bodies.
struct PaddedBody {
  std::vector<char> bytes = std::vector<char>(4096 + simdjson::SIMDJSON_PADDING);
  simdjson::padded_string_view copy(std::string_view text) {
    std::memcpy(bytes.data(), text.data(), text.size());
    return simdjson::padded_string_view(bytes.data(), text.size(), bytes.size());
  }
};
std::string_view hidden(std::string_view text) {
  benchmark::DoNotOptimize(text);  // Its size is known at run time only.
  return text;
}

// A body was received without padding: it is copied into a padded buffer that is kept. The parser is warm.
void simdjson_of_a_body(benchmark::State& state) {
  ondemand::parser parser;
  PaddedBody body;
  fill_the_user(state, [&](User& user) {
    ondemand::document document;
    return !parser.iterate(body.copy(hidden(user_text))).get(document) && fill(document, user);
  });
}
// The same, and the strings are copied into an arena, so that the parser may read the next text.
void simdjson_of_a_body_kept(benchmark::State& state) {
  ondemand::parser parser;
  PaddedBody body;
  Arena arena;
  fill_the_user(state, [&](User& user) {
    arena.rewind();
    ondemand::document document;
    if (parser.iterate(body.copy(hidden(user_text))).get(document) || !fill(document, user)) return false;
    each_string(user, [&](std::string_view& text) { text = arena.copy(text); });
    return true;
  });
}
// The same, and the strings are copied into std::string.
void simdjson_of_a_body_owned(benchmark::State& state) {
  ondemand::parser parser;
  PaddedBody body;
  fill_the_user(state, [&](User& user) {
    ondemand::document document;
    if (parser.iterate(body.copy(hidden(user_text))).get(document) || !fill(document, user)) return false;
    each_string(user, [](std::string_view& text) {
      const std::string owned(text);
      benchmark::DoNotOptimize(owned.data());
    });
    return true;
  });
}
// A padded_string is made of each text, which allocates. The parser is warm.
void simdjson_in_padded_string(benchmark::State& state) {
  ondemand::parser parser;
  fill_the_user(state, [&](User& user) {
    const simdjson::padded_string padded(hidden(user_text));
    ondemand::document document;
    return !parser.iterate(padded).get(document) && fill(document, user);
  });
}
// The same, and a parser is made for each text.
void simdjson_by_a_new_parser(benchmark::State& state) {
  std::optional<ondemand::parser> parser;
  fill_the_user(state, [&](User& user) {
    parser.emplace();
    const simdjson::padded_string padded(hidden(user_text));
    ondemand::document document;
    return !parser->iterate(padded).get(document) && fill(document, user);
  });
}
// The members are asked for in another order than they are sent in.
void simdjson_shuffled(benchmark::State& state) { fill_a<User>(state, std::string(shuffled_text)); }
void simdjson_a_page_of_4_KiB(benchmark::State& state) { fill_a<Page>(state, page_text()); }
void simdjson_128_numbers(benchmark::State& state) { fill_a<Series>(state, series_text()); }
BENCHMARK(simdjson_a_struct_of_206_bytes);
BENCHMARK(simdjson_of_a_body);
BENCHMARK(simdjson_of_a_body_kept);
BENCHMARK(simdjson_of_a_body_owned);
BENCHMARK(simdjson_in_padded_string);
BENCHMARK(simdjson_by_a_new_parser);
BENCHMARK(simdjson_shuffled);
BENCHMARK(simdjson_a_page_of_4_KiB);
BENCHMARK(simdjson_128_numbers);
#endif

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
