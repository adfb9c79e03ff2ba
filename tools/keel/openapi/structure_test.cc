#include "openapi/structure.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::structure_test {
namespace {

using namespace keel::openapi::testing;

// The schema A after it has been normalised.
std::string normalised(const std::string& version, const std::string& schema) {
  const Files files = {
      {"api.yaml", "openapi: " + version +
                       "\ninfo: {title: t, version: '1'}\npaths: {}\ncomponents: {schemas: {A: " + schema + "}}\n"}};
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  if (document == nullptr) return "";
  check_structure(*document, problems);
  EXPECT_EQ(described(problems), Lines());
  return shown(*document->root().find("components")->find("schemas")->find("A"));
}

TEST(Structure, nullable_is_one_more_type) {
  EXPECT_EQ(normalised("3.0.3", "{type: string, nullable: true}"), R"({"type": ["string", "null"]})");
  EXPECT_EQ(normalised("3.0.3", "{type: string, nullable: false}"), R"({"type": "string"})");
}

TEST(Structure, nullable_beside_parts_is_one_more_alternative) {
  const std::string part = "{}";
  EXPECT_EQ(normalised("3.0.3", "{allOf: [" + part + "], nullable: true, title: x}"),
            R"({"title": "x", "anyOf": [{"allOf": [{}]}, {"type": "null"}]})");
  EXPECT_EQ(normalised("3.0.3", "{oneOf: [" + part + "], nullable: true, title: y}"),
            R"({"title": "y", "anyOf": [{"oneOf": [{}]}, {"type": "null"}]})");
  EXPECT_EQ(normalised("3.0.3", "{not: {}, anyOf: [" + part + "], nullable: true}"),
            R"({"anyOf": [{"not": {}, "anyOf": [{}]}, {"type": "null"}]})");
  EXPECT_EQ(normalised("3.0.3", "{allOf: [" + part + "], nullable: false}"), R"({"allOf": [{}]})");
}

TEST(Structure, exclusive_bounds_are_numbers) {
  EXPECT_EQ(normalised("3.0.3", "{minimum: 1, exclusiveMinimum: true}"), R"({"exclusiveMinimum": 1})");
  EXPECT_EQ(normalised("3.0.3", "{maximum: 1, exclusiveMaximum: false}"), R"({"maximum": 1})");
  EXPECT_EQ(normalised("3.1.0", "{exclusiveMaximum: 1}"), R"({"exclusiveMaximum": 1})");
}

TEST(Structure, an_example_is_one_of_examples) {
  EXPECT_EQ(normalised("3.0.3", "{example: 1}"), R"({"examples": [1]})");
  EXPECT_EQ(normalised("3.1.0", "{example: 1}"), R"({"examples": [1]})");
  EXPECT_EQ(normalised("3.1.0", "{examples: [1, 2]}"), R"({"examples": [1, 2]})");
}

TEST(Structure, the_unsupported_keywords_are_a_list) {
  EXPECT_EQ(unsupported_keywords(),
            (std::vector<std::string_view>{"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
                                           "$vocabulary", "definitions", "dependencies", "additionalItems"}));
}

TEST(Structure, a_field_that_is_unknown_is_an_error_with_the_nearest_one) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: {}\n"
                    "severs: []\n"),
            (Lines{"api.yaml:4:1: error: 'severs' is not a field of an OpenAPI document in OpenAPI 3.1; did you mean "
                   "'servers'? (#/severs)"}));
}

TEST(Structure, a_field_that_is_missing_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop}\n"
                    "paths: {}\n"),
            (Lines{"api.yaml:2:1: error: 'version' is required in an info object (#/info)"}));
}

TEST(Structure, a_field_of_the_wrong_kind_is_an_error) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: [Shop], version: 1}\n"
              "paths: {}\n"),
      (Lines{"api.yaml:2:8: error: 'title' is an array: expected a string (#/info/title)",
             "api.yaml:2:23: error: 'version' is a number: expected a string; put it in quotes (#/info/version)"}));
}

TEST(Structure, an_extension_may_have_anything) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "x-any: {$ref: nowhere, a: [1]}\n"
                    "paths: {x-one: 1}\n"),
            (Lines{}));
}

TEST(Structure, a_document_of_3_0_needs_paths_and_responses) {
  EXPECT_EQ(lint_of("openapi: 3.0.3\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components: {}\n"),
            (Lines{"api.yaml:1:1: error: 'paths' is required in OpenAPI 3.0 (#)"}));
}

TEST(Structure, a_document_of_3_1_needs_one_of_three) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"),
            (Lines{"api.yaml:1:1: error: one of 'paths', 'components' and 'webhooks' is required (#)"}));
}

