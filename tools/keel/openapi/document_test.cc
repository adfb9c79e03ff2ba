#include "openapi/document.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::openapi::document_test {
namespace {

using namespace keel::openapi::testing;

std::unique_ptr<Document> loaded(const Files& files) {
  Problems problems;
  auto document = Document::load("api.yaml", reader_of(files), problems);
  EXPECT_EQ(described(problems), Lines());
  return document;
}
const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n";

// What the schema A of the document refers to.
std::string target_of(const Files& files) {
  const auto document = loaded(files);
  if (document == nullptr) return "";
  const Node* const found = document->resolve(*document->root().find("components")->find("schemas")->find("A"));
  return found == nullptr ? "" : place_of(*found) + ' ' + pointer_of(*found);
}
std::string reference(const std::string& to, const std::string& more = "") {
  return head + "components: {schemas: {A: {$ref: '" + to + "'}" + more + "}}\n";
}

TEST(Document, a_reference_is_a_pointer_into_its_file) {
  EXPECT_EQ(target_of({{"api.yaml", reference("#/components/schemas/B", ", B: {}")}}),
            "api.yaml:3:61 #/components/schemas/B");
  EXPECT_EQ(target_of({{"api.yaml", reference("#/x-a/1/b~1c~0d/%7Be%7D") + "x-a: [0, {'b/c~d': {'{e}': {}}}]\n"}}),
            "api.yaml:4:21 #/x-a/1/b~1c~0d/{e}");
}

TEST(Document, a_reference_is_relative_to_its_file) {
  EXPECT_EQ(target_of({{"api.yaml", reference("parts/pets.yaml#/Pet")},
                       {"parts/pets.yaml", "Pet: {$ref: '../other.json#/Pet'}\n"},
                       {"other.json", "{\"Pet\": {}}"}}),
            "other.json:1:2 #/Pet");
  EXPECT_EQ(target_of({{"api.yaml", reference("my%20pets.yaml")}, {"my pets.yaml", "type: object\n"}}),
            "my pets.yaml:1:1 #");
}

TEST(Document, an_id_is_the_base_of_what_is_in_it) {
  const std::string schemas =
      ", B: {$id: 'https://example.com/s/pet', $defs: {c: {$anchor: tail}, d: {$ref: '#/$defs/c'}}}";
  EXPECT_EQ(target_of({{"api.yaml", reference("https://example.com/s/pet", schemas)}}),
            "api.yaml:3:64 #/components/schemas/B");
  EXPECT_EQ(target_of({{"api.yaml", reference("https://example.com/s/pet#tail", schemas)}}),
            "api.yaml:3:115 #/components/schemas/B/$defs/c");
  EXPECT_EQ(target_of({{"api.yaml", reference("https://example.com/s/pet#/$defs/d", schemas)}}),
            "api.yaml:3:119 #/components/schemas/B/$defs/c");
  EXPECT_EQ(target_of({{"api.yaml", head + "components: {schemas: {A: {$ref: '#e'}, B: {$anchor: e}}}\n"}}),
            "api.yaml:3:41 #/components/schemas/B");
}

TEST(Document, circles_through_properties_are_references_as_others) {
  const auto document =
      loaded({{"api.yaml", reference("tree.yaml")},
              {"tree.yaml",
               "type: object\nproperties: {left: {$ref: '#'}, right: {$ref: 'api.yaml#/components/schemas/A'}}\n"}});
  ASSERT_NE(document, nullptr);
  const Node* const tree = document->resolve(*document->root().find("components")->find("schemas")->find("A"));
  EXPECT_EQ(document->resolve(*tree->find("properties"), "left"), tree);
  EXPECT_EQ(document->resolve(*tree->find("properties"), "right"), tree);
  EXPECT_EQ(document->files(), 2u);
}

TEST(Document, what_looks_like_a_reference_in_data_is_none) {
  loaded({{"api.yaml",
           head + "components:\n"
                  "  schemas:\n"
                  "    A: {example: {$ref: nowhere}, default: {$ref: nowhere}, const: {$ref: nowhere}}\n"
                  "    B: {properties: {$ref: {type: string}}, enum: [{$ref: nowhere}], x-a: {$ref: nowhere}}\n"
                  "  examples: {default: {value: {$ref: nowhere}}}\n"}});
}

TEST(Document, a_property_may_have_the_name_of_a_keyword) {
  EXPECT_EQ(lint_of(head + "components:\n"
                           "  schemas:\n"
                           "    A: {type: object, properties: {example: {$ref: '#/nowhere'}}}\n"),
            (Lines{"api.yaml:5:46: error: '#/nowhere' leads nowhere: 'nowhere' is not in # "
                   "(#/components/schemas/A/properties/example/$ref)"}));
}

TEST(Document, a_reference_to_each_of_very_many_files_is_bounded) {
  Files files;
  std::string schemas = head + "components:\n  schemas:\n";
  for (int i = 0; i < 1001; ++i) {
    const std::string name = "f" + std::to_string(i) + ".yaml";
    schemas += "    S" + std::to_string(i) + ": {$ref: " + name + "}\n";
    files[name] = "type: string\n";
  }
  files["api.yaml"] = schemas;
  EXPECT_EQ(lint_of(files), (Lines{"api.yaml:1004:12: error: 'f999.yaml' is one file too many: at most 1000 are read "
                                   "(#/components/schemas/S999/$ref)",
                                   "api.yaml:1005:13: error: 'f1000.yaml' is one file too many: at most 1000 are read "
                                   "(#/components/schemas/S1000/$ref)"}));
}

// A chain that no stack would hold if each link took a call.
TEST(Document, a_long_chain_of_schemas_takes_no_stack) {
  std::string text = head + "components:\n  schemas:\n";
  constexpr int count = 10'000;
  for (int i = 0; i < count; ++i) {
    text += "    S" + std::to_string(i) + ": {allOf: [{$ref: '#/components/schemas/S" +
            std::to_string((i + 1) % count) + "'}]}\n";
  }
  const Lines lines = lint_of(text);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("circular allOf"), std::string::npos);
}

