#include "openapi/node.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "openapi/source.h"
#include "openapi/testing.h"

namespace keel::openapi::node_test {
namespace {

using namespace keel::openapi::testing;

const Node& value(Store& store, const std::string& text) {
  static const std::string name = "a.yaml";
  Problems problems;
  const Node* const root = parse_source(store, name, text, problems);
  EXPECT_EQ(described(problems), Lines());
  return *root;
}

TEST(Node, has_a_pointer_with_escapes) {
  Store store;
  const Node& root = value(store, "a/b~c: [{'': 1}]\n");
  EXPECT_EQ(pointer_of(root), "#");
  EXPECT_EQ(pointer_of(*root.children[0]->children[0]->children[0]), "#/a~1b~0c/0/");
}

TEST(Node, is_equal_as_a_value_of_json) {
  Store store;
  const auto are = [&](const std::string& a, const std::string& b) {
    return are_equal(value(store, a), value(store, b));
  };
  EXPECT_TRUE(are("1", "1.0"));
  EXPECT_TRUE(are("100", "1e2"));
  EXPECT_FALSE(are("1", "'1'"));
  EXPECT_FALSE(are("1", "true"));
  EXPECT_TRUE(are("{a: 1, b: [x]}", "{b: [x], a: 1}"));
  EXPECT_FALSE(are("{a: 1}", "{a: 1, b: 2}"));
  EXPECT_FALSE(are("[1, 2]", "[2, 1]"));
}

TEST(Node, has_a_whole_number_when_it_is_one) {
  Store store;
  EXPECT_EQ(value(store, "5.0").whole(), 5);
  EXPECT_EQ(value(store, "+7").whole(), 7);
  EXPECT_EQ(value(store, "1.5").whole(), std::nullopt);
  EXPECT_EQ(value(store, "1e30").whole(), std::nullopt);
  EXPECT_EQ(value(store, "x").whole(), std::nullopt);
  EXPECT_EQ(value(store, "1e999").number(), HUGE_VAL);
  EXPECT_EQ(value(store, "1e-999").number(), 0);
}

TEST(Node, is_shown_as_json_and_cut) {
  Store store;
  EXPECT_EQ(shown(value(store, "{a: [1, null, \"x\\\"y\"]}")), R"({"a": [1, null, "x\"y"]})");
  EXPECT_EQ(shown(value(store, std::string(58, 'a') + "éé")), '"' + std::string(58, 'a') + "…");
}

}  // namespace
}  // namespace keel::openapi::node_test
