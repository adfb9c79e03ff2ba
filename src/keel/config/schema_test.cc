#include "keel/config/schema.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
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

std::string problem_of(const std::string& yaml, std::vector<const char*> args = {},
                       std::vector<const char*> environment = {}) {
  char name[] = "/tmp/keel-schema-XXXXXX";
  const int fd = mkstemp(name);
  EXPECT_EQ(write(fd, yaml.data(), yaml.size()), static_cast<ssize_t>(yaml.size()));
  close(fd);
  environment.push_back(nullptr);
  const auto loaded =
      load<Service>({.file = yaml.empty() ? "" : name, .args = args, .environment = environment.data()});
  std::remove(name);
  std::string problem(loaded ? "" : loaded.error().message());
  if (problem.starts_with(name)) problem.erase(0, sizeof name);
  return problem;
}

Service loaded(std::vector<const char*> args) {
  const char* const none[] = {nullptr};
  return load<Service>({.args = args, .environment = none}).value();
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

}  // namespace
}  // namespace keel::config::schema_test
