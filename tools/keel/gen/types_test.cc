#include "gen/types.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "openapi/testing.h"

namespace keel::gen::types_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

struct Output {
  std::string header;
  std::vector<std::string> parts;
  Lines problems;

  friend bool operator==(const Output&, const Output&) = default;
};

// With the keys of every map in another order.
void shuffle(Node& node, std::mt19937& random) {
  if (node.is(Kind::Map)) std::shuffle(node.children.begin(), node.children.end(), random);
  node.index.reset();
  for (Node* const child : node.children) shuffle(*child, random);
}

Output output_of(const std::string& text, unsigned seed = 0) {
  const Files files = {{"api.yaml", text}};
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  std::mt19937 random(seed);
  if (seed != 0) shuffle(document->root(), random);
  lint(*document, problems);
  Output output;
  if (problems.errors() == 0) {
    Names names;
    Types types(*document, problems, names);
    std::vector<const Node*> schemas;
    for (const Node* const one : std::as_const(*document).root().find("components")->find("schemas")->children) {
      schemas.push_back(one);
    }
    std::sort(schemas.begin(), schemas.end(), [](const Node* a, const Node* b) { return a->key < b->key; });
    for (const Node* const one : schemas) types.type_of(*one, pascal_of(one->key));
    Parts parts(3);
    output.header = types.headers().back().text;
    types.definitions(parts);
    for (const Parts::Part& part : parts.spread()) output.parts.push_back(types.functions_for(part.text) + part.text);
  }
  output.problems = described(problems);
  return output;
}
const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n";
std::string shapes() {
  std::ifstream in(KEEL_SOURCE_DIR "/tools/keel/gen/testdata/shapes.yaml");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
bool has(const Output& output, std::string_view text) {
  return output.header.find(text) != std::string::npos ||
         std::any_of(output.parts.begin(), output.parts.end(),
                     [&](const std::string& part) { return part.find(text) != std::string::npos; });
}

TEST(Types, are_the_same_bytes_whatever_the_order_of_keys) {
  const std::string text = shapes();
  const Output output = output_of(text);

  EXPECT_EQ(output.problems, Lines());
  EXPECT_GT(output.header.size(), 1000u);
  for (unsigned seed = 1; seed < 20; ++seed) ASSERT_EQ(output_of(text, seed), output) << "seed " << seed;
}

// The schemas, and a struct with one of them.
Output output_with_member(const std::string& schemas) {
  return output_of(head + schemas + "    Z: {type: object, properties: {c: {$ref: '#/components/schemas/C'}}}\n");
}
bool is_any_value(const Output& output) {
  return has(output, "std::optional<keel::json::Value> c{};") && has(output, "keel::contract::check_ahead(in, ") &&
         !has(output, "std::variant<");
}

TEST(Types, alternatives_that_cannot_be_told_apart_are_a_value_that_is_checked_and_a_warning_with_both_places) {
  const Output objects = output_with_member(
      "    A: {type: object, properties: {x: {type: string}}}\n"
      "    B: {type: object, properties: {x: {type: integer}}}\n"
      "    C:\n"
      "      oneOf:\n"
      "        - $ref: '#/components/schemas/A'\n"
      "        - $ref: '#/components/schemas/B'\n");
  EXPECT_EQ(objects.problems,
            (Lines{"api.yaml:11:11: warning: this alternative and the one at api.yaml:10:11 "
                   "(#/components/schemas/C/oneOf/0) cannot be told apart: both are objects, so the value is a "
                   "json::Value: give them a discriminator or a required property with different constants, or give "
                   "each a required property that the other does not have (#/components/schemas/C/oneOf/1)"}));
  EXPECT_TRUE(is_any_value(objects)) << objects.header;

  const Output lists = output_with_member(
      "    C:\n"
      "      oneOf:\n"
      "        - {type: array, items: {type: string}}\n"
      "        - {type: array, items: {type: integer}}\n");
  EXPECT_EQ(lists.problems,
            (Lines{"api.yaml:9:11: warning: this alternative and the one at api.yaml:8:11 "
                   "(#/components/schemas/C/oneOf/0) cannot be told apart: both are arrays, so the value is a "
                   "json::Value: combine them into one schema, or make them objects with a discriminator "
                   "(#/components/schemas/C/oneOf/1)"}));
  EXPECT_TRUE(is_any_value(lists)) << lists.header;
}

TEST(Types, a_default_of_alternatives_that_cannot_be_told_apart_is_any_value) {
  const Output output = output_of(head +
                                  "    Z:\n"
                                  "      type: object\n"
                                  "      properties:\n"
                                  "        c: {default: [1], oneOf: [{type: array, items: {type: string}}, {type: "
                                  "array, items: {type: integer}}]}\n");

  EXPECT_EQ(output.problems.size(), 1u);
  EXPECT_TRUE(has(output, "keel::json::Value c = keel::json::Value::array({1});")) << output.header;
}

TEST(Types, an_alternative_beside_a_discriminator_needs_a_name_or_constants) {
  const Output output = output_with_member(
      "    A: {type: object, required: [kind], properties: {kind: {type: string}}}\n"
      "    C:\n"
      "      oneOf:\n"
      "        - $ref: '#/components/schemas/A'\n"
      "        - {type: object, required: [kind], properties: {kind: {type: string}}}\n"
      "      discriminator: {propertyName: kind}\n");
  EXPECT_EQ(output.problems,
            (Lines{"api.yaml:10:11: warning: nothing says which values of the discriminator 'kind' lead to this "
                   "alternative, so the value is a json::Value: write the alternative as a $ref, or give the property "
                   "a const or an enum (#/components/schemas/C/oneOf/1)"}));
  EXPECT_TRUE(is_any_value(output)) << output.header;
}

TEST(Types, a_value_of_a_discriminator_leads_to_one_alternative) {
  const Output output = output_with_member(
      "    A: {type: object, required: [kind], properties: {kind: {enum: [x, y]}}}\n"
      "    B: {type: object, required: [kind], properties: {kind: {const: y}}}\n"
      "    C:\n"
      "      oneOf:\n"
      "        - $ref: '#/components/schemas/A'\n"
      "        - $ref: '#/components/schemas/B'\n"
      "      discriminator: {propertyName: kind}\n");
  EXPECT_EQ(output.problems,
            (Lines{"api.yaml:11:11: warning: the value 'y' of the discriminator leads here and to api.yaml:10:11 "
                   "(#/components/schemas/C/oneOf/0), so the value is a json::Value: give the discriminator a mapping "
                   "(#/components/schemas/C/oneOf/1)"}));
  EXPECT_TRUE(is_any_value(output)) << output.header;
}

TEST(Types, a_mapping_of_a_discriminator_leads_to_an_alternative) {
  const std::string of_kind = ": {type: object, required: [kind], properties: {kind: {type: string}}}\n";
  const Output output =
      output_with_member("    A" + of_kind + "    B" + of_kind + "    D" + of_kind +
                         "    C:\n"
                         "      oneOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/B'}]\n"
                         "      discriminator: {propertyName: kind, mapping: {d: D}}\n");
  EXPECT_EQ(output.problems,
            (Lines{"api.yaml:11:53: warning: the mapping of 'd' leads to none of the alternatives, so the value is a "
                   "json::Value: name one of them (#/components/schemas/C/discriminator/mapping/d)"}));
  EXPECT_TRUE(is_any_value(output)) << output.header;
}

TEST(Types, a_discriminator_is_a_property_of_each_alternative_that_is_an_object) {
  const std::string b = "    B: {type: object, properties: {x: {type: integer}}}\n";
  const std::string alternatives =
      "      oneOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/B'}, {type: 'null'}]\n"
      "      discriminator: {propertyName: kind}\n";
  const Output output =
      output_with_member("    A: {type: object, properties: {kind: {type: string}}}\n" + b + "    C:\n" + alternatives);
  EXPECT_EQ(output.problems,
            (Lines{"api.yaml:9:49: warning: the discriminator 'kind' is not a property of this alternative, so the "
                   "value is a json::Value: add the property to the alternative (#/components/schemas/C/oneOf/1)"}));
  EXPECT_TRUE(is_any_value(output)) << output.header;

  const Output around = output_with_member("    A: {type: object, properties: {x: {type: string}}}\n" + b +
                                           "    C:\n      properties: {kind: {type: string}}\n" + alternatives);
  EXPECT_EQ(around.problems, Lines()) << "the schema around them has it";
  EXPECT_TRUE(has(around, "std::variant<")) << around.header;
}

TEST(Types, a_value_of_an_enum_that_is_of_another_type_is_not_compared) {
  const Output output =
      output_of(head + "    A: {type: object, properties: {n: {type: integer, enum: ['', 0, 2, 2]}}}\n");
  const std::string all = output.parts[0] + output.parts[1] + output.parts[2];
  EXPECT_TRUE(all.contains("if (value != 0 && value != 2) return {\"must be one of 0, 2\", \"enum\"};")) << all;
}

TEST(Types, an_any_of_that_cannot_be_told_apart_is_any_value_that_fits) {
  const Output output = output_of(head +
                                  "    A: {type: object, properties: {x: {type: string}}}\n"
                                  "    B: {type: object, properties: {x: {type: integer}}}\n"
                                  "    C:\n"
                                  "      type: object\n"
                                  "      properties:\n"
                                  "        c: {anyOf: [{$ref: '#/components/schemas/A'}, {$ref: "
                                  "'#/components/schemas/B'}]}\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(has(output, "std::optional<keel::json::Value> c{};"));
  EXPECT_TRUE(has(output, "keel::contract::check_ahead(in, "));
}

TEST(Types, the_lengths_of_a_file_are_numbers_of_bytes) {
  const Output output = output_of(head +
                                  "    A: {type: object, properties: {a: {type: string, format: binary, minLength: 1, "
                                  "maxLength: 9}}}\n");
  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(has(output, "must have 1 to 9 bytes"));
  EXPECT_TRUE(has(output, "check_file_1_to_9(value)"));
  EXPECT_EQ(output_of(head + "    A: {type: string, format: binary, pattern: a}\n").problems,
            (Lines{"api.yaml:6:5: error: a string of the format binary is bytes: only the number of bytes can be "
                   "limited (#/components/schemas/A)"}));
}

TEST(Types, a_circular_all_of_and_a_pattern_with_look_around_are_errors_before) {
  const Lines circular = output_of(head +
                                   "    A: {allOf: [{$ref: '#/components/schemas/B'}]}\n"
                                   "    B: {allOf: [{$ref: '#/components/schemas/A'}]}\n")
                             .problems;
  ASSERT_EQ(circular.size(), 1u);
  EXPECT_TRUE(circular[0].starts_with("api.yaml:7:18: error: circular allOf")) << circular[0];
  const Lines pattern = output_of(head + "    A: {type: string, pattern: '(?!x)a'}\n").problems;
  ASSERT_EQ(pattern.size(), 1u);
  EXPECT_TRUE(pattern[0].find("uses look-around") != std::string::npos) << pattern[0];
}

TEST(Types, a_number_of_yaml_with_leading_zeros_is_no_octal_number_of_cpp) {
  const Output output =
      output_of(head +
                "    P: {type: object, properties: {a: {default: 010}, b: {type: integer, default: 08}, "
                "c: {type: number, default: .5}}}\n");

  EXPECT_TRUE(has(output, "keel::json::Value a = 10;")) << output.header;
  EXPECT_TRUE(has(output, "std::int64_t b = 8;")) << output.header;
  EXPECT_TRUE(has(output, "double c = 0.5;")) << output.header;
}

TEST(Types, nullable_of_openapi_3_0_beside_a_part_allows_null) {
  std::string text = head;
  text.replace(text.find("3.1.0"), 5, "3.0.3");
  const Output output = output_of(
      text +
      "    A: {type: object, properties: {n: {type: integer}}}\n"
      "    E: {type: string, enum: [x, y]}\n"
      "    P: {type: object, required: [a], properties: {a: {allOf: [{$ref: '#/components/schemas/A'}], nullable: "
      "true, description: The a.}, b: {type: object, allOf: [{$ref: '#/components/schemas/A'}], nullable: true}, "
      "e: {oneOf: [{$ref: '#/components/schemas/E'}], nullable: true, default: null}}}\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(has(output, "  // The a.\n  std::optional<A> a;\n  keel::Patch<A> b{};\n  std::optional<E> e{};\n"))
      << output.header;
}

TEST(Types, nullable_and_a_default_of_null_change_nothing_where_null_is_not_allowed) {
  const std::string plain = output_of(head +
                                      "    A: {type: object, required: [y], properties: {x: {type: integer}, "
                                      "y: {type: string}}}\n")
                                .header;
  EXPECT_NE(plain.find("  std::optional<std::int64_t> x{};\n  std::string y;\n"), plain.npos) << plain;
  EXPECT_EQ(output_of(head + "    A: {type: object, required: [y], properties: {x: {type: integer, default: null}, "
                             "y: {type: string, nullable: true}}}\n")
                .header,
            plain);
}

TEST(Types, a_default_that_has_no_form_in_cpp_is_an_error) {
  EXPECT_EQ(
      output_of(head + "    A: {type: object, properties: {x: {type: string, format: uuid, default: no}}}\n"
                       "    B: {type: object, properties: {x: {type: integer, format: int32, default: 3000000000}}}\n")
          .problems,
      (Lines{"api.yaml:6:68: error: the default \"no\" cannot be written as a keel::Uuid of C++ "
             "(#/components/schemas/A/properties/x/default)",
             "api.yaml:7:70: error: the default 3000000000 cannot be written as a std::int32_t of C++ "
             "(#/components/schemas/B/properties/x/default)"}));
  const std::string of_any =
      " of a default fits no C++ type: an integer must fit into 64 bits, any other number into a double "
      "(#/components/schemas/A/properties/x/default";
  EXPECT_EQ(
      output_of(head + "    A: {type: object, properties: {x: {default: {a: [99999999999999999999]}}}}\n").problems,
      Lines{"api.yaml:6:54: error: the number 99999999999999999999" + of_any + "/a/0)"});
  EXPECT_EQ(output_of(head + "    A: {type: object, properties: {x: {type: number, default: 1e999}}}\n").problems,
            Lines{"api.yaml:6:54: error: the default 1e999 cannot be written as a double of C++ "
                  "(#/components/schemas/A/properties/x/default)"});
  EXPECT_EQ(output_of(head + "    A: {type: object, properties: {x: {type: integer, default: 99999999999999999999}}}\n")
                .problems,
            Lines{"api.yaml:6:55: error: the default 99999999999999999999 cannot be written as a std::int64_t of C++ "
                  "(#/components/schemas/A/properties/x/default)"});
  EXPECT_EQ(output_of(head + "    A: {type: object, properties: {x: {default: {a: [18446744073709551615, 1.5]}}}}\n")
                .problems,
            Lines());
}

TEST(Types, what_a_reader_cannot_say_is_checked_ahead) {
  const Output output = output_of(head +
                                  "    A:\n"
                                  "      type: object\n"
                                  "      properties: {a: {type: string}, b: {type: string}}\n"
                                  "      dependentRequired: {a: [b]}\n");

  EXPECT_TRUE(has(output, "  if (!keel::contract::check_ahead(in_, schema_"));
}

TEST(Types, a_comment_is_the_first_paragraph_of_the_description) {
  const Output output = output_of(shapes());

  EXPECT_TRUE(has(output, "// A thing that is sold.\nstruct Product {\n"));
  EXPECT_TRUE(has(output, "  // What it is called.\n  std::string name;\n"));
  EXPECT_FALSE(has(output, "second paragraph"));
}

TEST(Types, a_struct_of_more_than_40_members_says_its_fields) {
  std::string text = head + "    A:\n      type: object\n      properties:\n";
  for (int i = 0; i < 45; ++i) text += "        p" + std::to_string(i) + ": {type: integer}\n";

  EXPECT_TRUE(has(output_of(text), "static constexpr auto fields = keel::fields(\n      \"p0\", &A::p0,\n"));
}

}  // namespace
}  // namespace keel::gen::types_test
