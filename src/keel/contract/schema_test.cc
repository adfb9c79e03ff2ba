#include "keel/contract/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/contract/testing.h"

namespace keel::contract::schema_test {
namespace {

using testing::Tables;

json::Value value_of(std::string_view text) { return *json::parse<json::Value>(text); }

// "/name must have …" each, or "valid".
std::string said(std::string_view schema, std::string_view value) {
  const Tables tables(schema);
  Violations wrong;
  if (check(value_of(value), tables.root(), wrong)) return wrong.empty() ? "valid" : "valid, with a violation";
  std::string all;
  for (const Violation& one : wrong) all += (all.empty() ? "" : "; ") + one.pointer + " " + one.message;
  return all;
}

// "/name minLength" each.
std::string keywords(std::string_view schema, std::string_view value) {
  const Tables tables(schema);
  Violations wrong;
  check(value_of(value), tables.root(), wrong);
  std::string all;
  for (const Violation& one : wrong) {
    all += (all.empty() ? "" : "; ") + one.pointer + ' ' + std::string(one.keyword);
  }
  return all;
}

struct Case {
  std::string_view schema;
  std::string_view value;
  std::string_view said;
};

TEST(Schema, a_violation_names_its_keyword) {
  const std::vector<Case> cases = {
      {R"({"type": "string"})", "1", " type"},
      {"false", "1", " not"},
      {R"({"enum": ["red"]})", "1", " enum"},
      {R"({"const": "red"})", "1", " const"},
      {R"({"minimum": 1, "maximum": 3})", "0", " minimum"},
      {R"({"minimum": 1, "maximum": 3})", "4", " maximum"},
      {R"({"exclusiveMinimum": 1, "exclusiveMaximum": 3})", "1", " exclusiveMinimum"},
      {R"({"exclusiveMinimum": 1, "exclusiveMaximum": 3})", "3", " exclusiveMaximum"},
      {R"({"multipleOf": 2})", "3", " multipleOf"},
      {R"({"minLength": 2, "maxLength": 3})", "\"a\"", " minLength"},
      {R"({"minLength": 2, "maxLength": 3})", "\"abcd\"", " maxLength"},
      {R"({"pattern": "^a", "format": "ipv4"})", "\"b\"", " pattern;  format"},
      {R"({"minItems": 1, "maxItems": 2})", "[]", " minItems"},
      {R"({"minItems": 1, "maxItems": 2})", "[1, 2, 3]", " maxItems"},
      {R"({"uniqueItems": true})", "[1, 1]", "/1 uniqueItems"},
      {R"({"contains": {"const": 1}})", "[2]", " contains"},
      {R"({"contains": {"const": 1}, "minContains": 2})", "[1]", " minContains"},
      {R"({"contains": {"const": 1}, "maxContains": 1})", "[1, 1]", " maxContains"},
      {R"({"items": false})", "[1]", "/0 not"},
      {R"({"unevaluatedItems": {"type": "null"}})", "[1]", "/0 type"},
      {R"({"minProperties": 1, "maxProperties": 1})", "{}", " minProperties"},
      {R"({"minProperties": 1, "maxProperties": 1})", R"({"a": 1, "b": 2})", " maxProperties"},
      {R"({"required": ["a"]})", "{}", "/a required"},
      {R"({"additionalProperties": false})", R"({"a": 1})", "/a additionalProperties"},
      {R"({"unevaluatedProperties": false})", R"({"a": 1})", "/a unevaluatedProperties"},
      {R"({"propertyNames": {"maxLength": 1}})", R"({"ab": 1})", "/ab propertyNames"},
      {R"({"dependentRequired": {"a": ["b"]}})", R"({"a": 1})", "/b dependentRequired"},
      {R"({"anyOf": [{"minimum": 3}, {"multipleOf": 2}]})", "1", " anyOf"},
      {R"({"oneOf": [{"minimum": 3}, {"multipleOf": 2}]})", "4", " oneOf"},
      {R"({"oneOf": [{"type": "string"}, {"type": "null"}]})", "4", " type"},
      {R"({"oneOf": [{"type": "string", "minLength": 1}, {"type": "null"}]})", "\"\"", " minLength"},
      {R"({"not": {"enum": [1, 2]}})", "1", " not"},
      {R"({"if": {"type": "string"}, "then": {"minLength": 1}})", "\"\"", " minLength"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(keywords(one.schema, one.value), one.said) << one.schema << " " << one.value;
  }
}

TEST(Schema, a_violation_says_what_is_expected) {
  const std::vector<Case> cases = {
      {R"({"type": "string"})", "1", " expected a string"},
      {R"({"type": ["string", "null", "integer"]})", "true", " expected a string, an integer or null"},
      {R"({"type": ["number", "boolean"]})", "{}", " expected a number or true or false"},
      {R"({"type": "integer"})", "1.0", "valid"},
      {R"({"type": "integer"})", "1.5", " expected an integer"},
      {R"({"enum": ["red", "green", 3, null]})", "\"blue\"", " must be one of red, green, 3, null"},
      {R"({"const": {"a": [1, "x"]}})", "1", R"( must be {"a":[1,"x"]})"},
      {R"({"const": {"a": [1, "x"]}})", R"({"a": [1.0, "x"]})", "valid"},
      {R"({"minimum": 1, "maximum": 100})", "0", " must be from 1 to 100"},
      {R"({"minimum": 1})", "0.5", " must be at least 1"},
      {R"({"exclusiveMinimum": 0, "maximum": 2.5})", "0", " must be greater than 0 and at most 2.5"},
      {R"({"exclusiveMaximum": 1e3})", "1000", " must be less than 1000"},
      {R"({"multipleOf": 0.01})", "0.075", " must be a multiple of 0.01"},
      {R"({"minLength": 2, "maxLength": 3})", "\"é\"", " must have 2 to 3 characters"},
      {R"({"minLength": 2, "maxLength": 3})", "\"ééé\"", "valid"},
      {R"({"pattern": "^a"})", "\"ba\"", " must match ^a"},
      {R"({"pattern": "b$"})", "\"ab\"", "valid"},
      {R"({"format": "ipv4"})", "\"1.2.3\"", " expected an IPv4 address such as 192.0.2.1"},
      {R"({"minItems": 1})", "[]", " must have at least 1 element"},
      {R"({"uniqueItems": true})", "[1, {}, 1.0]", "/2 must not be equal to an earlier element"},
      {R"({"prefixItems": [{"type": "string"}], "items": false})", R"([1, 2])",
       "/0 expected a string; /1 is not allowed here"},
      {R"({"contains": {"const": 7}})", "[1]", " must have at least 1 element equal to 7"},
      {R"({"contains": {"type": "string"}, "minContains": 2, "maxContains": 3})", "[\"a\"]",
       " must have 2 to 3 elements matching the schema in 'contains'"},
      {R"({"maxProperties": 1})", R"({"a": 1, "b": 2})", " must have at most 1 field"},
      {R"({"required": ["a", "x/y~z"]})", "{}", "/a is required; /x~1y~0z is required"},
      {R"({"properties": {"a": {"type": "string"}}, "additionalProperties": false})", R"({"a": 1, "b": 2})",
       "/a expected a string; /b is not a field of this object"},
      {R"({"patternProperties": {"^a": {"type": "string"}}})", R"({"ab": 1, "ba": 2})", "/ab expected a string"},
      {R"({"propertyNames": {"maxLength": 2}})", R"({"abc": 1})",
       "/abc has an invalid name, which must have at most 2 characters"},
      {R"({"dependentRequired": {"a": ["b"]}})", R"({"a": 1})", "/b is required where 'a' is given"},
      {R"({"dependentSchemas": {"a": {"maxProperties": 1}}})", R"({"a": 1, "b": 1})", " must have at most 1 field"},
      {R"({"properties": {"a": {}}, "unevaluatedProperties": false})", R"({"b": 1})",
       "/b is not a field of this object"},
      {R"({"prefixItems": [{}], "unevaluatedItems": {"type": "null"}})", "[1, 1]", "/1 expected null"},
      {R"({"not": {"enum": [1, 2]}})", "1", " must not be one of 1, 2"},
      {R"({"not": {"type": "string"}})", "\"\"", " is not allowed here"},
      {R"({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}})", "0", " must be at least 1"},
      {R"({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 1}})", "\"\"",
       " must have at least 1 character"},
      {"false", "1", " is not allowed here"},
  };

  for (const Case& one : cases) EXPECT_EQ(said(one.schema, one.value), one.said) << one.schema << " " << one.value;
}

// What a client meant is told by types, constants, enumerations and required members.
TEST(Schema, of_alternatives_the_one_that_is_meant_says_what_is_wrong) {
  constexpr std::string_view pets = R"({"oneOf": [
    {"properties": {"kind": {"const": "cat"}, "lives": {"maximum": 9}}, "required": ["kind"]},
    {"properties": {"kind": {"const": "dog"}, "name": {"minLength": 1}}, "required": ["kind"]}]})";

