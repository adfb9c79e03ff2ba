#include "gen/inheritance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gen/output.h"
#include "openapi/testing.h"

namespace keel::gen::inheritance_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

struct Output {
  Lines problems;
  std::string types;
  std::string all;

  bool has(std::string_view text) const { return all.find(text) != std::string::npos; }
};
void shuffle(Node& node, std::mt19937& random) {
  if (node.is(Kind::Map)) std::shuffle(node.children.begin(), node.children.end(), random);
  node.index.reset();
  for (Node* const child : node.children) shuffle(*child, random);
}
Output output_of(const Files& files, const Options& options = {.parts = 1, .has_server = false, .has_client = true},
                 unsigned seed = 0) {
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  std::mt19937 random(seed);
  if (document != nullptr && seed != 0) shuffle(document->root(), random);
  Output output;
  for (const File& file : generate(*document, options, problems)) {
    if (file.name == "types.h")
      output.types = file.text.substr(std::min(file.text.find("\nnamespace"), file.text.size()));
    output.all += file.text;
  }
  output.problems = described(problems);
  return output;
}
// The document whose operation answers with `response`, and that has these schemas, a line each.
std::string document_of(const Lines& schemas, const std::string& response = "{$ref: '#/components/schemas/Pet'}") {
  std::string text =
      "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: a\n" +
      std::string("      responses: {'200': {description: fine, content: {application/json: {schema: ") + response +
      "}}}}\ncomponents:\n  schemas:\n";
  for (const std::string& one : schemas) text += "    " + one + '\n';
  return text;
}
Output output_of(const Lines& schemas, const std::string& response = "{$ref: '#/components/schemas/Pet'}") {
  return output_of(Files{{"api.yaml", document_of(schemas, response)}});
}

const std::string pet =
    "Pet: {type: object, required: [kind], properties: {kind: {type: string}, name: {type: string}}, "
    "discriminator: {propertyName: kind}}";
const std::string cat =
    "Cat: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, properties: {lives: {type: integer}}}]}";
const std::string dog =
    "Dog: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, properties: {bark: {type: string}}}]}";
std::string pet_with(const std::string& more, const std::string& kind = "{type: string}") {
  return "Pet: {type: object, required: [kind], properties: {kind: " + kind +
         ", name: {type: string}}, discriminator: {propertyName: kind" + more + "}}";
}

