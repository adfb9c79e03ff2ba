#include "keel/telemetry/log_line.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <string>

#include "keel/base/host.h"

namespace keel::telemetry::log_line_test {
namespace {

using log::field;

class FixedClock final : public Host {
 public:
  explicit FixedClock(std::int64_t wall_ns) : wall_ns_(wall_ns), before_(Host::set_current(this)) {}
  ~FixedClock() override { Host::set_current(before_); }
  Instant now() noexcept override { return Instant::from_ns(1); }
  std::int64_t wall_ns() noexcept override { return wall_ns_; }
  std::uint64_t random() noexcept override { return 4; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return Host::system().start_thread(name, std::move(body));
  }

 private:
  std::int64_t wall_ns_;
  Host* before_;
};

// 2026-11-21T03:31:00.123456Z
constexpr std::int64_t moment = 1'795'231'860'123'456'789;

class LogLine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  }
  std::string line(LineFormat format, Level source_level = Level::Fatal) {
    LineFormatter formatter(format, source_level);
    Buffer out;
    reader_.drain([&](const log::Record& record) { formatter.append(out, record); });
    return std::string(out.view());
  }
  // The value of the field "v" in JSON and in text.
  std::pair<std::string, std::string> both(std::string_view text) {
    log_.info("m", field("v", text));
    std::string json = line(LineFormat::Json);
    log_.info("m", field("v", text));
    std::string plain = line(LineFormat::Text);
    json = json.substr(json.find("\"v\":") + 4);
    plain = plain.substr(plain.find("v=") + 2);
    return {json.substr(0, json.size() - 2), plain.substr(0, plain.size() - 1)};
  }

  FixedClock clock_{moment};
  log::Reader reader_{false};
  log::Ring ring_;
  log::Logger log_{"http.server"};
};

TEST_F(LogLine, is_json_with_the_fields_in_order) {
  const Span span{{0x0123456789abcdef, 0xf}};
  const ScopedSpan scoped(span);
  log_.info("request", field("method", "GET"), field("path", "/api/users"), field("status", 200), field("bytes", 1234u),
            field("duration", 17_us), field("cached", false), field("ratio", 0.25));

  EXPECT_EQ(line(LineFormat::Json),
            "{\"time\":\"2026-11-21T03:31:00.123456Z\",\"level\":\"info\",\"component\":\"http.server\",\"message\":"
            "\"request\",\"method\":\"GET\",\"path\":\"/api/users\",\"status\":200,\"bytes\":1234,"
            "\"duration\":0.000017,\"cached\":false,\"ratio\":0.25,\"trace\":\"0123456789abcdef000000000000000f\"}\n");
}

// What a formatter has kept from other lines is not seen in a line.
TEST_F(LogLine, is_the_same_whatever_came_before_it) {
  log::Logger other("db");
  for (int round = 0; round < 3; ++round) {
    log_.info("one", field("a1", 1), field("a2", 2), field("a3", 3), field("a4", 4), field("a5", 5), field("a6", 6),
              field("a7", 7), field("a8", 8), field("a9", 9), field("b1", 10), field("b2", 20), field("b3", 30));
    log_.warn("two", field("b4", 1), field("b5", 2), field("b6", 3), field("b7", 4), field("b8", 5), field("b9", 6),
              field("c1", 7), field("c2", 8), field("c3", 9), field("c4", 10), field("c5", 20), field("c6", 30));
    log_.info("three", field("c7", 1), field("c8", 2), field("c9", 3), field("d1", 4), field("d2", 5), field("d3", 6),
              field("d4", 7), field("d5", 8), field("d6", 9), field("d7", 10), field("d8", 20), field("d9", 30));
    other.info("four", field("a.name.that.is.longer.than.most.names.and.as.long.as.it.may.bex", 1));
    other.info("five");
    other.info("six");
    other.info("seven");
    other.info("eight");
    other.info("nine");
    for (const log::Logger* logger : {&log_, &other}) {
      for (const Level level : {Level::Info, Level::Error}) {
        logger->log(level, "ten", field("v", 1));
        logger->log(level, "ten", field("v", "1"));
        logger->log(level, "ten", field("v", "a \"b\""));
        logger->log(level, "ten", field("v", Error(Code::NotFound, "no such user")));
      }
    }
    log_.info(
        "a message that says more than an opening that is kept has room for, so that it is written anew each time, "
        "however often it comes",
        field("v", 1));
  }
  LineFormatter json(LineFormat::Json, Level::Fatal), text(LineFormat::Text, Level::Error);
  int lines = 0;
  reader_.drain([&](const log::Record& record) {
    Buffer kept_json, kept_text, fresh_json, fresh_text;
    json.append(kept_json, record);
    text.append(kept_text, record);
    LineFormatter(LineFormat::Json, Level::Fatal).append(fresh_json, record);
    LineFormatter(LineFormat::Text, Level::Error).append(fresh_text, record);
    EXPECT_EQ(kept_json.view(), fresh_json.view());
    EXPECT_EQ(kept_text.view(), fresh_text.view());
    ++lines;
  });
  EXPECT_EQ(lines, 3 * 26);
}

TEST_F(LogLine, is_text_when_told_so) {
  const Span span{{0, 1}};
  const ScopedSpan scoped(span);
  log_.info("request", field("method", "GET"), field("path", "/a b"), field("empty", ""), field("duration", -1500_ms));

  EXPECT_EQ(line(LineFormat::Text),
            "2026-11-21T03:31:00.123456Z INFO  http.server: request method=GET path=\"/a b\" empty=\"\" "
            "duration=-1.5 trace=00000000000000000000000000000001\n");
}