  EXPECT_EQ(said(pets, R"({"kind": "cat", "lives": 10})"), "/lives must be at most 9");
  EXPECT_EQ(said(pets, R"({"kind": "dog", "name": ""})"), "/name must have at least 1 character");
  EXPECT_EQ(said(pets, R"({"kind": "cow"})"), " must match exactly one of 2 alternatives, but matches none");
  EXPECT_EQ(said(R"({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]})", "\"\""),
            " must have at least 1 character");
  EXPECT_EQ(said(R"({"anyOf": [{"type": "string"}, {"type": "null"}]})", "1"), " expected a string or null");
  EXPECT_EQ(said(R"({"anyOf": [{"required": ["a"], "minProperties": 2}, {"required": ["b"]}]})", R"({"a": 1})"),
            " must have at least 2 fields");
  EXPECT_EQ(said(R"({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]})", "1"),
            " must match one of 2 alternatives, but matches none");
  EXPECT_EQ(said(R"({"oneOf": [{"minimum": 5}, {"multipleOf": 2}, true]})", "6"),
            " must match exactly one of 3 alternatives, but matches 3");
}

TEST(Schema, numbers_are_compared_and_divided_exactly) {
  EXPECT_EQ(said(R"({"multipleOf": 0.1})", "0.3"), "valid");
  EXPECT_EQ(said(R"({"multipleOf": 0.01})", "4.35"), "valid");
  EXPECT_EQ(said(R"({"multipleOf": 1e-8})", "12391239123"), "valid");
  EXPECT_EQ(said(R"({"multipleOf": 0.123456789})", "1e308"), " must be a multiple of 0.123456789");
  EXPECT_EQ(said(R"({"multipleOf": 3})", "18446744073709551615"), "valid");
  EXPECT_EQ(said(R"({"multipleOf": 3})", "-9223372036854775808"), " must be a multiple of 3");
  EXPECT_EQ(said(R"({"maximum": 9007199254740992})", "9007199254740993"), " must be at most 9007199254740992");
  EXPECT_EQ(said(R"({"maximum": 18446744073709551615})", "18446744073709551616"),
            " must be at most 18446744073709551615");
  EXPECT_EQ(said(R"({"minimum": -9223372036854775808})", "-9223372036854775809"), "valid");  // The same double.
}

