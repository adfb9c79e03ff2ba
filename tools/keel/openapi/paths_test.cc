#include "openapi/paths.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace keel::openapi::paths_test {
namespace {

TEST(Template, has_its_names_in_order) {
  const Template parsed = parse_template("/a/{b}/{c-d}");
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(parsed.names, (std::vector<std::string_view>{"b", "c-d"}));
  EXPECT_TRUE(parse_template("/a").names.empty());
}

TEST(Template, says_what_is_wrong) {
  EXPECT_EQ(parse_template("/{a").problem, "has a '{' without a '}'");
  EXPECT_EQ(parse_template("/{a/b}").problem, "has a '{' without a '}'");
  EXPECT_EQ(parse_template("/{a{b}}").problem, "has a '{' without a '}'");
  EXPECT_EQ(parse_template("/a}").problem, "has a '}' without a '{'");
  EXPECT_EQ(parse_template("/{}").problem, "has a parameter without a name");
  EXPECT_EQ(parse_template("/{a}/{a}").problem, "has the parameter 'a' twice");
}

TEST(Template, has_a_shape_without_names) {
  EXPECT_EQ(shape_of("/a/{b}/c.{d}"), "/a/{}/c.{}");
  EXPECT_EQ(shape_of("/{a"), "/{");
}

}  // namespace
}  // namespace keel::openapi::paths_test
