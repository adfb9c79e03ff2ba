#include "keel/observe/log.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/bug.h"
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

enum class State { Open, Paid };
struct Sku {
  static constexpr const char* expected = "expected a SKU";
  static Result<Sku> parse(std::string_view) { return Sku(); }
  ShortText<7> text() const {
    ShortText<7> text;
    std::memcpy(text.data(), "AB-1234", 7);
    text.resize(7);
    return text;
  }
};
struct Order {
  std::int64_t id = 7;
  std::string customer = "ann";
  std::optional<std::string> note;
  std::optional<int> count = -3;
  State state = State::Paid;
  State unknown = static_cast<State>(9);
  Sku sku;
  Duration took = 15_ms;
  double price = 1.5;
  float weight = 0.5f;
  bool is_paid = true;
  std::uint8_t lines = 200;
  std::string_view empty;
};
struct Place {
  std::string city = "Graz";
};
class Hidden {
  int number_ = 3;

 public:
  static constexpr auto fields = keel::fields("number", &Hidden::number_);
};

TEST(Logger, gives_the_fields_of_a_struct_by_their_names) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  const Logger log("test.structs");
  Order order;

  log.info("created", order);
  log.info("among others", field("first", 1), Place(), Hidden(), Error::from_errno("open", ENOENT), field("last", "x"));
  order.note = std::string(string_bytes_max + 10, 'n');
  order.customer = "";
  log.info("long", order);

  const auto lines = drain(reader);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "info test.structs: created id=7 customer='ann' count=-3 state='Paid' unknown=9 sku='AB-1234' "
            "took=15000000ns price=1.500000 weight=0.500000 is_paid=true lines=200 empty=''");
  EXPECT_EQ(lines[1], "info test.structs: among others first=1 city='Graz' number=3 error=NotFound/2/open last='x'");
  EXPECT_TRUE(lines[2].starts_with("info test.structs: long id=7 customer='' note='" +
                                   std::string(string_bytes_max, 'n') + "' count=-3"))
      << "its text is kept up to the bound";
}

TEST(Logger, with_takes_structs_and_adds_their_fields_to_every_line) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  const Logger log("test.structs");
  const Logger request = log.with(field("request", 42)).with(Place(), field("user", "ann"));

  request.info("one", Hidden());
  request.info("two");

  EXPECT_EQ(drain(reader), (std::vector<std::string>{
                               "info test.structs: one request=42 city='Graz' user='ann' number=3",
                               "info test.structs: two request=42 city='Graz' user='ann'",
                           }));
}

TEST(Logger, with_of_structs_has_the_bound_of_all_fields) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  struct Twenty {
    int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
  };
  const Logger log("test.structs");

  const Logger much = log.with(Twenty{}, Twenty{}, Twenty{});
  EXPECT_THROW((void)much.with(Twenty{}), Bug);
}

TEST(Logger, records_a_struct_without_the_heap) {
  if (!is_recorded) GTEST_SKIP() << "compiled out";
  Reader reader(false);
  Ring ring;
  const Logger log("test.structs");
  const Order order;
  log.info("warm", order);
  const std::size_t before = keel::internal::allocations();

  for (int i = 0; i < 100; ++i) log.info("created", order);
  log.debug("not recorded", order);

  EXPECT_EQ(keel::internal::allocations() - before, 0u);
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