TEST(Structure, a_keyword_of_another_version_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.0.3\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: {}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: [string, 'null'], const: a}\n"),
            (Lines{"api.yaml:7:8: error: 'type' is an array: lists of types are part of OpenAPI 3.1, but this document "
                   "is 3.0.3 (#/components/schemas/Pet/type)",
                   "api.yaml:7:32: error: 'const' is part of OpenAPI 3.1, but this document is 3.0.3: write an enum "
                   "with one value (#/components/schemas/Pet/const)"}));
}

TEST(Structure, nullable_needs_null_in_the_enum_beside_it) {
  const auto of = [](const std::string& values) {
    return lint_of(
        "openapi: 3.0.3\n"
        "info: {title: Shop, version: '1'}\n"
        "paths: {}\n"
        "components:\n"
        "  schemas:\n"
        "    Color:\n"
        "      {type: string, nullable: true, enum: " +
        values + "}\n");
  };
  EXPECT_EQ(of("[red, null]"), Lines());
  EXPECT_EQ(of("[red, blue]"),
            Lines{"api.yaml:7:22: warning: 'nullable' has no effect: null is not in the 'enum' beside "
                  "it (#/components/schemas/Color/nullable)"});
}

TEST(Structure, nullable_is_ignored_in_3_1_with_a_warning) {
  const std::string head =
      "openapi: 3.1.0\n"
      "info: {title: Shop, version: '1'}\n"
      "components:\n"
      "  schemas:\n"
      "    Pet:\n";
  const auto warning = [](std::string_view position, std::string_view todo) {
    return Lines{"api.yaml:6:" + std::string(position) +
                 ": warning: 'nullable' is ignored: it is part of OpenAPI 3.0, but this document is 3.1.0: " +
                 std::string(todo) + " (#/components/schemas/Pet/nullable)"};
  };
  EXPECT_EQ(lint_of(head + "      {type: string, nullable: true}\n"),
            warning("22", "to allow null, write type: [string, \"null\"]"));
  EXPECT_EQ(lint_of(head + "      {type: [string, integer], nullable: true}\n"),
            warning("33", "to allow null, add \"null\" to the types"));
  EXPECT_EQ(lint_of(head + "      {nullable: true}\n"), warning("8", "to allow null, add \"null\" to the types"));
  EXPECT_EQ(lint_of(head + "      {type: [string, 'null'], nullable: true}\n"), warning("32", "remove it"));
  EXPECT_EQ(lint_of(head + "      {type: string, nullable: false}\n"), warning("22", "remove it"));
  EXPECT_EQ(lint_of(head + "      {type: string, nullable: 'yes'}\n"), warning("22", "remove it"));
}

TEST(Structure, examples_of_a_schema_that_are_no_array_are_ignored_with_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, examples: {rex: {value: Rex}}}\n"),
            (Lines{"api.yaml:6:22: warning: 'examples' is ignored: it is an object, but a schema has an array of "
                   "examples (#/components/schemas/Pet/examples)"}));
}

TEST(Structure, a_boolean_exclusive_minimum_is_an_error_in_3_1) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, exclusiveMinimum: true}\n"),
            (Lines{"api.yaml:6:22: error: 'exclusiveMinimum' is a boolean: expected a number in OpenAPI 3.1 "
                   "(#/components/schemas/Pet/exclusiveMinimum)",
                   "api.yaml:6:22: warning: 'exclusiveMinimum' has no effect: the type is \"string\", not number "
                   "(#/components/schemas/Pet/exclusiveMinimum)"}));
}

TEST(Structure, a_keyword_that_is_not_supported_is_an_error) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "components:\n"
              "  schemas:\n"
              "    Pet:\n"
              "      {$dynamicRef: '#a', additionalItems: false}\n"),
      (Lines{"api.yaml:6:8: error: '$dynamicRef' is not supported (#/components/schemas/Pet/$dynamicRef)",
             "api.yaml:6:27: error: 'additionalItems' is not supported (#/components/schemas/Pet/additionalItems)"}));
}

TEST(Structure, a_keyword_that_is_unknown_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, maxLenght: 3}\n"),
            (Lines{"api.yaml:6:22: error: 'maxLenght' is not a keyword of a schema in OpenAPI 3.1; did you mean "
                   "'maxLength'? (#/components/schemas/Pet/maxLenght)"}));
}

TEST(Structure, what_is_new_in_3_2_is_rejected_by_its_name) {
  EXPECT_EQ(lint_of("openapi: 3.2.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    query: {}\n"),
            (Lines{"api.yaml:5:5: error: 'query' is not a field of a path item in OpenAPI 3.1; only those parts of "
                   "OpenAPI 3.2 that 3.1 also has are supported (#/paths/~1pets/query)"}));
}

TEST(Structure, a_type_that_does_not_exist_is_an_error) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "components:\n"
              "  schemas:\n"
              "    Pet:\n"
              "      {type: strng}\n"),
      (Lines{"api.yaml:6:8: error: \"strng\" is not a type: expected array, boolean, integer, null, number, object "
             "or string; did you mean 'string'? (#/components/schemas/Pet/type)"}));
}

