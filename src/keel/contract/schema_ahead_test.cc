#include <gtest/gtest.h>

#include <string>

#include "keel/contract/testing.h"

namespace keel::contract::schema_ahead_test {
namespace {

using testing::Tables;

// Reads {"first": …, "value": <checked ahead>, "last": …}; "/value/a 3:7 expected a string" each.
struct Reading {
  explicit Reading(std::string_view schema, std::string_view text) {
    const Tables tables(schema);
    Arena arena;
    json::Reader in(text, arena);
    in.begin_object();
    while (const auto key = in.next_key()) {
      if (*key == "value") is_valid = check_ahead(in, tables.root(), wrong);
      values += in.skip();
    }
    is_finished = in.finish().is_ok();
    for (const Violation& one : wrong) {
      said += (said.empty() ? "" : "; ") + one.pointer + " " + std::to_string(one.line) + ":" +
              std::to_string(one.column) + " " + one.message;
    }
  }

  Violations wrong;
  bool is_valid = false;
  bool is_finished = false;
  std::string values;
  std::string said;
};

TEST(SchemaAhead, a_valid_value_is_due_again) {
  const Reading reading(R"({"type": "object"})", R"({"first": 1, "value": {"a": 2}, "last": 3})");

  EXPECT_TRUE(reading.is_valid);
  EXPECT_TRUE(reading.is_finished);
  EXPECT_EQ(reading.values, R"(1{"a": 2}3)");
}

TEST(SchemaAhead, violations_have_their_pointers_and_places_in_the_whole_text) {
  const Reading reading(
      R"({"properties": {"a": {"type": "string"}, "b": {"items": {"maximum": 1}}}, "required": ["c"]})",
      "{\"value\": {\"a\": 1,\n \"b\": [0,\n  5]}}");

  EXPECT_FALSE(reading.is_valid);
  EXPECT_TRUE(reading.is_finished);
  EXPECT_EQ(reading.said,
            "/value/a 1:17 expected a string; /value/b/1 3:3 must be at most 1; /value/c 3:6 is required");
}

TEST(SchemaAhead, keys_with_escapes_are_found) {
  const Reading reading(R"({"properties": {"/~": {"type": "string"}}})", R"({"value": {"\u002f~": 1}})");

  EXPECT_EQ(reading.said, "/value/~1~0 1:23 expected a string");
}

TEST(SchemaAhead, a_malformed_text_fails) {
  Violations wrong;
  for (const std::string_view text : {"{\"a\": 1,}", "{\"a\": 1, \"a\": 2}", "[1"}) {
    Arena arena;
    json::Reader in(text, arena);

    EXPECT_FALSE(check_ahead(in, anything, wrong)) << text;

    EXPECT_TRUE(in.failed()) << text;
    EXPECT_EQ(in.problem().cause, json::Problem::Cause::Syntax) << text;
  }
  EXPECT_TRUE(wrong.empty());
}

TEST(SchemaAhead, without_room_for_a_violation_reading_ends) {
  std::string text = "{\"value\": [0";
  for (int i = 0; i < 40; ++i) text += ", 1";
  text += "]}";

  const Reading reading(R"({"items": {"type": "string"}})", text);

  EXPECT_EQ(reading.wrong.size(), Violations::count_max);
  EXPECT_TRUE(reading.wrong.has_more());
  EXPECT_FALSE(reading.is_finished);
}

TEST(SchemaAhead, requires_what_the_direction_of_the_reader_has) {
  const Tables tables(
      R"({"required": ["id", "key"], "properties": {"id": {"readOnly": true}, "key": {"writeOnly": true}}})");
  const auto is_valid = [&](std::string_view text, bool is_response) {
    Arena arena;
    json::Reader in(text, arena, {.is_response = is_response});
    Violations wrong;
    const Schema* const root = &tables.root();
    EXPECT_EQ(choose_ahead(in, {&root, 1}) == 0, check_ahead(in, *root, wrong)) << text;
    return wrong.empty();
  };
  EXPECT_TRUE(is_valid(R"({"key": 1})", false));
  EXPECT_FALSE(is_valid(R"({"key": 1})", true));
  EXPECT_TRUE(is_valid(R"({"id": 1})", true));
  EXPECT_FALSE(is_valid(R"({"id": 1})", false));
}

}  // namespace
}  // namespace keel::contract::schema_ahead_test