TEST(Document, only_regular_files_are_read) {
  EXPECT_EQ(read_regular_file("/dev/zero").error().describe(), "is not a regular file");
  EXPECT_EQ(read_regular_file("/no/such/file").error().code(), Code::NotFound);
}

TEST(Document, a_file_that_is_missing_is_an_error) {
  EXPECT_EQ(lint_of(Files{}), (Lines{"api.yaml: error: cannot be read: there is no such file"}));
}

TEST(Document, a_document_says_its_version) {
  EXPECT_EQ(lint_of("info: {}\n"),
            (Lines{"api.yaml:1:1: error: is not an OpenAPI document: 'openapi' is missing (#)"}));
}

TEST(Document, swagger_2_is_rejected_by_name) {
  EXPECT_EQ(
      lint_of("swagger: '2.0'\n"),
      (Lines{"api.yaml:1:1: error: is Swagger 2.0: Keel reads OpenAPI 3.0 and 3.1; convert it first (#/swagger)"}));
}

TEST(Document, a_version_without_quotes_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1\n"),
            (Lines{"api.yaml:1:1: error: the version is a number: put it in quotes, \"3.1.0\" (#/openapi)"}));
}

TEST(Document, another_version_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 4.0.0\n"),
            (Lines{"api.yaml:1:1: error: OpenAPI \"4.0.0\" is not supported: expected 3.0.x or 3.1.x (#/openapi)"}));
}

TEST(Document, a_list_is_no_document) {
  EXPECT_EQ(lint_of("- openapi\n"), (Lines{"api.yaml:1:1: error: is not an OpenAPI document: expected an object (#)"}));
}

TEST(Document, a_reference_that_leads_nowhere_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components: {schemas: {Pet: {}, A: {$ref: '#/components/schemas/Pte'}}}\n"),
            (Lines{"api.yaml:3:37: error: '#/components/schemas/Pte' leads nowhere: 'Pte' is not in "
                   "#/components/schemas; did you mean 'Pet'? (#/components/schemas/A/$ref)"}));
}

