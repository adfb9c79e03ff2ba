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
  std::string all;
  for (const Misfit& one : Instances(*document).misfits(
           *document->root().find("components")->find("schemas")->find("A"), *document->root().find("x-value"))) {
    all += (all.empty() ? "" : "; ") + one.text + " at " + pointer_of(*one.at);
  }
  return all;
}

TEST(Instances, types) {
  EXPECT_EQ(misfit("{type: integer}", "5.0"), "");
  EXPECT_EQ(misfit("{type: integer}", "5.5"), "5.5: expected an integer at #/x-value");
  EXPECT_EQ(misfit("{type: [string, 'null']}", "null"), "");
  EXPECT_EQ(misfit("{type: [string, 'null']}", "1"), "1: expected a string or null at #/x-value");
}

TEST(Instances, values) {
  EXPECT_EQ(misfit("{enum: [1, {a: b}]}", "{a: b}"), "");
  EXPECT_EQ(misfit("{enum: [1, 2]}", "3"), "3 must be one of 1, 2 at #/x-value");
  EXPECT_EQ(misfit("{const: a}", "b"), R"("b" must be a at #/x-value)");
}

TEST(Instances, numbers) {
  EXPECT_EQ(misfit("{minimum: 1, maximum: 2, multipleOf: 0.1}", "1.1"), "");
  EXPECT_EQ(misfit("{minimum: 1}", "0"), "0 must be at least 1 at #/x-value");
  EXPECT_EQ(misfit("{exclusiveMaximum: 1}", "1"), "1 must be less than 1 at #/x-value");
  EXPECT_EQ(misfit("{multipleOf: 2}", "3"), "3 must be a multiple of 2 at #/x-value");
}

TEST(Instances, strings) {
  EXPECT_EQ(misfit("{minLength: 2, maxLength: 2, pattern: é}", "éé"), "");
  EXPECT_EQ(misfit("{maxLength: 1}", "ab"), R"("ab" must have at most 1 character at #/x-value)");
  EXPECT_EQ(misfit("{pattern: ^a}", "ba"), R"("ba" must match ^a at #/x-value)");
  EXPECT_EQ(misfit("{pattern: '(?=a)'}", "b"), "") << "what cannot be compiled is said elsewhere";
}

TEST(Instances, lists) {
  EXPECT_EQ(misfit("{prefixItems: [{type: string}], items: {type: integer}, minItems: 1, maxItems: 2}", "[a, 1]"), "");
  EXPECT_EQ(misfit("{items: {type: integer}}", "[1, a]"), R"("a": expected an integer at #/x-value/1)");
  EXPECT_EQ(misfit("{uniqueItems: true}", "[1, 1.0]"), "1.0 must not be equal to an earlier element at #/x-value/1");
  EXPECT_EQ(misfit("{minItems: 1}", "[]"), "[] must have at least 1 element at #/x-value");
}

TEST(Instances, objects) {
  EXPECT_EQ(misfit("{required: [a], patternProperties: {^b: {type: string}}, additionalProperties: {type: integer}}",
                   "{a: 1, b: c}"),
            "");
  EXPECT_EQ(misfit("{required: [a]}", "{b: 1}"), "'a' is required at #/x-value");
  EXPECT_EQ(misfit("{patternProperties: {^b: {type: string}}}", "{b: 1}"), "1: expected a string at #/x-value/b");
  EXPECT_EQ(misfit("{$ref: '#/components/schemas/B'}", "{b: {b: {c: 1}}}"),
            "'c' is not a field of this object at #/x-value/b/b/c");
  EXPECT_EQ(misfit("{maxProperties: 1}", "{a: 1, b: 1}"), R"({"a": 1, "b": 1} must have at most 1 field at #/x-value)");
}

TEST(Instances, combinations) {
  EXPECT_EQ(misfit("{allOf: [{type: integer}, {minimum: 1}]}", "0"), "0 must be at least 1 at #/x-value");
  EXPECT_EQ(misfit("{anyOf: [{type: integer}, {type: string}]}", "true"),
            "true: expected a string or an integer at #/x-value");
  EXPECT_EQ(misfit("{oneOf: [{type: integer}, {type: number}]}", "1"),
            "1 must match exactly one of 2 alternatives, but matches 2 at #/x-value");
  EXPECT_EQ(misfit("{oneOf: [{type: integer}, {type: number}]}", "1.5"), "");
  EXPECT_EQ(misfit("{not: {type: integer}}", "1"), "1 is not allowed here at #/x-value");
}

TEST(Instances, every_keyword_but_formats) {
  EXPECT_EQ(misfit("{if: {type: integer}, then: {minimum: 2}}", "1"), "1 must be at least 2 at #/x-value");
  EXPECT_EQ(misfit("{contains: {const: 7}}", "[1]"), "[1] must have at least 1 element equal to 7 at #/x-value");
  EXPECT_EQ(misfit("{not: {contains: {type: string}}}", "[a]"), "[\"a\"] is not allowed here at #/x-value");
  EXPECT_EQ(misfit("{dependentRequired: {a: [b]}}", "{a: 1}"), "'b' is required where 'a' is given at #/x-value");
  EXPECT_EQ(misfit("{properties: {a: {}}, unevaluatedProperties: false}", "{a: 1, b: 1}"),
            "'b' is not a field of this object at #/x-value/b");
  EXPECT_EQ(misfit("{propertyNames: {maxLength: 1}}", "{ab: 1}"),
            "'ab' has an invalid name, which must have at most 1 character at #/x-value/ab");
  EXPECT_EQ(misfit("{format: date}", "today"), "");
}

TEST(Instances, all_that_is_wrong) {
  EXPECT_EQ(misfit("{properties: {'a/b': {type: string}, c: {type: array, items: {type: integer}}}, required: [d]}",
                   "{a/b: 1, c: [x, 1, y]}"),
            "1: expected a string at #/x-value/a~1b; \"x\": expected an integer at #/x-value/c/0; \"y\": expected an "
            "integer at #/x-value/c/2; 'd' is required at #/x-value");
}

TEST(Instances, what_cannot_be_checked_fits) {
  EXPECT_EQ(misfit("{type: number, maximum: 1}", "1e999"), "") << "no double";
  EXPECT_EQ(misfit("{not: {pattern: '(?=a)'}}", "b"), "") << "no pattern";
  std::string many = "[";
  for (int i = 0; i < 10'000; ++i) many += "1,";
  EXPECT_EQ(misfit("{type: string}", many + "1]"), "") << "too large";
}

TEST(Instances, a_schema_that_contains_itself_ends) {
  EXPECT_EQ(misfit("{anyOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/A'}]}", "1"), "");
}

}  // namespace
}  // namespace keel::openapi::instance_test