TEST(Structure, a_type_null_without_quotes_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: [string, null]}\n"),
            (Lines{"api.yaml:6:23: error: null is not a type: put null in quotes (#/components/schemas/Pet/type/1)"}));
}

TEST(Structure, counts_are_whole_numbers_from_0) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "components:\n"
              "  schemas:\n"
              "    Pet:\n"
              "      {minLength: -1, maxLength: 1.5, multipleOf: 0}\n"),
      (Lines{
          "api.yaml:6:8: error: 'minLength' is -1: expected a whole number from 0 (#/components/schemas/Pet/minLength)",
          "api.yaml:6:23: error: 'maxLength' is 1.5: expected a whole number from 0 "
          "(#/components/schemas/Pet/maxLength)",
          "api.yaml:6:39: error: 'multipleOf' is 0: expected more than 0 (#/components/schemas/Pet/multipleOf)"}));
}

TEST(Structure, lists_of_names_have_each_once) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: object, required: [a, a, 1], properties: {a: {}, '1': {}}}\n"),
            (Lines{"api.yaml:6:36: warning: 'a' is in 'required' twice (#/components/schemas/Pet/required/1)",
                   "api.yaml:6:39: error: 1 in 'required' is a number: expected a string; put it in quotes "
                   "(#/components/schemas/Pet/required/2)"}));
}

TEST(Structure, an_array_of_3_0_needs_items) {
  EXPECT_EQ(
      lint_of("openapi: 3.0.3\n"
              "info: {title: Shop, version: '1'}\n"
              "paths: {}\n"
              "components:\n"
              "  schemas:\n"
              "    Pet:\n"
              "      {type: array}\n"),
      (Lines{"api.yaml:6:5: error: 'items' is required beside type: array in OpenAPI 3.0 (#/components/schemas/Pet)"}));
}

TEST(Structure, a_status_is_a_code_a_class_or_default) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'20': {description: a}, 2XX: {description: b}, '600': {description: c}, "
                    "default: {description: d}}\n"),
            (Lines{"api.yaml:7:19: error: '20' is not a status: expected 100 to 599, 1XX to 5XX, or default "
                   "(#/paths/~1pets/get/responses/20)",
                   "api.yaml:7:66: error: '600' is not a status: expected 100 to 599, 1XX to 5XX, or default "
                   "(#/paths/~1pets/get/responses/600)"}));
}

TEST(Structure, responses_have_at_least_one) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {}\n"),
            (Lines{"api.yaml:7:7: error: there is no response: expected at least one (#/paths/~1pets/get/responses)"}));
}

TEST(Structure, a_name_of_a_component_has_no_blank) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "components:\n"
              "  schemas:\n"
              "    Pet:\n"
              "      {}\n"
              "    A B: {}\n"),
      (Lines{"api.yaml:7:5: error: 'A B' is not the name of a component: expected letters, digits, '.', '-' and '_' "
             "(#/components/schemas/A B)"}));
}

TEST(Structure, a_reference_to_another_kind_of_object_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    get:\n"
                    "      operationId: list\n"
                    "      responses: {'200': {$ref: '#/components/schemas/Pet'}}\n"
                    "components: {schemas: {Pet: {type: string}}}\n"),
            (Lines{"api.yaml:7:27: error: refers to a schema, where a response is expected "
                   "(#/paths/~1pets/get/responses/200/$ref)"}));
}

TEST(Structure, what_stands_beside_a_reference_of_3_0_is_ignored) {
  EXPECT_EQ(lint_of("openapi: 3.0.3\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: {}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {$ref: '#/components/schemas/Id', description: the id}\n"
                    "    Id: {type: string}\n"),
            (Lines{"api.yaml:7:41: warning: 'description' is ignored: in OpenAPI 3.0 a $ref replaces all other members "
                   "(#/components/schemas/Pet/description)"}));
}

TEST(Structure, what_stands_beside_the_reference_of_a_path_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /pets:\n"
                    "    $ref: '#/components/pathItems/Pets'\n"
                    "    summary: All of them.\n"
                    "    get: {operationId: list, responses: {'204': {description: fine}}}\n"
                    "components:\n"
                    "  pathItems:\n"
                    "    Pets: {post: {operationId: add, responses: {'204': {description: fine}}}}\n"),
            (Lines{"api.yaml:7:5: error: 'get' beside the $ref of a path is not supported: write it in the path item "
                   "that the $ref leads to "
                   "(#/paths/~1pets/get)"}));
}

TEST(Structure, what_stands_beside_a_reference_of_3_1_counts_in_a_schema) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {$ref: '#/components/schemas/Id', maxLenght: 1}\n"
                    "    Id: {type: string}\n"),
            (Lines{"api.yaml:6:41: error: 'maxLenght' is not a keyword of a schema in OpenAPI 3.1; did you mean "
                   "'maxLength'? (#/components/schemas/Pet/maxLenght)"}));
}

}  // namespace
}  // namespace keel::openapi::structure_test