TEST(Schema, a_recursive_schema_takes_a_value_as_deep_as_one_can_be) {
  constexpr std::string_view tree = R"({"$ref": "#/$defs/a", "$defs": {"a": {
    "type": "array", "allOf": [{"items": {"$ref": "#/$defs/a"}}], "maxItems": 1}}})";
  std::string deep;
  for (int i = 0; i < 128; ++i) deep += '[';
  for (int i = 0; i < 128; ++i) deep += ']';

  EXPECT_EQ(said(tree, deep), "valid");
}

// Without a bound it would be 2^60 evaluations.
TEST(Schema, what_would_take_exponential_time_is_a_violation) {
  constexpr std::string_view hostile = R"({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [
    {"properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["b"]},
    {"properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["c"]}]}}})";
  std::string deep;
  for (int i = 0; i < 60; ++i) deep += "{\"a\":";
  deep += "{}" + std::string(60, '}');

  EXPECT_EQ(said(hostile, deep), " takes too long to check: it is nested too deeply, or too large for its schema");
}

TEST(Schema, a_schema_that_refers_to_itself_for_the_same_value_ends) {
  EXPECT_EQ(said(R"({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}})", "1"),
            " takes too long to check: it is nested too deeply, or too large for its schema");
  EXPECT_EQ(said(R"({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}})", "1"),
            " takes too long to check: it is nested too deeply, or too large for its schema");
}

TEST(Schema, a_large_value_may_take_as_much_work_as_it_is_large) {
  json::Value list = json::Value::array();
  for (int i = 0; i < 100'000; ++i) list.push_back(json::Value(i));
  const Tables tables(R"({"items": {"type": "integer", "allOf": [{"minimum": 0}]}, "uniqueItems": true})");
  Violations wrong;

  EXPECT_TRUE(check(list, tables.root(), wrong));

  list.push_back(json::Value(77.0));
  EXPECT_FALSE(check(list, tables.root(), wrong));
  EXPECT_EQ(wrong[0].pointer, "/100000");
}

TEST(Schema, violations_end_at_as_many_as_there_is_room_for) {
  json::Value list = json::Value::array();
  for (int i = 0; i < 100; ++i) list.push_back(json::Value(i));
  const Tables tables(R"({"items": {"type": "string"}})");
  Violations wrong;

  EXPECT_FALSE(check(list, tables.root(), wrong));

  EXPECT_EQ(wrong.size(), Violations::count_max);
  EXPECT_TRUE(wrong.has_more());
}

TEST(Schema, a_valid_value_takes_no_heap) {
  const Tables tables(R"({"type": "object", "required": ["name"], "unevaluatedProperties": false,
    "propertyNames": {"maxLength": 40}, "properties": {
      "name": {"type": "string", "minLength": 1, "maxLength": 80, "pattern": "^a"},
      "price": {"type": "number", "multipleOf": 0.01, "minimum": 0},
      "tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}},
      "size": {"anyOf": [{"type": "string", "enum": ["s", "m"]}, {"type": "integer"}]}},
    "patternProperties": {"b$": {"type": "array", "contains": {"const": 3}}}})");
  const json::Value value = value_of(R"({"name": "a name of more than fourteen bytes", "price": 12.35,
    "tags": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q"],
    "size": 4, "a name of a member that ends in b": [1, 2, 3]})");
  Violations wrong;
  ASSERT_TRUE(check(value, tables.root(), wrong)) << wrong.error().describe();  // And compiles the patterns.

  const std::size_t before = keel::internal::allocations();
  const bool is_valid = check(value, tables.root(), wrong);
  const std::size_t after = keel::internal::allocations();

  EXPECT_TRUE(is_valid);
  EXPECT_EQ(after, before);
}

// OpenAPI 3.1.1 §4.8.24.2, JSON Schema 2020-12 validation §9.4.
TEST(Schema, requires_readOnly_of_responses_and_writeOnly_of_requests) {
  // The violations in a request, then those in a response.
  const auto both = [](std::string_view schema, std::string_view value) {
    const Tables tables(schema);
    std::string all;
    for (const Excuse excuse : {Excuse::ReadOnly, Excuse::WriteOnly}) {
      Violations wrong;
      const bool is_valid = check(value_of(value), tables.root(), wrong, excuse);
      all += (all.empty() ? "" : " | ") + (is_valid        ? std::string("valid")
                                           : wrong.empty() ? "nothing"
                                                           : wrong[0].pointer + ' ' + wrong[0].message);
    }
    return all;
  };
  const std::string properties = R"("properties": {"id": {"readOnly": true}, "name": {}, "key": {"writeOnly": true}})";
  const std::string account = R"({"required": ["id", "name", "key"], )" + properties + '}';
  EXPECT_EQ(both(account, R"({"name": 1, "key": 2})"), "valid | /id is required");
  EXPECT_EQ(both(account, R"({"name": 1, "id": 2})"), "/key is required | valid");
  EXPECT_EQ(both(account, R"({"name": 1, "id": 2, "key": 3})"), "valid | valid") << "they may come nevertheless";
  EXPECT_EQ(both(account, R"({"id": 2, "key": 3})"), "/name is required | /name is required");
  EXPECT_EQ(said(account, R"({"name": 1, "key": 2})"), "/id is required") << "no direction";

  // `required` and the property are in different parts, in either order.
  EXPECT_EQ(both(R"({"allOf": [{"required": ["id"]}, {)" + properties + "}]}", "{}"), "valid | /id is required");
  EXPECT_EQ(both(R"({"allOf": [{"required": ["id"]}], )" + properties + '}', "{}"), "valid | /id is required");
  EXPECT_EQ(both(R"({"required": ["id"], "allOf": [{"allOf": [{)" + properties + "}]}]}", "{}"),
            "valid | /id is required");
  EXPECT_EQ(both(R"({"dependentRequired": {"name": ["id"]}, )" + properties + '}', R"({"name": 1})"),
            "valid | /id is required where 'name' is given");
  EXPECT_EQ(both(R"({"dependentSchemas": {"name": {"required": ["id"]}}, )" + properties + '}', R"({"name": 1})"),
            "valid | /id is required");
  EXPECT_EQ(
      both(R"({"if": {"required": ["name"]}, "then": {"required": ["id"]}, )" + properties + '}', R"({"name": 1})"),
      "valid | /id is required");
  // Another value has properties of its own.
  EXPECT_EQ(both(R"({"properties": {"id": {"readOnly": true}, "a": {"required": ["id"]}}})", R"({"a": {}})"),
            "/a/id is required | /a/id is required");
  EXPECT_EQ(both(R"({"properties": {"a": )" + account + "}}", R"({"a": {"name": 1, "key": 2}})"),
            "valid | /a/id is required");
}

TEST(Schema, takes_a_required_name_as_it_is_where_it_selects) {
  const auto request = [](std::string_view schema, std::string_view value) {
    const Tables tables(schema);
    Violations wrong;
    return check(value_of(value), tables.root(), wrong, Excuse::ReadOnly);
  };
  const std::string id = R"("properties": {"id": {"readOnly": true}})";
  EXPECT_TRUE(request(R"({"not": {"required": ["id"]}, )" + id + '}', "{}"));
  EXPECT_FALSE(request(R"({"not": {"required": ["id"], )" + id + "}}", R"({"id": 1})"));
  EXPECT_TRUE(request(R"({"not": {"required": ["id"], )" + id + "}}", "{}"));
  EXPECT_TRUE(request(R"({"if": {"required": ["id"]}, "then": {"required": ["b"]}, )" + id + '}', "{}"));
  EXPECT_TRUE(request(R"({"oneOf": [{"required": ["id"]}, {"required": ["name"]}], )" + id + '}', R"({"name": 1})"));
  EXPECT_FALSE(request(R"({"anyOf": [{"required": ["id"]}, {"required": ["name"]}], )" + id + '}', "{}"));
  EXPECT_TRUE(request(R"({"oneOf": [{"required": ["id", "a"], )" + id + R"(}, {"required": ["b"]}]})", R"({"a": 1})"))
      << "an alternative has its own properties";
}

}  // namespace
}  // namespace keel::contract::schema_test
