#include "keel/config/schema.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keel/config/config.h"

namespace keel::config::schema_test {
namespace {

enum class Colour { Red, Blue };
constexpr auto colour_names =
    names<std::optional<Colour>>({{"none", {}}, {"red", Colour::Red}, {"blue", Colour::Blue}});

// What the settings below are for, with types of its own.
struct Limits {
  std::size_t body_bytes_max = 1 << 20;
  std::uint32_t line_bytes_max = 8 * 1024;
  int cache_kib = 4096;
};

struct Http {
  Limits limits;
  void fields(Schema& v) {
    field(v, "max_body", Bytes(limits.body_bytes_max), "of a request");
    field(v, "max_line", Bytes(limits.line_bytes_max), "of a head", {ByteSize{128}, ByteSize::mib(1)});
    field(v, "cache_mb", Kibibytes(limits.cache_kib), "of files", {ByteSize::mib(1), ByteSize::mib(1024)});
    renamed(v, "max_payload", "http.max_body");
    renamed(v, "lines", "http");
    removed(v, "max_speed", "a load balancer bounds it");
  }
};

struct Service {
  Http http;
  std::optional<Colour> colour;
  void fields(Schema& v) {
    field(v, "http", http, "the server");
    field(v, "colour", colour, "of the lamp", colour_names);
    renamed(v, "color", "colour");
  }
};

template <class T = Service>
std::string problem_of(const std::string& yaml, std::vector<const char*> args = {},
                       std::vector<const char*> environment = {}) {
  char name[] = "/tmp/keel-schema-XXXXXX";
  const int fd = mkstemp(name);
  EXPECT_EQ(write(fd, yaml.data(), yaml.size()), static_cast<ssize_t>(yaml.size()));
  close(fd);
  environment.push_back(nullptr);
  const auto loaded = load<T>({.file = yaml.empty() ? "" : name, .args = args, .environment = environment.data()});
  std::remove(name);
  std::string problem(loaded ? "" : loaded.error().message());
  for (std::size_t at = problem.find(name); at != problem.npos; at = problem.find(name)) problem.erase(at, sizeof name);
  return problem;
}

template <class T = Service>
T loaded(std::vector<const char*> args) {
  const char* const none[] = {nullptr};
  return load<T>({.args = args, .environment = none}).value();
}

TEST(Schema, reads_sizes_into_integers_that_count_bytes) {
  const Service service = loaded({"--http.max_body=2MiB", "--http.max_line=1KiB", "--http.cache_mb=8"});

  EXPECT_EQ(service.http.limits.body_bytes_max, 2u << 20);
  EXPECT_EQ(service.http.limits.line_bytes_max, 1024u);
  EXPECT_EQ(service.http.limits.cache_kib, 8192);
  EXPECT_NE(describe(service, Origins()).find("max_body: 2MiB "), std::string::npos);
  EXPECT_NE(help<Service>().find("(a number of MiB from 1 to 1024; default 4)"), std::string::npos) << help<Service>();
}

TEST(Schema, takes_no_size_that_the_integer_cannot_count) {
  struct Small {
    std::int16_t bytes = 4;
    void fields(Schema& v) { field(v, "size", Bytes(bytes), "of it"); }
  };
  const char* const none[] = {nullptr};
  const char* const args[] = {"--size=32KiB"};

  const auto refused = load<Small>({.args = args, .environment = none});

  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("32KiB is out of range"), std::string::npos) << refused.error().message();
}

TEST(Schema, reads_an_optional_enum_and_the_word_for_none) {
  EXPECT_EQ(loaded({}).colour, std::nullopt);
  EXPECT_EQ(loaded({"--colour=blue"}).colour, Colour::Blue);
  EXPECT_EQ(loaded({"--colour=blue", "--set", "colour=none"}).colour, std::nullopt);
  EXPECT_NE(describe(loaded({}), Origins()).find("colour: none "), std::string::npos);
}

TEST(Schema, refuses_a_key_that_was_renamed_with_its_successor) {
  EXPECT_EQ(problem_of("http:\n  max_payload: 1MiB\n"), "2: http.max_payload: was renamed to http.max_body");
  EXPECT_EQ(problem_of("color: red\n"), "1: color: was renamed to colour");
  EXPECT_EQ(problem_of("http:\n  lines:\n    max: 3\n"), "2: http.lines: was renamed to http");
  EXPECT_EQ(problem_of("", {"--http.max_payload=1MiB"}), "--http.max_payload: was renamed to --http.max_body");
  EXPECT_EQ(problem_of("", {"--http.lines.max=3"}), "--http.lines.max: was renamed to --http");
  EXPECT_EQ(problem_of("", {}, {"KEEL_HTTP__MAX_PAYLOAD=1MiB"}),
            "KEEL_HTTP__MAX_PAYLOAD: http.max_payload: was renamed to KEEL_HTTP__MAX_BODY");
}

TEST(Schema, refuses_a_key_that_was_removed_with_what_to_do_instead) {
  EXPECT_EQ(problem_of("http:\n  max_speed: 3\n"), "2: http.max_speed: was removed; a load balancer bounds it");
}

// Plain structs.

enum class Mode { Fast, Safe };

struct Shelf {
  std::string name = "a";
  int books = 1;
  void rules(Check& check) const { check(books).range(0, 100); }
};
struct Store {
  std::string path = "store.db";
  unsigned connections_max = 16;
  Duration acquire_timeout = 1_s;
  ByteSize cache = ByteSize::mib(4);
  double factor = 0.5;
  bool enabled = true;
  Secret password;
  Mode mode = Mode::Safe;
  std::optional<Mode> fallback;
  std::vector<Shelf> shelves;
  std::map<std::string, Shelf> rooms;
  std::vector<std::string> tags = {"x"};
  Shelf best;
  std::int64_t retry_ms = 5;
  int class_ = 1;
  void rules(Check& check) const {
    check(connections_max).range(1, 1024);
    check(path).length_at_least(1);
    check(shelves).count_at_most(2);
    check.that(acquire_timeout <= 60_s, "acquire_timeout must not be above 60s");
  }
};
struct Shop {
  Store store;
  int port = 80;
};
struct Derived {
  Store store;
  void fields(Schema& v) { field(v, "store", store, "the shop's own store").reloadable(); }
};

TEST(PlainSection, has_its_fields_as_keys_and_its_initialisers_as_defaults) {
  const Shop defaults = loaded<Shop>({});
  EXPECT_EQ(defaults.store.path, "store.db");
  EXPECT_EQ(defaults.store.mode, Mode::Safe);
  EXPECT_EQ(defaults.store.fallback, std::nullopt);
  EXPECT_EQ(defaults.port, 80);

  const Shop shop = loaded<Shop>(
      {"--store.path=b.db", "--store.connections_max=3", "--store.acquire_timeout=200ms", "--store.cache=1KiB",
       "--store.factor=0.25", "--store.enabled=false", "--store.password=secret", "--store.mode=Fast",
       "--store.fallback=Fast", "--store.shelves=[{name: c, books: 7}, {}]", "--store.rooms.attic.books=9",
       "--store.tags=[y, z]", "--store.best.name=d", "--store.retry_ms=9", "--store.class=2", "--port=81"});

  EXPECT_EQ(shop.store.path, "b.db");
  EXPECT_EQ(shop.store.connections_max, 3u);
  EXPECT_EQ(shop.store.acquire_timeout, 200_ms);
  EXPECT_EQ(shop.store.cache.bytes, 1024u);
  EXPECT_EQ(shop.store.factor, 0.25);
  EXPECT_FALSE(shop.store.enabled);
  EXPECT_EQ(shop.store.password.reveal(), "secret");
  EXPECT_EQ(shop.store.mode, Mode::Fast);
  EXPECT_EQ(shop.store.fallback, Mode::Fast);
  ASSERT_EQ(shop.store.shelves.size(), 2u);
  EXPECT_EQ(shop.store.shelves[0].books, 7);
  EXPECT_EQ(shop.store.shelves[1].name, "a") << "the default of an element is its own";
  EXPECT_EQ(shop.store.rooms.at("attic").books, 9);
  EXPECT_EQ(shop.store.tags, std::vector<std::string>({"y", "z"}));
  EXPECT_EQ(shop.store.best.name, "d");
  EXPECT_EQ(shop.store.retry_ms, 9);
  EXPECT_EQ(shop.store.class_, 2);
  EXPECT_EQ(shop.port, 81);
}

TEST(PlainSection, says_what_is_wrong_with_file_and_line_and_key) {
  EXPECT_EQ(problem_of<Shop>("port: 90\nstore:\n  pth: a\n"), "3: store.pth: unknown key; did you mean store.path?");
  EXPECT_EQ(problem_of<Shop>("store:\n  mode: fast\n"),
            "2: store.mode: \"fast\" is not known: expected one of Fast, Safe");
  EXPECT_EQ(problem_of<Shop>("store:\n  fallback: fast\n"),
            "2: store.fallback: \"fast\" is not known: expected one of Fast, Safe, none");
  EXPECT_EQ(problem_of<Shop>("port: 1.5\n").substr(0, 8), "1: port:");
}

TEST(PlainSection, asks_its_rules_with_file_and_line_and_key) {
  EXPECT_EQ(problem_of<Shop>("store:\n  path: a.db\n  connections_max: 2000\n"),
            "3: store.connections_max: must be from 1 to 1024");
  EXPECT_EQ(problem_of<Shop>("store:\n  best:\n    books: -1\n  connections_max: 0\n"),
            "3: store.best.books: must be from 0 to 100\n4: store.connections_max: must be from 1 to 1024")
      << "all of them, nested ones first";
  EXPECT_EQ(problem_of<Shop>("store:\n  shelves:\n    - {}\n    - name: b\n      books: 101\n"),
            "5: store.shelves.1.books: must be from 0 to 100");
  EXPECT_EQ(problem_of<Shop>("store:\n  rooms:\n    attic:\n      books: 101\n"),
            "4: store.rooms.attic.books: must be from 0 to 100");
  EXPECT_EQ(problem_of<Shop>("store:\n  shelves: [{}, {}, {}]\n"), "2: store.shelves: must have at most 2 elements");
  EXPECT_EQ(problem_of<Shop>("", {"--store.acquire_timeout=61s"}), "store: acquire_timeout must not be above 60s");
  EXPECT_EQ(problem_of<Shop>("", {"--store.connections_max=0"}), "--store.connections_max: must be from 1 to 1024");
  EXPECT_EQ(problem_of<Shop>("", {}, {"KEEL_STORE__CONNECTIONS_MAX=0"}),
            "KEEL_STORE__CONNECTIONS_MAX: store.connections_max: must be from 1 to 1024");
}

TEST(PlainSection, asks_rules_of_the_whole_configuration_and_of_its_defaults) {
  struct Wrong {
    int low = 3;
    int high = 2;
    void rules(Check& check) const {
      check(high).at_least(3);
      check.that(low <= high, "low must not be above high");
    }
  };

  EXPECT_EQ(problem_of<Wrong>(""), "high: must be at least 3\nlow must not be above high");
  EXPECT_EQ(problem_of<Wrong>("high: 4\n"), "");
}

TEST(PlainSection, is_a_section_of_a_struct_that_lists_its_fields) {
  EXPECT_EQ(loaded<Derived>({"--store.path=b.db"}).store.path, "b.db");
  EXPECT_EQ(problem_of<Derived>("store:\n  connections_max: 0\n"), "2: store.connections_max: must be from 1 to 1024");
}

TEST(PlainSection, is_printed_and_helped_as_others_are) {
  const std::string printed = describe(loaded<Shop>({}), Origins());
  EXPECT_NE(printed.find("  mode: Safe "), std::string::npos) << printed;
  EXPECT_NE(printed.find("  fallback: none "), std::string::npos) << printed;
  const std::string text = help<Shop>();
  EXPECT_NE(text.find("\nstore:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  --store.connections_max=VALUE\n      (an integer from 0 to 4294967295; default 16)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  --store.shelves=[...]\n      (a list, as YAML; N below is an index)\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace keel::config::schema_test
