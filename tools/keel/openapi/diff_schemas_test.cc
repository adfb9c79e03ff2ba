#include "openapi/diff_schemas.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::diff_schemas_test {
namespace {

using namespace keel::openapi::testing;

// A document whose one operation has these schemas for its request and its response.
std::string bodies(const std::string& request, const std::string& response, const std::string& version = "3.1.0") {
  return "openapi: " + version +
         "\ninfo: {title: Shop, version: '1'}\npaths:\n  /pets:\n    post:\n      requestBody:\n"
         "        content: {application/json: {schema: " +
         request +
         "}}\n      responses:\n        '200':\n          description: fine\n"
         "          content: {application/json: {schema: " +
         response + "}}\n";
}
std::string bodies(const std::string& both) { return bodies(both, both); }

TEST(DiffSchemas, another_type_breaks_both) {
  EXPECT_EQ(diff_of(bodies("{type: string}"), bodies("{type: integer, minimum: 5}")),
            (Lines{"new.yaml:7:47: breaking: in requests, the type was string and is integer now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/type), before old.yaml:7:47 "
                   "[request-type-changed]",
                   "new.yaml:11:49: breaking: in responses, the type was string and is integer now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/type), before old.yaml:11:49 "
                   "[response-type-changed]"}));
}

TEST(DiffSchemas, fewer_types_break_requests_and_more_break_responses) {
  EXPECT_EQ(diff_of(bodies("{type: number}"), bodies("{type: integer}", "{type: [number, 'null']}")),
            (Lines{"new.yaml:7:47: breaking: in requests, the type was number and is integer now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/type), before old.yaml:7:47 "
                   "[request-type-narrowed]",
                   "new.yaml:11:49: breaking: in responses, the type was number and is number or null now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/type), before old.yaml:11:49 "
                   "[response-type-widened]"}));
}

TEST(DiffSchemas, nullable_of_3_0_is_a_type) {
  EXPECT_EQ(diff_of(bodies("{type: string, nullable: true}", "{}", "3.0.3"), bodies("{type: [string, 'null']}", "{}")),
            (Lines{}));
}

TEST(DiffSchemas, values_of_an_enum) {
  EXPECT_EQ(diff_of(bodies("{enum: [a, b]}"), bodies("{enum: [b, c]}")),
            (Lines{"new.yaml:7:47: breaking: in requests, the enum no longer has \"a\" "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/enum), before old.yaml:7:47 "
                   "[request-enum-value-removed]",
                   "new.yaml:11:49: breaking: in responses, the enum has \"c\" now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/enum), before old.yaml:11:49 "
                   "[response-enum-value-added]",
                   "new.yaml:7:47: non-breaking: in requests, the enum has \"c\" now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/enum), before old.yaml:7:47 "
                   "[request-enum-value-added]",
                   "new.yaml:11:49: non-breaking: in responses, the enum no longer has \"a\" "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/enum), before old.yaml:11:49 "
                   "[response-enum-value-removed]"}));
}

TEST(DiffSchemas, a_new_enum_narrows) {
  EXPECT_EQ(diff_of(bodies("{type: string}"), bodies("{type: string, const: a}")),
            (Lines{"new.yaml:7:61: breaking: in requests, only some values are allowed now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/const), before old.yaml:7:38 "
                   "[request-enum-added]",
                   "new.yaml:11:63: non-breaking: in responses, only some values are allowed now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/const), before old.yaml:11:40 "
                   "[response-enum-added]"}));
}

TEST(DiffSchemas, bounds_that_are_tighter_break_requests) {
  EXPECT_EQ(diff_of(bodies("{type: integer, minimum: 1, maximum: 9}", "{type: string, maxLength: 5}"),
                    bodies("{type: integer, minimum: 2, exclusiveMaximum: 9}", "{type: string, maxLength: 6}")),
            (Lines{"new.yaml:7:62: breaking: in requests, minimum was 1 and is 2 now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/minimum), before old.yaml:7:62 "
                   "[request-minimum-increased]",
                   "new.yaml:7:74: breaking: in requests, maximum: 9 has become exclusiveMaximum: 9 "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/exclusiveMaximum), before "
                   "old.yaml:7:74 [request-maximum-decreased]",
                   "new.yaml:11:63: breaking: in responses, maxLength was 5 and is 6 now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/maxLength), before "
                   "old.yaml:11:63 [response-maxLength-increased]"}));
}

