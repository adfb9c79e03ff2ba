#include "api/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/data/json_parse.h"

namespace keel::api::yaml_test {
namespace {

std::string yaml(std::string_view json) {
  std::string out = "value:";
  append_yaml(out, *json::parse<json::Value>(json), 2);
  return out;
}

TEST(Yaml, texts_are_quoted_where_they_would_be_something_else) {
  EXPECT_EQ(yaml_text("application/json"), "application/json");
  EXPECT_EQ(yaml_text("it is gone."), "it is gone.");
  EXPECT_EQ(yaml_text("200"), "'200'");
  EXPECT_EQ(yaml_text("true"), "'true'");
  EXPECT_EQ(yaml_text("No"), "'No'");
  EXPECT_EQ(yaml_text(""), "''");
  EXPECT_EQ(yaml_text("it's: so"), "'it''s: so'");
  EXPECT_EQ(yaml_text("^[a-z]+$"), "'^[a-z]+$'");
  EXPECT_EQ(yaml_text("a\nb"), R"("a\nb")");
  EXPECT_EQ(yaml_text("$ref"), "$ref");
}

TEST(Yaml, objects_and_lists_of_objects_are_blocks) {
  EXPECT_EQ(yaml(R"({"a":1,"b":{"c":true},"d":[],"e":{},"f":null})"),
            "value:\n  a: 1\n  b:\n    c: true\n  d: []\n  e: {}\n  f: null\n");
  EXPECT_EQ(yaml(R"([{"a":1,"b":{"c":2}},{"d":["x","1"]}])"),
            "value:\n  - a: 1\n    b:\n      c: 2\n  - d: [x, '1']\n");
  EXPECT_EQ(yaml(R"([[{"a":1}],2])"), "value:\n  - - a: 1\n  - 2\n");
}

}  // namespace
}  // namespace keel::api::yaml_test
