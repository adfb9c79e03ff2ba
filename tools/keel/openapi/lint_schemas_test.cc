#include "openapi/lint.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::lint_schemas_test {
namespace {

using namespace keel::openapi::testing;

TEST(LintSchemas, a_pattern_with_look_around_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, pattern: '^(?=.*[0-9]).+$'}\n"),
            (Lines{"api.yaml:6:22: error: the pattern '^(?=.*[0-9]).+$' uses look-around, which RE2 does not support "
                   "because it needs more than linear time (#/components/schemas/Pet/pattern)"}));
}

TEST(LintSchemas, an_escaped_bracket_is_no_look_around) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, pattern: '^\\(?=a$'}\n"),
            (Lines{}));
}

TEST(LintSchemas, a_pattern_with_a_back_reference_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, pattern: '^(a)\\1$'}\n"),
            (Lines{"api.yaml:6:22: error: the pattern '^(a)\\1$' uses \\1, which RE2 does not support "
                   "(#/components/schemas/Pet/pattern)"}));
}

TEST(LintSchemas, a_pattern_that_is_malformed_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: object, patternProperties: {'[a': {}}}\n"),
            (Lines{"api.yaml:6:42: error: the pattern '[a' is not a regular expression of RE2: missing ]: [a "
                   "(#/components/schemas/Pet/patternProperties/[a)"}));
}

TEST(LintSchemas, a_default_that_does_not_fit_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: integer, minimum: 1, default: 0}\n"),
            (Lines{"api.yaml:6:35: error: the default does not fit its schema: 0 must be at least 1 "
                   "(#/components/schemas/Pet/default)"}));
}

TEST(LintSchemas, a_default_null_that_does_not_fit_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: object, properties: {a: {type: integer, default: null}, b: {type: [integer, 'null'], "
                    "default: null}}}\n"),
            (Lines{"api.yaml:6:54: warning: the default null is ignored: its schema does not allow null "
                   "(#/components/schemas/Pet/properties/a/default)"}));
}

TEST(LintSchemas, an_example_that_does_not_fit_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      type: object\n"
                    "      required: [id]\n"
                    "      properties: {id: {type: integer, examples: [1, a]}}\n"
                    "      example: {name: Rex}\n"),
            (Lines{"api.yaml:8:54: warning: the example does not fit its schema: \"a\": expected an integer "
                   "(#/components/schemas/Pet/properties/id/examples/1)",
                   "api.yaml:9:7: warning: the example does not fit its schema: 'id' is required "
                   "(#/components/schemas/Pet/example)"}));
}

TEST(LintSchemas, an_example_of_3_0_keeps_its_pointer) {
  EXPECT_EQ(lint_of("openapi: 3.0.3\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: {}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, nullable: true, example: 5}\n"),
            (Lines{"api.yaml:7:38: warning: the example does not fit its schema: 5: expected a string or null "
                   "(#/components/schemas/Pet/example)"}));
}

TEST(LintSchemas, bounds_that_exclude_each_other_are_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, minLength: 5, maxLength: 4}\n"),
            (Lines{"api.yaml:6:22: warning: 'minLength' is more than 'maxLength': no value can fit "
                   "(#/components/schemas/Pet/minLength)"}));
}

TEST(LintSchemas, a_keyword_of_another_type_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, minimum: 5}\n"),
            (Lines{"api.yaml:6:22: warning: 'minimum' has no effect: the type is \"string\", not number "
                   "(#/components/schemas/Pet/minimum)"}));
}

TEST(LintSchemas, a_required_property_that_is_not_declared_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: object, required: [naem], properties: {name: {type: string}}}\n"),
            (Lines{"api.yaml:6:33: warning: the required property 'naem' is not in 'properties'; did you mean 'name'? "
                   "(#/components/schemas/Pet/required/0)"}));
}

TEST(LintSchemas, an_enum_with_values_of_another_type_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, enum: [a, 1, a]}\n"),
            (Lines{"api.yaml:6:32: warning: 1 in 'enum' is not of the type \"string\": no value can equal it "
                   "(#/components/schemas/Pet/enum/1)",
                   "api.yaml:6:35: warning: \"a\" is in 'enum' twice (#/components/schemas/Pet/enum/2)"}));
}