TEST(DiffSchemas, a_bound_that_says_nothing_is_no_change) {
  EXPECT_EQ(diff_of(bodies("{type: array}"), bodies("{type: array, minItems: 0}")), (Lines{}));
}

TEST(DiffSchemas, multiples) {
  EXPECT_EQ(diff_of(bodies("{type: integer, multipleOf: 2}"),
                    bodies("{type: integer, multipleOf: 4}", "{type: integer, multipleOf: 3}")),
            (Lines{"new.yaml:7:62: breaking: in requests, multipleOf was 2 and is 4 now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/multipleOf), before "
                   "old.yaml:7:62 [request-multiple-of-narrowed]",
                   "new.yaml:11:64: breaking: in responses, multipleOf was 2 and is 3 now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/multipleOf), before "
                   "old.yaml:11:64 [response-multiple-of-changed]"}));
}

TEST(DiffSchemas, patterns_and_formats) {
  EXPECT_EQ(diff_of(bodies("{type: string, pattern: a}", "{type: integer, format: int32}"),
                    bodies("{type: string, pattern: b}", "{type: integer, format: int64}")),
            (Lines{"new.yaml:11:64: breaking: in responses, the format was \"int32\" and is \"int64\" now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/format), before old.yaml:11:64 "
                   "[response-format-widened]",
                   "new.yaml:7:61: unclassified: in requests, the pattern was \"a\" and is \"b\" now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/pattern), before old.yaml:7:61 "
                   "[request-pattern-changed]"}));
}

TEST(DiffSchemas, properties_of_a_request) {
  EXPECT_EQ(diff_of(bodies("{type: object, required: [b], properties: {a: {}, b: {}, c: {}}}", "{}"),
                    bodies("{type: object, required: [c, d], properties: {b: {}, c: {}, d: {}, e: {}}}", "{}")),
            (Lines{"new.yaml:7:99: breaking: in requests, the property 'c' is required now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/properties/c), before "
                   "old.yaml:7:103 [request-property-became-required]",
                   "new.yaml:7:106: breaking: in requests, there is a new required property 'd' "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/properties/d), before "
                   "old.yaml:7:76 [request-required-property-added]",
                   "new.yaml:7:79: unclassified: in requests, the property 'a' is gone "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/properties), before "
                   "old.yaml:7:89 [request-property-removed]",
                   "new.yaml:7:92: non-breaking: in requests, the property 'b' is optional now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/properties/b), before "
                   "old.yaml:7:96 [request-property-became-optional]",
                   "new.yaml:7:113: non-breaking: in requests, there is a new optional property 'e' "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/properties/e), before "
                   "old.yaml:7:76 [request-optional-property-added]"}));
}

TEST(DiffSchemas, properties_of_a_response) {
  EXPECT_EQ(diff_of(bodies("{}", "{type: object, required: [a, c], properties: {a: {}, b: {}, c: {}}}"),
                    bodies("{}", "{type: object, properties: {c: {}, d: {}}}")),
            (Lines{"new.yaml:11:63: breaking: in responses, the property 'a', which was required, is gone "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/properties), before "
                   "old.yaml:11:94 [response-required-property-removed]",
                   "new.yaml:11:76: breaking: in responses, the property 'c' is optional now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/properties/c), before "
                   "old.yaml:11:108 [response-property-became-optional]",
                   "new.yaml:11:63: unclassified: in responses, the property 'b' is gone "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/properties), before "
                   "old.yaml:11:101 [response-optional-property-removed]",
                   "new.yaml:11:83: non-breaking: in responses, there is a new optional property 'd' "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/properties/d), before "
                   "old.yaml:11:81 [response-property-added]"}));
}

TEST(DiffSchemas, readOnly_properties_are_not_sent) {
  EXPECT_EQ(
      diff_of(
          bodies("{type: object, properties: {a: {type: string}}}", "{}"),
          bodies("{type: object, required: [id], properties: {a: {type: string}, id: {type: string, readOnly: true}}}",
                 "{}")),
      (Lines{}));
}

TEST(DiffSchemas, a_property_of_a_closed_object_that_is_gone_breaks_requests) {
  EXPECT_EQ(
      diff_of(bodies("{type: object, additionalProperties: false, properties: {a: {}, b: {}}}", "{}"),
              bodies("{type: object, additionalProperties: false, properties: {a: {}}}", "{}")),
      (Lines{
          "new.yaml:7:90: breaking: in requests, the property 'b' is gone, and undeclared properties are not allowed "
          "(#/paths/~1pets/post/requestBody/content/application~1json/schema/properties), before "
          "old.yaml:7:110 [request-property-removed]"}));
}

