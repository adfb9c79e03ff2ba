#include "openapi/source.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/arena.h"
#include "keel/data/json_reader.h"
#include "openapi/testing.h"

namespace keel::openapi::source_test {
namespace {

using namespace keel::openapi::testing;

// The root of a text, whose problems are a failure.
const Node& parsed(Store& store, const std::string& text, const std::string& name = "a.yaml") {
  Problems problems;
  static const std::string yaml = "a.yaml";
  static const std::string json = "a.json";
  const Node* const root = parse_source(store, name == yaml ? yaml : json, text, problems);
  EXPECT_EQ(described(problems), Lines());
  EXPECT_NE(root, nullptr);
  static const Node nothing;
  return root == nullptr ? nothing : *root;
}
Lines problems_of(const std::string& text) {
  static const std::string name = "a.yaml";
  Store store;
  Problems problems;
  EXPECT_EQ(parse_source(store, name, text, problems), nullptr);
  return described(problems);
}

TEST(Source, a_value_knows_where_it_was_written) {
  Store store;
  const Node& root = parsed(store, "é: [1, {ü: x}]\nb:\n  c: |\n    text\n");

  EXPECT_EQ(place_of(*root.find("é")), "a.yaml:1:1");
  EXPECT_EQ(place_of(*root.find("é")->children[1]), "a.yaml:1:8");
  EXPECT_EQ(place_of(*root.find("é")->children[1]->find("ü")), "a.yaml:1:9");
  EXPECT_EQ(place_of(*root.find("b")->find("c")), "a.yaml:3:3");
}

TEST(Source, a_value_of_json_knows_where_it_was_written) {
  Store store;
  const Node& root = parsed(store, "{\"é\": [1,\n  {\"a\\u00fc\": \"x\\ty\"}]}", "a.json");

  EXPECT_EQ(place_of(*root.find("é")), "a.json:1:2");
  const Node& inner = *root.find("é")->children[1];
  EXPECT_EQ(place_of(inner), "a.json:2:3");
  EXPECT_EQ(place_of(*inner.find("aü")), "a.json:2:4");
  EXPECT_EQ(inner.string("aü"), "x\ty");
}

TEST(Source, yaml_and_json_give_the_same_values) {
  Store store;
  const Node& yaml =
      parsed(store, "a: 1\nb: [true, null, ~, '1', 1.5e3, -2, yes, 2024-01-01]\nc: {200: x}\nd: !!str 5\ne:\n");
  const Node& json = parsed(store, R"({"a": 1, "b": [true, null, null, "1", 1500, -2, "yes", "2024-01-01"],
    "c": {"200": "x"}, "d": "5", "e": null})",
                            "a.json");

  EXPECT_TRUE(are_equal(yaml, json)) << shown(yaml);
}

TEST(Source, a_number_of_yaml_has_the_text_that_json_gives_it) {
  const std::pair<std::string, std::string> table[] = {
      {"0", "0"},     {"-0", "-0"},  {"+1", "1"},        {".5", "0.5"},    {"-.5", "-0.5"},       {"+.5e3", "0.5e3"},
      {"5.", "5"},    {"-5.", "-5"}, {"5.e3", "5e3"},    {"0.50", "0.50"}, {"1E+2", "1E+2"},      {"0.0", "0.0"},
      {"0e0", "0e0"}, {"+0", "0"},   {"1e400", "1e400"}, {"100", "100"},   {"-10.010", "-10.010"}};
  for (const auto& [yaml, json] : table) {
    Store store;
    const Node& root = parsed(store, "a: " + yaml + "\n");
    EXPECT_EQ(root.find("a")->text, json) << yaml;
    EXPECT_TRUE(root.find("a")->is(Kind::Number)) << yaml;
    Arena arena;
    json::Reader in(root.find("a")->text, arena);
    in.skip();
    EXPECT_TRUE(in.finish()) << yaml << " is no JSON: " << json;
  }
}

TEST(Source, a_number_with_leading_zeros_is_decimal_with_a_warning) {
  const std::pair<std::string, std::string> table[] = {{"02139", "2139"}, {"010", "10"}, {"-08", "-8"},
                                                       {"+007", "7"},     {"00", "0"},   {"00.50", "0.50"}};
  for (const auto& [yaml, json] : table) {
    static const std::string name = "a.yaml";
    Store store;
    Problems problems;
    const Node* const root = parse_source(store, name, "zip: " + yaml + "\n", problems);
    ASSERT_NE(root, nullptr);
    EXPECT_EQ(root->find("zip")->text, json);
    EXPECT_EQ(described(problems), Lines{"a.yaml:1:1: warning: the number " + yaml + " is " + json +
                                         ": put it in quotes if it is text (#/zip)"});
  }
}

TEST(Source, yaml_in_braces_need_not_be_json) {
  Store store;
  EXPECT_EQ(shown(parsed(store, "{a: b, 'c': [d]}")), R"({"a": "b", "c": ["d"]})");
}

TEST(Source, an_alias_is_a_copy_in_its_own_place) {
  Store store;
  const Node& root = parsed(store, "a: &x {b: [1, 2]}\nc: *x\n");

  EXPECT_TRUE(are_equal(*root.find("a"), *root.find("c")));
  EXPECT_EQ(pointer_of(*root.find("c")->find("b")->children[1]), "#/c/b/1");
  EXPECT_EQ(place_of(*root.find("c")), "a.yaml:2:1");
}

