#include "openapi/instance.h"

#include <gtest/gtest.h>

#include <string>

#include "openapi/structure.h"
#include "openapi/testing.h"

namespace keel::openapi::instance_test {
namespace {

using namespace keel::openapi::testing;

// Why the value does not fit the schema, "" when it does.
std::string misfit(const std::string& schema, const std::string& value) {
  const Files files = {
      {"api.yaml",
       "openapi: 3.1.0\ninfo: {title: t, version: '1'}\ncomponents:\n  schemas:\n    A: " + schema +
           "\n    B: {type: object, properties: {b: {$ref: '#/components/schemas/B'}}, additionalProperties: false}\n"
           "x-value: " +
           value + "\n"}};
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  if (document == nullptr) return described(problems)[0];
  check_structure(*document, problems);
  EXPECT_EQ(described(problems), Lines());
  const auto found = Instances(*document).misfit(*document->root().find("components")->find("schemas")->find("A"),
                                                 *document->root().find("x-value"));
  return found ? found->text + " at " + pointer_of(*found->at) : "";
}

TEST(Instances, types) {
  EXPECT_EQ(misfit("{type: integer}", "5.0"), "");
  EXPECT_EQ(misfit("{type: integer}", "5.5"), "5.5 is not of the type integer at #/x-value");
  EXPECT_EQ(misfit("{type: [string, 'null']}", "null"), "");
  EXPECT_EQ(misfit("{type: [string, 'null']}", "1"), "1 is not of the type string or null at #/x-value");
}

TEST(Instances, values) {
  EXPECT_EQ(misfit("{enum: [1, {a: b}]}", "{a: b}"), "");
  EXPECT_EQ(misfit("{enum: [1, 2]}", "3"), "3 is not one of [1, 2] at #/x-value");
  EXPECT_EQ(misfit("{const: a}", "b"), R"("b" is not "a" at #/x-value)");
}

TEST(Instances, numbers) {
  EXPECT_EQ(misfit("{minimum: 1, maximum: 2, multipleOf: 0.1}", "1.1"), "");
  EXPECT_EQ(misfit("{minimum: 1}", "0"), "0 breaks minimum: 1 at #/x-value");
  EXPECT_EQ(misfit("{exclusiveMaximum: 1}", "1"), "1 breaks exclusiveMaximum: 1 at #/x-value");
  EXPECT_EQ(misfit("{multipleOf: 2}", "3"), "3 breaks multipleOf: 2 at #/x-value");
}

TEST(Instances, strings) {
  EXPECT_EQ(misfit("{minLength: 2, maxLength: 2, pattern: é}", "éé"), "");
  EXPECT_EQ(misfit("{maxLength: 1}", "ab"), R"("ab" is longer than maxLength: 1 at #/x-value)");
  EXPECT_EQ(misfit("{pattern: ^a}", "ba"), R"("ba" does not match the pattern "^a" at #/x-value)");
  EXPECT_EQ(misfit("{pattern: '(?=a)'}", "b"), "") << "what cannot be compiled is said elsewhere";
}

TEST(Instances, lists) {
  EXPECT_EQ(misfit("{prefixItems: [{type: string}], items: {type: integer}, minItems: 1, maxItems: 2}", "[a, 1]"), "");
  EXPECT_EQ(misfit("{items: {type: integer}}", "[1, a]"), R"("a" is not of the type integer at #/x-value/1)");
  EXPECT_EQ(misfit("{uniqueItems: true}", "[1, 1.0]"), "1.0 is there twice: uniqueItems at #/x-value/1");
  EXPECT_EQ(misfit("{minItems: 1}", "[]"), "there are fewer elements than minItems: 1 at #/x-value");
}

TEST(Instances, objects) {
  EXPECT_EQ(misfit("{required: [a], patternProperties: {^b: {type: string}}, additionalProperties: {type: integer}}",
                   "{a: 1, b: c}"),
            "");
  EXPECT_EQ(misfit("{required: [a]}", "{b: 1}"), "the required property 'a' is missing at #/x-value");
  EXPECT_EQ(misfit("{patternProperties: {^b: {type: string}}}", "{b: 1}"),
            "1 is not of the type string at #/x-value/b");
  EXPECT_EQ(misfit("{$ref: '#/components/schemas/B'}", "{b: {b: {c: 1}}}"),
            "the property 'c' is not in the schema, which allows no additionalProperties at #/x-value/b/b/c");
  EXPECT_EQ(misfit("{maxProperties: 1}", "{a: 1, b: 1}"),
            "there are more properties than maxProperties: 1 at #/x-value");
}

TEST(Instances, combinations) {
  EXPECT_EQ(misfit("{allOf: [{type: integer}, {minimum: 1}]}", "0"), "0 breaks minimum: 1 at #/x-value");
  EXPECT_EQ(misfit("{anyOf: [{type: integer}, {type: string}]}", "true"), "true fits no schema of anyOf at #/x-value");
  EXPECT_EQ(misfit("{oneOf: [{type: integer}, {type: number}]}", "1"), "1 fits 2 schemas of oneOf at #/x-value");
  EXPECT_EQ(misfit("{oneOf: [{type: integer}, {type: number}]}", "1.5"), "");
  EXPECT_EQ(misfit("{not: {type: integer}}", "1"), "1 fits the schema of not at #/x-value");
}

TEST(Instances, what_is_not_known_fits) {
  EXPECT_EQ(misfit("{oneOf: [{if: {type: integer}, then: false}, {type: integer}]}", "1"), "");
  EXPECT_EQ(misfit("{not: {contains: {type: string}}}", "[a]"), "");
}

TEST(Instances, a_schema_that_contains_itself_ends) {
  EXPECT_EQ(misfit("{anyOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/A'}]}", "1"), "");
}

}  // namespace
}  // namespace keel::openapi::instance_test