TEST(DiffSchemas, objects_that_are_closed_now_break_requests) {
  EXPECT_EQ(diff_of(bodies("{type: object}"), bodies("{type: object, additionalProperties: false}")),
            (Lines{"new.yaml:7:61: breaking: in requests, properties that are not declared are no longer allowed "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/additionalProperties), before "
                   "old.yaml:7:38 [request-additional-properties-forbidden]",
                   "new.yaml:11:63: non-breaking: in responses, properties that are not declared are no longer allowed "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/additionalProperties), before "
                   "old.yaml:11:40 [response-additional-properties-forbidden]"}));
}

TEST(DiffSchemas, elements_are_compared) {
  EXPECT_EQ(diff_of(bodies("{type: array, items: {type: string}}", "{}"),
                    bodies("{type: array, uniqueItems: true, items: {type: integer}}", "{}")),
            (Lines{"new.yaml:7:60: breaking: in requests, elements have to be unique now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/uniqueItems), before "
                   "old.yaml:7:38 [request-unique-items-added]",
                   "new.yaml:7:87: breaking: in requests, the type was string and is integer now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/items/type), before "
                   "old.yaml:7:68 [request-type-changed]"}));
}

TEST(DiffSchemas, required_properties_need_not_be_declared) {
  EXPECT_EQ(diff_of(bodies("{type: object, required: [a]}", "{}"), bodies("{type: object, required: [a, c, b]}", "{}")),
            (Lines{"new.yaml:7:61: breaking: in requests, the property 'b', which is not declared, is required now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/required), before "
                   "old.yaml:7:61 [request-property-became-required]",
                   "new.yaml:7:61: breaking: in requests, the property 'c', which is not declared, is required now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/required), before "
                   "old.yaml:7:61 [request-property-became-required]"}));
  EXPECT_EQ(diff_of(bodies("{}", "{type: object, required: [a, b]}"), bodies("{}", "{type: object, required: [a]}")),
            (Lines{"new.yaml:11:63: breaking: in responses, the property 'b', which was not declared, is optional now "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/required), before "
                   "old.yaml:11:63 [response-property-became-optional]"}));
}

TEST(DiffSchemas, parts_of_allOf_count_as_one_schema) {
  EXPECT_EQ(diff_of(bodies("{type: object, required: [a], properties: {a: {type: string}}}", "{}"),
                    bodies("{allOf: [{type: object, properties: {a: {type: string}}}, {required: [a]}]}", "{}")),
            (Lines{}));
}

TEST(DiffSchemas, alternatives) {
  EXPECT_EQ(diff_of(bodies("{oneOf: [{type: string}, {type: integer}]}"),
                    bodies("{oneOf: [{type: string}]}", "{oneOf: [{type: string}, {type: integer}, {type: boolean}]}")),
            (Lines{"new.yaml:7:47: breaking: in requests, the alternative {\"type\": \"integer\"} is gone "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/oneOf), before old.yaml:7:71 "
                   "[request-oneOf-alternative-removed]",
                   "new.yaml:11:90: breaking: in responses, the alternative {\"type\": \"boolean\"} is new "
                   "(#/paths/~1pets/post/responses/200/content/application~1json/schema/oneOf/2), before "
                   "old.yaml:11:49 [response-oneOf-alternative-added]"}));
}

TEST(DiffSchemas, a_schema_that_becomes_one_of_several_widens) {
  EXPECT_EQ(diff_of(bodies("{type: string}", "{}"), bodies("{oneOf: [{type: string}, {type: integer}]}", "{}")),
            (Lines{"new.yaml:7:38: non-breaking: in requests, the type was string and is any type now "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema), before old.yaml:7:47 "
                   "[request-type-widened]",
                   "new.yaml:7:47: non-breaking: in requests, there are alternatives now: oneOf "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/oneOf), before old.yaml:7:38 "
                   "[request-oneOf-added]"}));
}

// Each change as its severity and rule: "breaking request-not-changed".
Lines rules_of(const std::string& before, const std::string& after) {
  Lines lines;
  for (const std::string& line : diff_of(before, after)) {
    const std::size_t begin = line.find(": ") + 2;
    const std::size_t rule = line.rfind('[') + 1;
    lines.push_back(line.substr(begin, line.find(':', begin) - begin) + ' ' +
                    line.substr(rule, line.rfind(']') - rule));
  }
  return lines;
}