TEST(Source, aliases_that_multiply_are_bounded) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += "*a" + std::to_string(i - 1) + (j < 9 ? ", " : "]\n");
  }
  EXPECT_EQ(problems_of(bomb), (Lines{"a.yaml:7:10: error: the document has too many values: at most 2000000 are read, "
                                      "after aliases are expanded"}));
}

TEST(Source, depth_is_bounded) {
  const std::string deep = "a: " + std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(problems_of(deep), (Lines{"a.yaml:1:131: error: is nested too deeply: at most 128 levels are read"}));
  std::string mapped;
  for (int i = 0; i < 200; ++i) mapped += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(problems_of(mapped), (Lines{"a.yaml:129:129: error: is nested too deeply: at most 128 levels are read"}));
}

// A line of megabytes, whose columns are not counted anew for each value.
TEST(Source, a_long_line_takes_linear_time) {
  std::string line = "{k: 1";
  for (int i = 0; i < 50'000; ++i) line += ", k" + std::to_string(i) + ": 1";
  line += "}\n";
  Store store;
  const Node& root = parsed(store, line);
  ASSERT_EQ(root.children.size(), 50'001u);
  EXPECT_EQ(place_of(*root.children.back()), "a.yaml:1:" + std::to_string(line.size() - 10));
}

TEST(Source, size_is_bounded) {
  EXPECT_EQ(problems_of(std::string(file_bytes_max + 1, ' ')),
            (Lines{"a.yaml: error: is too large: at most 32 MiB are read"}));
}

TEST(Source, a_byte_order_mark_is_passed_over) {
  Store store;
  EXPECT_EQ(shown(parsed(store, "\xef\xbb\xbf{\"a\": 1}")), R"({"a": 1})");
}

// Each beginning of a text is one, or is rejected with a place in it.
TEST(Source, any_beginning_of_a_text_is_read_or_rejected) {
  const std::string text = "{\"a\": [1, true, null, \"é\\u00e9\\\\\"], \"b\": {\"c\": -1.5e3}}\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    Store store;
    Problems problems;
    static const std::string name = "a.json";
    const Node* const root = parse_source(store, name, text.substr(0, size), problems);
    EXPECT_EQ(root == nullptr, problems.errors() == 1) << size;
    EXPECT_EQ(root != nullptr, size >= text.size() - 1) << size;
  }
}

TEST(Source, text_that_is_no_yaml_is_an_error) {
  EXPECT_EQ(lint_of("openapi: [3.1.0\n"
                    "info: }\n"),
            (Lines{"api.yaml:2:5: error: is no YAML: end of sequence flow not found"}));
}

TEST(Source, text_that_is_no_json_is_an_error) {
  EXPECT_EQ(lint_of(Files{{"api.yaml",
                           "openapi: 3.1.0\n"
                           "info: {title: Shop, version: '1'}\n"
                           "paths:\n"
                           "  /a: {$ref: b.json}\n"},
                          {"b.json",
                           "{\"a\": 1,\n"
                           " \"é\": tru}"}}),
            (Lines{"b.json:2:7: error: is no JSON: expected a value"}));
}

TEST(Source, a_key_that_is_given_twice_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: {}\n"
                    "info: {title: Again, version: '2'}\n"),
            (Lines{"api.yaml:4:1: error: the key 'info' is given twice: first in line 2 (#/info)"}));
}

TEST(Source, a_key_that_json_gives_twice_is_an_error) {
  EXPECT_EQ(lint_of("{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"é\", \"title\": \"b\", \"version\": \"1\"},\n"
                    " \"paths\": {}}"),
            (Lines{"api.yaml:1:45: error: the key 'title' is given twice: first in line 1 (#/info/title)"}));
}

TEST(Source, a_second_document_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: {}\n"
                    "---\n"
                    "a: 1\n"),
            (Lines{"api.yaml:4:1: error: the file has a second document: expected only one"}));
}

TEST(Source, a_tag_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: !map {}\n"),
            (Lines{"api.yaml:3:8: error: tags are not supported"}));
}

TEST(Source, a_merge_key_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "x-a: &a {b: 1}\n"
                    "paths:\n"
                    "  <<: *a\n"),
            (Lines{"api.yaml:5:3: error: merge keys (<<) are not supported: they are not part of YAML 1.2"}));
}

TEST(Source, a_key_that_is_no_text_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "? [a]\n"
                    ": 1\n"),
            (Lines{"api.yaml:3:3: error: a key is a list or a map, or a bracket is not closed: expected text"}));
}

TEST(Source, an_alias_inside_its_anchor_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "x-a: &a {b: *a}\n"),
            (Lines{"api.yaml:3:13: error: an alias refers to the value that contains it"}));
}

TEST(Source, a_number_that_json_lacks_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "x-a: .inf\n"),
            (Lines{"api.yaml:3:6: error: .inf is not a JSON number"}));
}

TEST(Source, an_unquoted_True_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "x-a: True\n"),
            (Lines{"api.yaml:3:6: error: write true or false, or put 'True' in quotes"}));
}

TEST(Source, an_empty_file_is_an_error) { EXPECT_EQ(lint_of(" \n"), (Lines{"api.yaml: error: is empty"})); }

TEST(Source, text_that_is_not_utf8_is_an_error) {
  EXPECT_EQ(lint_of("openapi: \xff\n"), (Lines{"api.yaml: error: is not text in UTF-8"}));
}

}  // namespace
}  // namespace keel::openapi::source_test
