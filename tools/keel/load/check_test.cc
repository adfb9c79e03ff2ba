#include "load/check.h"

#include <gtest/gtest.h>

namespace keel::load::load_check_test {
namespace {

bool accepts(const Check& check, std::string_view body) {
  Arena arena;
  return check.has_body(body, arena);
}

TEST(Check, without_a_status_success_and_redirection_are_right) {
  const Check check;

  for (const int status : {200, 204, 299, 302, 399}) EXPECT_TRUE(check.has_status(status)) << status;
  for (const int status : {100, 199, 400, 404, 500}) EXPECT_FALSE(check.has_status(status)) << status;
  EXPECT_FALSE(check.needs_body());
}

TEST(Check, with_a_status_only_that_one_is_right) {
  const Check check{.status = 404};

  EXPECT_TRUE(check.has_status(404));
  EXPECT_FALSE(check.has_status(200));
}

TEST(Check, compares_bodies_whole_in_part_and_by_length) {
  const Check whole{.body = "hello"};
  EXPECT_TRUE(accepts(whole, "hello"));
  EXPECT_FALSE(accepts(whole, "hello!"));
  EXPECT_FALSE(accepts(whole, "hellO"));

  const Check part{.contains = {"ell", "o"}};
  EXPECT_TRUE(accepts(part, "hello"));
  EXPECT_FALSE(accepts(part, "bell"));

  const Check length{.length = 5};
  EXPECT_TRUE(accepts(length, "hello"));
  EXPECT_FALSE(accepts(length, "hell"));
  EXPECT_TRUE(whole.needs_body() && part.needs_body() && length.needs_body());
}

TEST(Check, finds_members_of_json) {
  const char* body =
      R"({"skip": [{"id": 1}], "user": {"name": "Ada \u00e9", "tags": ["a", "b"], "age": 36, "ok": true}})";
  const auto has = [&](std::string path, std::string value) {
    return accepts(Check{.json = {{std::move(path), std::move(value)}}}, body);
  };

  EXPECT_TRUE(has("user.name", "Ada é"));
  EXPECT_TRUE(has("user.age", "36"));
  EXPECT_TRUE(has("user.ok", "true"));
  EXPECT_TRUE(has("user.tags.1", "b"));
  EXPECT_TRUE(has("skip.0.id", "1"));
  EXPECT_FALSE(has("user.age", "37"));
  EXPECT_FALSE(has("user.mail", ""));
  EXPECT_FALSE(has("user.tags.2", "c"));
  EXPECT_FALSE(has("user.tags.x", "a"));
  EXPECT_FALSE(has("user.name.first", "Ada"));
}

TEST(Check, what_is_not_json_has_no_members) {
  const Check check{.json = {{"a", "1"}}};

  for (const char* body : {"", "hello", "{", "{\"a\"", "{\"a\":", "{\"a\": tru", "[1]", "1"}) {
    EXPECT_FALSE(accepts(check, body)) << body;
  }
}

TEST(Check, a_member_is_written_with_its_value) {
  const auto member = parse_member("user.name=a=b");
  ASSERT_TRUE(member);
  EXPECT_EQ(member->path, "user.name");
  EXPECT_EQ(member->value, "a=b");
  EXPECT_FALSE(parse_member("user.name"));
  EXPECT_FALSE(parse_member("=x"));
}

}  // namespace
}  // namespace keel::load::load_check_test
