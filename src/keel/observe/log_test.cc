#include "keel/observe/log.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "keel/base/testing/allocation_count.h"
#include "keel/observe/log_record.h"

namespace keel::log::log_test {
namespace {

std::string text_of(const FieldView& field) {
  switch (field.kind) {
    case FieldKind::Bool:
      return field.word != 0 ? "true" : "false";
    case FieldKind::Int:
      return std::to_string(static_cast<std::int64_t>(field.word));
    case FieldKind::Uint:
      return std::to_string(field.word);
    case FieldKind::Double:
      return std::to_string(field.number);
    case FieldKind::Duration:
      return std::to_string(static_cast<std::int64_t>(field.word)) + "ns";
    case FieldKind::String:
      return "'" + std::string(field.text) + "'";
    case FieldKind::Error:
      return std::string(to_string(field.code)) + "/" + std::to_string(field.errno_value) + "/" +
             std::string(field.text);
  }
  return "?";
}

std::string text_of(const Record& record) {
  std::string out(to_string(record.level()));
  out.append(" ").append(record.component()).append(": ").append(record.message());
  record.for_each(
      [&out](const FieldView& field) { out.append(" ").append(field.name).append("=").append(text_of(field)); });
  return out;
}

std::vector<std::string> drain(Reader& reader) {
  std::vector<std::string> lines;
  reader.drain([&lines](const Record& record) { lines.push_back(text_of(record)); });
  return lines;
}

TEST(Logger, keeps_every_kind_of_field) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  Logger log("test.kinds");
  const Error error = Error::from_errno("open", ENOENT);

  log.info("all", field("yes", true), field("int", -5), field("long", std::int64_t{1} << 40), field("unsigned", 7u),
           field("byte", std::uint8_t{200}), field("double", 1.5), field("text", "hello"),
           field("string", std::string("owned")), field("empty", std::string_view()), field("took", 15_ms),
           field("cause", error));
  log.warn("failed", error);

  EXPECT_EQ(drain(reader),
            (std::vector<std::string>{
                "info test.kinds: all yes=true int=-5 long=1099511627776 unsigned=7 byte=200 double=1.500000 "
                "text='hello' string='owned' empty='' took=15000000ns cause=NotFound/2/open",
                "warn test.kinds: failed error=NotFound/2/open"}));
}

TEST(Logger, with_adds_its_fields_to_every_line) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  Logger log("test.with");
  {
    Logger request = log.with(field("request", 42), field("user", std::string("ann")));
    Logger query = request.with(field("statement", "find_user"));
    query.info("slow", field("rows", 3));
    request.info("done");
  }
  log.info("plain");

  EXPECT_EQ(drain(reader),
            (std::vector<std::string>{"info test.with: slow request=42 user='ann' statement='find_user' rows=3",
                                      "info test.with: done request=42 user='ann'", "info test.with: plain"}));
}

TEST(Logger, records_place_time_and_trace) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  Logger log("test.place");
  const std::int64_t before = Host::current().wall_ns();
  unsigned line = 0;
  {
    const Span span{{0x0123456789abcdef, 1}};
    const ScopedSpan scoped(span);
    line = __LINE__ + 1;
    log.info("inside", field("n", 1));
  }
  log.info("outside");

  int seen = 0;
  reader.drain([&](const Record& record) {
    EXPECT_GE(record.wall_ns(), before);
    EXPECT_EQ(record.message(), seen == 0 ? "inside" : "outside");
    EXPECT_EQ(record.trace(), seen == 0 ? (TraceId{0x0123456789abcdef, 1}) : TraceId{});
    if (seen == 0) {
      EXPECT_EQ(record.where().line(), line);
      EXPECT_TRUE(std::string_view(record.where().file_name()).ends_with("log_test.cc"));
    }
    ++seen;
  });
  EXPECT_EQ(seen, 2);
}

TEST(Logger, levels_change_while_it_runs) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  Logger a("test.level_a");
  Logger b("test.level_b");
  a.debug("no");
  set_level("test.level_a", Level::Debug);
  a.debug("yes");
  b.debug("no");
  EXPECT_TRUE(a.is_on(Level::Debug));
  EXPECT_FALSE(b.is_on(Level::Debug));
  set_level(Level::Error);
  a.warn("no");
  Logger("test.level_c").warn("no");
  b.log(Level::Error, "yes");
  set_level(Level::Info);

  EXPECT_EQ(drain(reader), (std::vector<std::string>{"debug test.level_a: yes", "error test.level_b: yes"}));
  int components = 0;
  each_component([&components](const Component& c) { components += c.name().starts_with("test.level_") ? 1 : 0; });
  EXPECT_EQ(components, 3);
}

TEST(Logger, cuts_long_text) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  Logger("test.long").info("long", field("text", std::string(20'000, 'x')), field("after", 1));

  reader.drain([](const Record& record) {
    record.for_each([](const FieldView& f) {
      if (f.name == "text") {
        EXPECT_EQ(f.text, std::string(string_bytes_max, 'x'));
      } else {
        EXPECT_EQ(f.word, 1u);
      }
    });
  });
}

TEST(Logger, recording_does_not_allocate) {
  Reader reader(false);
  Ring ring;
  Logger log("test.heap");
  const Error error(Code::NotFound, "no such user");
  const std::string path = "/api/users/1";
  const auto record = [&] {
    const Span span{{1, 2}};
    const ScopedSpan scoped(span);
    log.info("request", field("method", "GET"), field("path", path), field("status", 200), field("duration", 12_us));
    log.error("failed", error);
    log.with(field("request", 1)).info("done", field("rows", 3.5));
  };
  record();  // The pool's first block.

  const std::size_t before = keel::internal::allocations();
  for (int i = 0; i < 100; ++i) record();
  EXPECT_EQ(keel::internal::allocations(), before);
  EXPECT_EQ(drain(reader).size(), is_recorded ? 303u : 0u);
}

TEST(Logger, compiled_out_records_nothing) {
  if (is_recorded) GTEST_SKIP() << "compiled in";
  Reader reader(false);
  Logger("test.bare").fatal("nothing");
  EXPECT_TRUE(drain(reader).empty());
}

}  // namespace
}  // namespace keel::log::log_test
