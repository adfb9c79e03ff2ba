#include "keel/data/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
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
