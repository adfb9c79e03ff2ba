#include "keel/data/json_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace keel::json_writer_test {
namespace {

using json::Writer;

std::string view(const Buffer& buffer) { return std::string(buffer.view()); }

TEST(JsonWriter, writes_objects_arrays_and_every_kind_of_value) {
  Buffer buffer;
  Writer out(buffer);

  out.begin_object();
  out.key("id").integer(-7).key("name").string("Ada").key("big").unsigned_integer(18446744073709551615u);
  out.key("tags").begin_array().string("x").boolean(true).boolean(false).null().number(1.5).end_array();
  out.key("none").begin_object().end_object().key("raw").raw("[1]");
  out.end_object();

  EXPECT_EQ(view(buffer), R"({"id":-7,"name":"Ada","big":18446744073709551615,"tags":["x",true,false,null,1.5],)"
                          R"("none":{},"raw":[1]})");
  EXPECT_TRUE(out.is_complete());
}

TEST(JsonWriter, is_complete_only_when_everything_begun_has_ended) {
  Buffer buffer;
  Writer out(buffer);

  EXPECT_FALSE(out.is_complete());
  out.begin_array().integer(1);
  EXPECT_FALSE(out.is_complete());
  out.end_array();
  EXPECT_TRUE(out.is_complete());
}

// RFC 8259 §7.
TEST(JsonWriter, escapes_quotes_backslashes_and_controls_at_every_offset) {
  const std::pair<char, const char*> escapes[] = {
      {'"', "\\\""}, {'\\', "\\\\"},    {'\b', "\\b"},       {'\f', "\\f"},    {'\n', "\\n"}, {'\r', "\\r"},
      {'\t', "\\t"}, {'\0', "\\u0000"}, {'\x1f', "\\u001f"}, {'\x7f', "\x7f"}, {'/', "/"}};
  for (const auto& [raw, escaped] : escapes) {
    for (std::size_t before = 0; before < 35; ++before) {
      for (std::size_t after : {0u, 1u, 7u, 20u}) {
        Buffer buffer;
        const std::string front(before, 'x');
        const std::string back(after, 'y');
        Writer(buffer).string(front + raw + back);
        ASSERT_EQ(view(buffer), '"' + front + escaped + back + '"');
      }
    }
  }
}

TEST(JsonWriter, replaces_what_is_not_utf8_and_keeps_what_is) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"é€😀", "\"é€😀\""},       {"\xFF", "\"\uFFFD\""},     {"a\xC3", "\"a\uFFFD\""},
      {"\xC3(x", "\"\uFFFD(x\""}, {"é\x80é", "\"é\uFFFDé\""}, {"\xED\xA0\x80", "\"\uFFFD\uFFFD\uFFFD\""}};
  for (const auto& [text, expected] : rows) {
    Buffer buffer;
    Writer(buffer).string(text);
    EXPECT_EQ(buffer.view(), expected);
  }
}

TEST(JsonWriter, writes_the_shortest_double_and_null_for_what_json_lacks) {
  const std::pair<double, const char*> rows[] = {{0.1, "0.1"},
                                                 {-0.0, "-0"},
                                                 {1e300, "1e+300"},
                                                 {3, "3"},
                                                 {5e-324, "5e-324"},
                                                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                 {std::nan(""), "null"},
                                                 {std::numeric_limits<double>::infinity(), "null"},
                                                 {-std::numeric_limits<double>::infinity(), "null"}};
  for (const auto& [value, expected] : rows) {
    Buffer buffer;
    Writer(buffer).number(value);
    EXPECT_EQ(buffer.view(), expected);
  }
}

std::string written(double value) {
  Buffer buffer;
  Writer(buffer).number(value);
  return view(buffer);
}
std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

TEST(JsonWriter, writes_numbers_of_few_digits_as_the_standard_library_does) {
  for (int whole = 0; whole < 120'000; ++whole) {
    for (const double value : {static_cast<double>(whole), -static_cast<double>(whole), whole / 10.0, whole / 100.0,
                               whole / 1000.0, -whole / 1e4, whole / 1e5}) {
      ASSERT_EQ(written(value), shortest(value));
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 300'000; ++i) {
    const auto bits = random();
    const double scale = std::pow(10.0, static_cast<double>(bits % 8));
    const double decimal = static_cast<double>(random() % 100'000'000'000) / scale;
    ASSERT_EQ(written(decimal), shortest(decimal));
    const double near = std::nextafter(decimal, bits & 8 ? 0.0 : 1e300);
    ASSERT_EQ(written(near), shortest(near));
    const auto any = std::bit_cast<double>(bits);
    if (std::isfinite(any)) {
      ASSERT_EQ(written(any), shortest(any));
    }
  }
  EXPECT_EQ(written(97.25), "97.25");
  EXPECT_EQ(written(-0.0), "-0");
  EXPECT_EQ(written(1e5), "1e+05");
}

TEST(JsonWriter, writes_the_extremes_of_integers) {
  Buffer buffer;
  Writer(buffer)
      .begin_array()
      .integer(std::numeric_limits<std::int64_t>::min())
      .integer(std::numeric_limits<std::int64_t>::max())
      .end_array();
  EXPECT_EQ(buffer.view(), "[-9223372036854775808,9223372036854775807]");
}

}  // namespace
}  // namespace keel::json_writer_test
