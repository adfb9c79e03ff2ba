#include "gen/schema_tables.h"

#include <gtest/gtest.h>

#include <string>

#include "openapi/structure.h"
#include "openapi/testing.h"

namespace keel::gen::schema_tables_test {
namespace {

using openapi::testing::Files;
using openapi::testing::Lines;

struct Made {
  // Of the schema S.
  explicit Made(const std::string& schemas, Files others = {}) {
    others["api.yaml"] =
        "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n" + schemas;
    openapi::Problems problems;
    const auto document = openapi::Document::load("api.yaml", openapi::testing::reader_of(others), problems);
    check_structure(*document, problems);
    SchemaTables tables(*document, problems);
    name = tables.name_of(*document->root().find("components")->find("schemas")->find("S"));
    declarations = tables.declarations();
    definitions = tables.definitions();
    said = openapi::testing::described(problems);
  }

  std::string name;
  std::string declarations;
  std::string definitions;
  Lines said;
};

TEST(SchemaTables, a_schema_is_a_constant_whose_initializer_refers_to_others) {
  const Made made(
      "    S: {type: object, required: [a], properties: {b: {$ref: '#/components/schemas/S'}, a: {type: integer,\n"
      "      minimum: 1, format: int32}}}\n");

  EXPECT_EQ(made.said, Lines());
  EXPECT_EQ(made.name, "schema_S_16316522");
  EXPECT_EQ(made.declarations,
            "extern const keel::contract::Schema schema_S_16316522;\n"
            "extern const keel::contract::Schema schema_S_properties_a_301ef686;\n");
  EXPECT_EQ(made.definitions, R"(namespace {
constexpr keel::contract::Property schema_S_16316522_properties[] = {{"a", &schema_S_properties_a_301ef686}, {"b", &schema_S_16316522}};
constexpr std::string_view schema_S_16316522_required[] = {"a"};
constexpr keel::contract::ObjectRules schema_S_16316522_object = {.properties = schema_S_16316522_properties, .required = schema_S_16316522_required};
}  // namespace
constinit const keel::contract::Schema schema_S_16316522 = {.types = 64, .object = &schema_S_16316522_object};
namespace {
constexpr keel::contract::NumberRules schema_S_properties_a_301ef686_number = {.least = {keel::contract::Limit::Kind::Inclusive, 1}, .most = {keel::contract::Limit::Kind::Inclusive, 2147483647}};
}  // namespace
constinit const keel::contract::Schema schema_S_properties_a_301ef686 = {.types = 4, .number = &schema_S_properties_a_301ef686_number};
)");
}

TEST(SchemaTables, say_which_properties_only_one_direction_has) {
  const Made made(
      "    S: {type: object, properties: {a: {readOnly: true}, b: {$ref: '#/components/schemas/B'}, c: {}}}\n"
      "    B: {type: string, writeOnly: true}\n");

  EXPECT_EQ(made.said, Lines());
  EXPECT_NE(made.definitions.find("{\"a\", nullptr, keel::contract::Excuse::ReadOnly}, "), std::string::npos);
  EXPECT_NE(made.definitions.find(", keel::contract::Excuse::WriteOnly}, {\"c\", nullptr}}"), std::string::npos);
}

TEST(SchemaTables, the_order_of_keys_changes_nothing) {
  const Made one("    S: {type: object, properties: {a: {minLength: 1}, b: {maximum: 2}}}\n");
  const Made other("    S: {properties: {b: {maximum: 2}, a: {minLength: 1}}, type: object}\n");

  EXPECT_EQ(one.definitions, other.definitions);
  EXPECT_EQ(one.declarations, other.declarations);
}

TEST(SchemaTables, what_says_nothing_and_what_takes_nothing_have_names_already) {
  EXPECT_EQ(Made("    S: {description: anything}\n").name, "keel::contract::anything");
  EXPECT_EQ(Made("    S: true\n").name, "keel::contract::anything");
  EXPECT_EQ(Made("    S: false\n").name, "keel::contract::nothing");
  EXPECT_EQ(Made("    S: {$ref: '#/components/schemas/T'}\n    T: {x-a: 1}\n").name, "keel::contract::anything");
}

TEST(SchemaTables, a_schema_of_another_file_is_named_by_the_file) {
  const Made made("    S: {$ref: 'a/b.yaml#/T'}\n", {{"a/b.yaml", "T: {type: string}\n"}});

  EXPECT_EQ(made.said, Lines());
  EXPECT_TRUE(made.name.starts_with("schema_T_")) << made.name;
  EXPECT_NE(made.name, Made("    S: {$ref: '#/components/schemas/T'}\n    T: {type: string}\n").name);
}

TEST(SchemaTables, texts_and_numbers_of_every_kind_are_literals) {
  const Made made(
      "    S: {enum: [\"a\\\"\\\\\\n\\0é\", -9223372036854775808, 18446744073709551615, 1e3, 0.5, null, true, [1], {b: "
      "[]}]}\n");

  EXPECT_EQ(made.said, Lines());
  for (const std::string_view part :
       {R"(std::string_view("a\"\\\n\000é", 7))", "(-9223372036854775807 - 1)", "18446744073709551615u",
        ".number = 1000.0", ".number = 0.5", "{}", ".boolean = true",
        "_elements_1[] = {{.kind = keel::json::Kind::Number, .number = 1}};", "_names_2[] = {\"b\"};"}) {
    EXPECT_NE(made.definitions.find(part), std::string::npos) << part << "\n" << made.definitions;
  }
}

TEST(SchemaTables, of_two_bounds_the_tighter_one_counts) {
  const Made made("    S: {minimum: 1, exclusiveMinimum: 1, maximum: 5, exclusiveMaximum: 7}\n");

  EXPECT_NE(made.definitions.find(".least = {keel::contract::Limit::Kind::Exclusive, 1}"), std::string::npos);
  EXPECT_NE(made.definitions.find(".most = {keel::contract::Limit::Kind::Inclusive, 5}"), std::string::npos);
}

TEST(SchemaTables, a_schema_that_refers_to_itself_for_one_value_is_an_error) {
  EXPECT_EQ(Made("    S: {anyOf: [{type: string}, {$ref: '#/components/schemas/S'}]}\n").said,
            (Lines{"api.yaml:6:5: error: the schema refers to itself for the same value, so checking the value would "
                   "never end (#/components/schemas/S)"}));
  EXPECT_EQ(Made("    S: {anyOf: [{type: string}, {items: {$ref: '#/components/schemas/S'}}]}\n").said, Lines());
}

TEST(SchemaTables, what_cannot_be_checked_is_an_error) {
  const Made made("    S: {pattern: '(?=a)', maximum: 1e999}\n");

  EXPECT_EQ(
      made.said,
      (Lines{"api.yaml:6:9: error: the pattern '(?=a)' uses look-around, which RE2 does not support because it needs "
             "more than linear time (#/components/schemas/S/pattern)",
             "api.yaml:6:27: error: the number 1e999 is too large for a double (#/components/schemas/S/maximum)"}));
}

}  // namespace
}  // namespace keel::gen::schema_tables_test