TEST(DiffSchemas, a_new_assertion_breaks_requests_and_one_that_is_gone_breaks_responses) {
  for (const auto& [keyword, schema] : std::vector<std::pair<std::string, std::string>>{
           {"not", "{not: {type: string}}"},
           {"if", "{if: {required: [a]}, then: {required: [b]}}"},
           {"if", "{if: {required: [a]}, else: false}"},
           {"contains", "{contains: {const: 1}}"},
           {"prefixItems", "{prefixItems: [{type: string}]}"},
           {"propertyNames", "{propertyNames: {maxLength: 8}}"},
           {"patternProperties", "{patternProperties: {'^x-': {type: string}}}"},
           {"dependentRequired", "{dependentRequired: {a: [b]}}"},
           {"dependentSchemas", "{dependentSchemas: {a: {required: [b]}}}"},
           {"unevaluatedProperties", "{unevaluatedProperties: false}"}}) {
    EXPECT_EQ(rules_of(bodies("{}"), bodies(schema)),
              (Lines{"breaking request-" + keyword + "-changed", "non-breaking response-" + keyword + "-changed"}))
        << schema;
    EXPECT_EQ(rules_of(bodies(schema), bodies("{}")),
              (Lines{"breaking response-" + keyword + "-changed", "non-breaking request-" + keyword + "-changed"}))
        << schema;
    EXPECT_EQ(rules_of(bodies(schema), bodies("{allOf: [{}, " + schema + "]}")), Lines()) << schema;
  }
}

TEST(DiffSchemas, an_assertion_that_rules_nothing_out_is_no_change) {
  for (const std::string schema : {"{not: false}", "{if: {required: [a]}}", "{propertyNames: true}",
                                   "{patternProperties: {}}", "{unevaluatedProperties: true}"}) {
    EXPECT_EQ(rules_of(bodies("{}"), bodies(schema)), Lines()) << schema;
  }
}

TEST(DiffSchemas, another_condition_is_unclassified) {
  EXPECT_EQ(rules_of(bodies("{if: {required: [a]}, then: {required: [b]}}"),
                     bodies("{if: {required: [a]}, then: {required: [c]}}")),
            (Lines{"unclassified request-if-changed", "unclassified response-if-changed"}));
}

TEST(DiffSchemas, patterns_of_a_closed_object_and_first_items_before_others_are_unclassified) {
  EXPECT_EQ(rules_of(bodies("{additionalProperties: false}", "{items: {type: string}}"),
                     bodies("{additionalProperties: false, patternProperties: {'^x-': {type: string}}}",
                            "{items: {type: string}, prefixItems: [{type: integer}]}")),
            (Lines{"unclassified request-patternProperties-changed", "unclassified response-prefixItems-changed"}));
}

TEST(DiffSchemas, what_is_not_understood_is_unclassified) {
  EXPECT_EQ(diff_of(bodies("{not: {type: string}}", "{}"), bodies("{not: {type: integer}}", "{}")),
            (Lines{"new.yaml:7:47: unclassified: in requests, not has changed "
                   "(#/paths/~1pets/post/requestBody/content/application~1json/schema/not), before old.yaml:7:47 "
                   "[request-not-changed]"}));
}

TEST(DiffSchemas, a_component_is_said_once) {
  EXPECT_EQ(diff_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: "
                    "'#/components/schemas/A'}}}}, responses: {default: {description: a}}}}\n"
                    "  /b: {post: {requestBody: {content: {application/json: {schema: {$ref: "
                    "'#/components/schemas/A'}}}}, responses: {default: {description: a}}}}\n"
                    "components: {schemas: {A: {type: object, properties: {next: {$ref: '#/components/schemas/A'}, n: "
                    "{type: string}}}}}\n",
                    "openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "paths:\n"
                    "  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: "
                    "'#/components/schemas/A'}}}}, responses: {default: {description: a}}}}\n"
                    "  /b: {post: {requestBody: {content: {application/json: {schema: {$ref: "
                    "'#/components/schemas/A'}}}}, responses: {default: {description: a}}}}\n"
                    "components: {schemas: {A: {type: object, properties: {next: {$ref: '#/components/schemas/A'}, n: "
                    "{type: integer}}}}}\n"),
            (Lines{"new.yaml:6:99: breaking: in requests, the type was string and is integer now "
                   "(#/components/schemas/A/properties/n/type), before old.yaml:6:99 [request-type-changed]"}));
}

}  // namespace
}  // namespace keel::openapi::diff_schemas_test