TEST_F(LogLine, spells_errors_out) {
  log_.warn("failed", Error::from_errno("open", ENOENT), field("cause", Error(Code::Conflict, "taken")));

  EXPECT_NE(line(LineFormat::Json)
                .find("\"error\":\"open: No such file or directory\",\"error_code\":\"NotFound\","
                      "\"cause\":\"taken\",\"cause_code\":\"Conflict\""),
            std::string::npos);
}

TEST_F(LogLine, names_the_source_from_its_level_on) {
  log_.warn("w");
  EXPECT_NE(line(LineFormat::Json, Level::Warn).find("\"source\":\"log_line_test.cc:"), std::string::npos);
  log_.info("i");
  EXPECT_EQ(line(LineFormat::Json, Level::Warn).find("source"), std::string::npos);
}

TEST_F(LogLine, numbers_that_are_none_are_null) {
  log_.info("m", field("a", std::nan("")), field("b", INFINITY), field("c", 1e300), field("d", 0_s), field("e", 2_s));
  EXPECT_NE(line(LineFormat::Json).find("\"a\":null,\"b\":null,\"c\":1e+300,\"d\":0,\"e\":2}"), std::string::npos);
}

// Log injection and terminal escapes: whatever a field holds, the record stays one line of printable text.
TEST_F(LogLine, escapes_what_could_forge_a_line) {
  struct Case {
    std::string_view bytes, json, text;
  };
  const Case cases[] = {
      {"a\"b\\c", R"("a\"b\\c")", R"("a\"b\\c")"},
      {"x\r\n{\"level\":\"fatal\"}", R"("x\r\n{\"level\":\"fatal\"}")", R"("x\r\n{\"level\":\"fatal\"}")"},
      {"\x1b[31mred", R"("\u001b[31mred")", R"("\u{001b}[31mred")"},
      {std::string_view("nul\0end", 7), R"("nul\u0000end")", R"("nul\u{0000}end")"},
      {"del\x7f", R"("del\u007f")", R"("del\u{007f}")"},
      {"c1\xc2\x9b", R"("c1\u009b")", R"("c1\u{009b}")"},
      {"sep\xe2\x80\xa8", R"("sep\u2028")", R"("sep\u{2028}")"},
      {"bidi\xe2\x80\xae", R"("bidi\u202e")", R"("bidi\u{202e}")"},
      {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\x89", "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\x89\"",
       "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\x89\""},
      {"\xff\xfe", R"("\ufffd\ufffd")", R"("\xff\xfe")"},
      {"\xc0\xaf", R"("\ufffd\ufffd")", R"("\xc0\xaf")"},                // overlong
      {"\xed\xa0\x80", R"("\ufffd\ufffd\ufffd")", R"("\xed\xa0\x80")"},  // surrogate
      {"\xf4\x90\x80\x80", R"("\ufffd\ufffd\ufffd\ufffd")", R"("\xf4\x90\x80\x80")"},
      {"cut\xe2\x82", R"("cut\ufffd\ufffd")", R"("cut\xe2\x82")"},
      {"a=b", "\"a=b\"", "\"a=b\""},
      {"%s%n{}", "\"%s%n{}\"", "%s%n{}"},
  };
  for (const Case& c : cases) {
    const auto [json, text] = both(c.bytes);
    EXPECT_EQ(json, c.json);
    EXPECT_EQ(text, c.text);
  }
}

// Texts are looked through eight bytes at a time, whatever their length and wherever the odd byte is.
TEST_F(LogLine, escapes_every_byte_at_every_place) {
  for (std::size_t size = 1; size <= 20; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned byte = 0; byte < 0x80; ++byte) {
        std::string text(size, 'x');
        text[at] = static_cast<char>(byte);
        const bool plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
        const auto [json, line] = both(text);
        ASSERT_EQ(json.size() == size + 2, plain) << json;
        ASSERT_EQ(line == text, plain && byte != ' ' && byte != '=') << line;
      }
      std::string text(size, 'x');
      text[at] = '\xff';
      ASSERT_EQ(both(text).first.size(), size + 2 + 5);
    }
  }
}

TEST_F(LogLine, seconds_have_as_many_digits_as_they_need) {
  log_.info("m", field("a", Duration::nanoseconds(1)), field("b", Duration::nanoseconds(999'999'999)),
            field("c", Duration::nanoseconds(-1'020'000'000)), field("d", Duration::nanoseconds(INT64_MIN)),
            field("e", 100_ms));
  EXPECT_NE(line(LineFormat::Json)
                .find("\"a\":0.000000001,\"b\":0.999999999,\"c\":-1.02,\"d\":-9223372036.854775808,\"e\":0.1}"),
            std::string::npos);
}

TEST(LogLineTime, follows_the_calendar) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  LineFormatter formatter(LineFormat::Text, Level::Fatal);
  log::Reader reader(false);
  const std::pair<std::int64_t, std::string_view> cases[] = {
      {0, "1970-01-01T00:00:00.000000Z"},
      {999, "1970-01-01T00:00:00.000000Z"},
      {-1000, "1969-12-31T23:59:59.999999Z"},
      {1'709'210'096'000'001'000, "2024-02-29T12:34:56.000001Z"},
      {1'709'210'096'999'999'999, "2024-02-29T12:34:56.999999Z"},
  };
  for (const auto& [ns, text] : cases) {
    FixedClock clock(ns);
    log::Logger("t").info("m");
    Buffer out;
    reader.drain([&](const log::Record& record) { formatter.append(out, record); });
    EXPECT_EQ(out.view().substr(0, 27), text);
  }
}

}  // namespace
}  // namespace keel::telemetry::log_line_test