TEST(Inheritance, a_parent_is_a_variant_of_its_children_and_of_itself) {
  const Output output = output_of({pet, cat, dog});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Pet : std::variant<Cat, Dog, PlainPet> {")) << output.types;
  EXPECT_TRUE(output.has("struct PlainPet {\n  std::string kind = \"Pet\";\n  std::optional<std::string> name{};\n"))
      << output.types;
  EXPECT_TRUE(
      output.has("struct Cat {\n  std::string kind = \"Cat\";\n  std::optional<std::int64_t> lives{};\n"
                 "  std::optional<std::string> name{};\n"))
      << output.types;
  EXPECT_TRUE(output.has("must be one of Cat, Dog, Pet")) << output.all;
}

TEST(Inheritance, the_mapping_says_the_values_and_whether_the_parent_is_one_itself) {
  const Output abstract = output_of({pet_with(", mapping: {cat: Cat, kitten: Cat}"), cat, dog});
  EXPECT_EQ(abstract.problems, Lines());
  EXPECT_TRUE(abstract.has("struct Pet : std::variant<Cat, Dog> {")) << abstract.types;
  EXPECT_TRUE(abstract.has("must be one of Dog, cat, kitten")) << abstract.all;
  EXPECT_FALSE(abstract.has("PlainPet")) << abstract.types;

  const Output itself =
      output_of({pet_with(", mapping: {pet: '#/components/schemas/Pet', cat: Cat, dog: Dog}"), cat, dog});
  EXPECT_EQ(itself.problems, Lines());
  EXPECT_TRUE(itself.has("struct Pet : std::variant<Cat, Dog, PlainPet> {")) << itself.types;
  EXPECT_TRUE(itself.has("must be one of cat, dog, pet")) << itself.all;
}

TEST(Inheritance, an_enum_of_the_property_says_what_the_parent_is_not) {
  const Output output = output_of({pet_with("", "{type: string, enum: [Cat, Dog]}"), cat, dog});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Pet : std::variant<Cat, Dog> {")) << output.types;
  EXPECT_TRUE(output.has("  CatKind kind = CatKind::Dog;\n")) << output.types;
}

TEST(Inheritance, a_child_may_have_children_and_no_member_of_its_own) {
  const Output output = output_of({pet, cat, "Lion: {allOf: [{$ref: '#/components/schemas/Cat'}]}"});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Pet : std::variant<Cat, Lion, PlainPet> {")) << output.types;
  EXPECT_TRUE(output.has("struct Lion {\n  std::string kind = \"Lion\";\n  std::optional<std::int64_t> lives{};\n"))
      << output.types;
}

TEST(Inheritance, a_parent_in_between_is_a_variant_as_well) {
  const Output output = output_of(
      {pet,
       "Cat: {allOf: [{$ref: '#/components/schemas/Pet'}], type: object, properties: {lives: {type: integer}}, "
       "discriminator: {propertyName: kind, mapping: {lion: Lion}}}",
       "Lion: {allOf: [{$ref: '#/components/schemas/Cat'}, {type: object, properties: {mane: {type: string}}}]}"},
      "{type: array, items: {$ref: '#/components/schemas/Pet'}}");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Pet : std::variant<Lion, PlainPet> {")) << output.types;
  EXPECT_TRUE(output.has("must be one of Pet, lion")) << output.all;
}

TEST(Inheritance, children_may_be_in_other_files) {
  const Output output = output_of(Files{
      {"api.yaml", document_of({"Pet: {$ref: 'pet.yaml'}", "Cat: {$ref: 'cat.yaml'}", "Dog: {$ref: 'dog.yaml'}"})},
      {"pet.yaml",
       "{type: object, required: [kind], properties: {kind: {type: string}}, "
       "discriminator: {propertyName: kind, mapping: {cat: 'cat.yaml', dog: 'dog.yaml'}}}"},
      {"cat.yaml", "{allOf: [{$ref: 'pet.yaml'}, {type: object, properties: {lives: {type: integer}}}]}"},
      {"dog.yaml", "{allOf: [{$ref: 'pet.yaml'}, {type: object, properties: {bark: {type: string}}}]}"}});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Pet2 : std::variant<Cat2, Dog2> {")) << output.types;
  EXPECT_TRUE(output.has("must be one of cat, dog")) << output.all;
}

TEST(Inheritance, a_schema_may_contain_its_parent) {
  const Output output =
      output_of({pet,
                 "Cat: {allOf: [{$ref: '#/components/schemas/Pet'}, {type: object, properties: {friend: {$ref: "
                 "'#/components/schemas/Pet'}}}]}"});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("keel::Box<Pet> friend_{};")) << output.types;
}

TEST(Inheritance, the_same_document_shuffled_gives_the_same_bytes) {
  const Files files = {
      {"api.yaml", document_of({pet, cat, dog, "Lion: {allOf: [{$ref: '#/components/schemas/Cat'}]}"})}};
  const Options options{.parts = 1, .has_server = false, .has_client = true};
  const Output output = output_of(files, options);

  for (unsigned seed = 1; seed < 10; ++seed) ASSERT_EQ(output_of(files, options, seed).all, output.all) << seed;
}

TEST(Inheritance, a_part_of_the_operations_has_the_children_as_well) {
  Options options{.parts = 1, .has_server = false, .has_client = true};
  options.operations = {"a"};
  const Files files = {{"api.yaml", document_of({pet, cat, dog, "Other: {type: object}"})}};

  const Output output = output_of(files, options);

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Pet : std::variant<Cat, Dog, PlainPet> {")) << output.types;
  EXPECT_EQ(output_of(Files{{"api.yaml", document_of({pet, cat, dog}, "{$ref: '#/components/schemas/Cat'}")}}, options)
                .types.find("Dog"),
            std::string::npos);
}

TEST(Inheritance, null_may_stand_for_a_parent_of_openapi_3_0) {
  std::string text = document_of({pet, cat,
                                  "Home: {type: object, properties: {pet: {allOf: [{$ref: "
                                  "'#/components/schemas/Pet'}], nullable: true}}}"});
  text.replace(text.find("3.1.0"), 5, "3.0.3");

  const Output output = output_of(Files{{"api.yaml", text}});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Home {\n  keel::Patch<Pet> pet{};\n")) << output.types;
}

TEST(Inheritance, a_oneOf_with_a_discriminator_means_its_alternatives_alone) {
  const Output output =
      output_of({pet, cat, "Lion: {allOf: [{$ref: '#/components/schemas/Cat'}]}",
                 "Any: {oneOf: [{$ref: '#/components/schemas/Pet'}, {$ref: '#/components/schemas/Cat'}], "
                 "discriminator: {propertyName: kind, mapping: {pet: Pet, cat: Cat}}}"});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("struct Any : std::variant<PlainPet, Cat> {")) << output.types;
}

TEST(Inheritance, a_discriminator_that_cannot_be_followed_is_a_warning) {
  const auto said = [](const Lines& schemas) {
    const Output output = output_of(schemas);
    EXPECT_TRUE(output.has("struct Pet {")) << output.types;
    return output.problems;
  };
  EXPECT_EQ(said({"Pet: {type: object, properties: {name: {type: string}}, discriminator: {propertyName: kind}}", cat}),
            Lines{"api.yaml:10:61: warning: the discriminator has no effect, and 'Pet' is read without the members of "
                  "its children: 'kind' is not a property of 'Cat' (#/components/schemas/Pet/discriminator)"});
  EXPECT_EQ(said({pet_with("", "{type: string, enum: [cat, dog]}"), cat, dog}),
            Lines{"api.yaml:10:119: warning: the discriminator has no effect, and 'Pet' is read without the members of "
                  "its children: the value 'cat' leads to 'Cat' and to 'Dog': give the discriminator a mapping "
                  "(#/components/schemas/Pet/discriminator)"});
  EXPECT_EQ(
      said({pet_with(", mapping: {cat: Cat}"), "Cat: {type: object, properties: {kind: {type: string}}}"}),
      Lines{"api.yaml:10:137: warning: the mapping has no effect: no schema has 'Pet' in its allOf; write a oneOf of "
            "the mapped schemas next to the discriminator (#/components/schemas/Pet/discriminator/mapping)"});
}

TEST(Inheritance, a_parent_in_a_parameter_a_form_and_beside_a_default_is_itself) {
  const std::string reference = "{$ref: '#/components/schemas/Pet'}";
  std::string text = document_of(
      {pet, cat, "Home: {type: object, properties: {pet: {allOf: [" + reference + "], default: {kind: Pet}}}}"});
  text.insert(text.find("      responses"),
              "      parameters: [{name: pet, in: query, style: deepObject, schema: " + reference + "}]\n" +
                  "      requestBody: {content: {application/x-www-form-urlencoded: {schema: " + reference + "}}}\n");

  const Output output = output_of(Files{{"api.yaml", text}});

  ASSERT_EQ(output.problems.size(), 4u) << output.problems[0];
  EXPECT_EQ(
      output.problems[0],
      "api.yaml:7:62: warning: 'Pet' is read without the members of its children: its discriminator has no effect "
      "in a parameter (#/paths/~1a/get/parameters/0/schema)");
  EXPECT_NE(output.problems[2].find("has no effect in a form"), std::string::npos) << output.problems[2];
  EXPECT_NE(output.problems[3].find("has no effect in a default"), std::string::npos) << output.problems[3];
  EXPECT_TRUE(output.has("std::optional<PlainPet> pet;")) << output.all;
}

}  // namespace
}  // namespace keel::gen::inheritance_test