TEST(Document, a_reference_to_a_file_that_is_missing_is_an_error) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "components: {schemas: {A: {$ref: 'pets.yaml#/Pet'}}}\n"),
      (Lines{"api.yaml:3:28: error: 'pets.yaml' cannot be read: there is no such file (#/components/schemas/A/$ref)"}));
}

TEST(Document, a_mistake_in_another_file_is_placed_there) {
  EXPECT_EQ(
      lint_of(Files{{"api.yaml",
                     "openapi: 3.1.0\n"
                     "info: {title: Shop, version: '1'}\n"
                     "components: {schemas: {A: {$ref: 'pets.yaml#/Pet'}}}\n"},
                    {"pets.yaml",
                     "Pet:\n"
                     "  type: strng\n"}}),
      (Lines{"pets.yaml:2:3: error: \"strng\" is not a type: expected array, boolean, integer, null, number, object "
             "or string; did you mean 'string'? (#/Pet/type)"}));
}

TEST(Document, another_file_that_is_no_yaml_is_placed_there) {
  EXPECT_EQ(lint_of(Files{{"api.yaml",
                           "openapi: 3.1.0\n"
                           "info: {title: Shop, version: '1'}\n"
                           "components: {schemas: {A: {$ref: 'pets.yaml#/Pet'}}}\n"},
                          {"pets.yaml", "Pet: [\n"}}),
            (Lines{"pets.yaml:2:1: error: is no YAML: end of sequence flow not found"}));
}

TEST(Document, a_remote_reference_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components: {schemas: {A: {$ref: 'https://example.com/pet.yaml'}}}\n"),
            (Lines{"api.yaml:3:28: error: 'https://example.com/pet.yaml' is remote: nothing is read from a network; "
                   "save the file beside this one, and refer to the saved file (#/components/schemas/A/$ref)"}));
}

TEST(Document, an_absolute_path_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components: {schemas: {A: {$ref: '/etc/pet.yaml'}}}\n"),
            (Lines{"api.yaml:3:28: error: '/etc/pet.yaml' is an absolute path: write it relative to this file "
                   "(#/components/schemas/A/$ref)"}));
}

TEST(Document, a_reference_to_itself_is_an_error) {
  EXPECT_EQ(
      lint_of("openapi: 3.1.0\n"
              "info: {title: Shop, version: '1'}\n"
              "components: {schemas: {A: {$ref: '#/components/schemas/B'}, B: {$ref: '#/components/schemas/A'}}}\n"),
      (Lines{"api.yaml:3:28: error: the reference leads back to itself, or through more than 64 others "
             "(#/components/schemas/A/$ref)",
             "api.yaml:3:65: error: the reference leads back to itself, or through more than 64 others "
             "(#/components/schemas/B/$ref)"}));
}

TEST(Document, a_pointer_with_a_bad_escape_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components: {schemas: {A: {$ref: '#/components/schemas/~2'}}}\n"),
            (Lines{"api.yaml:3:28: error: '#/components/schemas/~2' leads nowhere: '~2' has a '~' that is neither ~0 "
                   "nor ~1 (#/components/schemas/A/$ref)"}));
}

TEST(Document, a_pointer_with_a_bad_percent_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components: {schemas: {A: {$ref: '#/components/%zz'}}}\n"),
            (Lines{"api.yaml:3:28: error: '#/components/%zz' leads nowhere: '%zz' has a '%' that is not followed by "
                   "two hexadecimal digits "
                   "(#/components/schemas/A/$ref)"}));
}

TEST(Document, an_anchor_that_is_missing_is_an_error) {
  EXPECT_EQ(lint_of("openapi: 3.1.0\n"
                    "info: {title: Shop, version: '1'}\n"
                    "components: {schemas: {A: {$ref: '#pet'}}}\n"),
            (Lines{"api.yaml:3:28: error: '#pet' leads nowhere: no schema has the $anchor 'pet' "
                   "(#/components/schemas/A/$ref)"}));
}

}  // namespace
}  // namespace keel::openapi::document_test