TEST(LintSchemas, a_circular_allOf_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      allOf: [{$ref: '#/components/schemas/Dog'}]\n"
                    "    Dog:\n"
                    "      allOf: [{$ref: '#/components/schemas/Pet'}, {type: object}]\n"),
            (Lines{"api.yaml:8:16: error: circular allOf: the schema contains itself, so no value can be checked: "
                   "#/components/schemas/Pet → #/components/schemas/Dog → #/components/schemas/Pet "
                   "(#/components/schemas/Dog/allOf/0/$ref)"}));
}

TEST(LintSchemas, a_circular_oneOf_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      oneOf: [{type: string}, {$ref: '#/components/schemas/Pet'}]\n"),
            (Lines{"api.yaml:6:32: error: circular oneOf: the schema contains itself, so no value can be checked: "
                   "#/components/schemas/Pet → #/components/schemas/Pet (#/components/schemas/Pet/oneOf/1/$ref)"}));
}

TEST(LintSchemas, a_schema_may_contain_itself_in_a_property) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: object, properties: {parent: {$ref: '#/components/schemas/Pet'}, all: {type: array, "
                    "items: {$ref: '#/components/schemas/Pet'}}}}\n"),
            (Lines{}));
}

TEST(LintSchemas, nullable_without_a_type_is_a_warning) {
  EXPECT_EQ(lint_of("openapi: 3.0.3\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths: {}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {nullable: true, exclusiveMaximum: true}\n"),
            (Lines{"api.yaml:7:8: warning: 'nullable' has no effect without 'type' beside it "
                   "(#/components/schemas/Pet/nullable)",
                   "api.yaml:7:24: warning: 'exclusiveMaximum' has no effect without 'maximum' beside it "
                   "(#/components/schemas/Pet/exclusiveMaximum)"}));
}

TEST(LintSchemas, the_mapping_of_a_discriminator_leads_to_schemas) {
  EXPECT_EQ(
      lint_of(
          "openapi: 3.1.0\n"
          "info: {title: Shop, version: '1'}\n"
          "components:\n"
          "  schemas:\n"
          "    Pet:\n"
          "      oneOf: [{$ref: '#/components/schemas/Dog'}, {type: object}]\n"
          "      discriminator: {propertyName: kind, mapping: {dog: Dog, cat: '#/components/schemas/Cat', cow: Cow}}\n"
          "    Dog: {type: object, properties: {kind: {type: string}}}\n"),
      (Lines{"api.yaml:7:63: error: the mapping of 'cat': '#/components/schemas/Cat' leads nowhere: 'Cat' is not in "
             "#/components/schemas (#/components/schemas/Pet/discriminator/mapping/cat)",
             "api.yaml:7:96: error: the mapping of 'cow': there is no schema 'Cow' "
             "(#/components/schemas/Pet/discriminator/mapping/cow)"}));
}

TEST(LintSchemas, another_dialect_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "jsonSchemaDialect: http://json-schema.org/draft-07/schema\n"
                    "paths: {}\n"
                    "components: {schemas: {A: {$schema: 'https://json-schema.org/draft/2020-12/schema'}}}\n"),
            (Lines{"api.yaml:3:1: error: the dialect 'http://json-schema.org/draft-07/schema' is not supported: "
                   "expected https://json-schema.org/draft/2020-12/schema (#/jsonSchemaDialect)"}));
}

TEST(LintSchemas, a_schema_is_not_readOnly_and_writeOnly) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components:\n"
                    "  schemas:\n"
                    "    Pet:\n"
                    "      {type: string, readOnly: true, writeOnly: true}\n"),
            (Lines{"api.yaml:6:38: error: the schema is both readOnly and writeOnly: at most one of them may be true "
                   "(#/components/schemas/Pet/writeOnly)"}));
}

}  // namespace
}  // namespace keel::openapi::lint_schemas_test
