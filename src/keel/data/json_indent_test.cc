#include "keel/data/json_indent.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace keel::json::json_indent_test {
namespace {

std::string indented(std::string_view text) {
  Buffer out;
  indent(out, text);
  return std::string(out.view());
}

TEST(JsonIndent, puts_two_spaces_for_each_level) {
  EXPECT_EQ(indented(R"({"a":1,"b":[1,{}],"c":[]})"),
            "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    {}\n  ],\n  \"c\": []\n}");
}

TEST(JsonIndent, leaves_a_single_value_as_it_is) {
  for (const char* text : {"1", "-0.5e3", "true", "null", R"("text")", "{}", "[]"}) EXPECT_EQ(indented(text), text);
}

TEST(JsonIndent, replaces_the_blanks_that_were_there) {
  const std::string once = indented(R"({"a":[1,2],"b":{"c":null}})");

  EXPECT_EQ(indented(once), once);
  EXPECT_EQ(indented("[ 1 ,\r\n\t2 ]"), "[\n  1,\n  2\n]");
  EXPECT_EQ(indented("{ }"), "{}");
}

TEST(JsonIndent, looks_into_no_string) {
  const std::pair<const char*, const char*> rows[] = {
      {R"(["{[,:]}"])", "[\n  \"{[,:]}\"\n]"},
      {R"(["a\"b,c"])", "[\n  \"a\\\"b,c\"\n]"},
      {R"(["a\\",1])", "[\n  \"a\\\\\",\n  1\n]"},
      {R"(["a  b"])", "[\n  \"a  b\"\n]"},
  };
  for (const auto& [text, wanted] : rows) EXPECT_EQ(indented(text), wanted);
}

TEST(JsonIndent, ends_with_a_text_that_is_not_json) {
  for (const char* text : {"", "\"", "\"a\\", "]]", "{[", ",:", "[1"}) indented(text);
}

}  // namespace
}  // namespace keel::json::json_indent_test
