#include "gen/bundle.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "openapi/source.h"
#include "openapi/testing.h"

namespace keel::gen::bundle_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Problem;
using openapi::Problems;

std::string bundle_of(const Files& files, Lines problems_expected = {}) {
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  EXPECT_NE(document, nullptr);
  if (document == nullptr) return "";
  std::string json = bundle(*document, problems);
  EXPECT_EQ(described(problems), problems_expected);
  return json;
}
std::string head(const std::string& version = "3.1.0") {
  return "openapi: " + version + "\ninfo: {title: Shop, version: '1'}\n";
}
const std::string head_json = R"({"openapi":"3.1.0","info":{"title":"Shop","version":"1"},)";

// The texts without places: those of the bundle are others.
std::vector<std::string> texts_of(const Problems& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems.sorted()) texts.push_back(problem.text);
  std::sort(texts.begin(), texts.end());
  return texts;
}

// The bundle is what it is made of: the same problems, no change for a client, and a bundle of its own.
void expect_equivalent(const std::string& path, const openapi::ReadFile& read) {
  Problems problems;
  const auto unchanged = Document::load(path, read, problems);
  ASSERT_NE(unchanged, nullptr) << path;
  const std::string json = bundle(*unchanged, problems);
  ASSERT_EQ(problems.errors(), 0U) << path << ": " << described(problems)[0];

  const Files files = {{"bundle.json", json}};
  Problems problems_before;
  Problems problems_after;
  const auto before = Document::load(path, read, problems_before);
  const auto after = Document::load("bundle.json", reader_of(files), problems_after);
  ASSERT_NE(after, nullptr) << path << ": " << described(problems_after)[0];
  EXPECT_EQ(bundle(*after, problems_after), json) << path;
  lint(*before, problems_before);
  lint(*after, problems_after);
  EXPECT_EQ(texts_of(problems_before), texts_of(problems_after)) << path;
  if (problems_before.errors() != 0) return;
  for (const openapi::Change& change : diff(*before, *after)) ADD_FAILURE() << path << ": " << change.describe();
  for (const openapi::Change& change : diff(*after, *before)) ADD_FAILURE() << path << ": " << change.describe();
}

TEST(Bundle, writes_the_numbers_of_yaml_as_json) {
  EXPECT_EQ(bundle_of({{"api.yaml", head() + "paths: {}\nx-all: [+1, .5, 5., -.5e3, 010]\n"}},
                      {"api.yaml:4:28: warning: the number 010 is 10: put it in quotes if it is text (#/x-all/4)"}),
            head_json + R"("paths":{},"x-all":[1,0.5,5,-0.5e3,10]})");
}

TEST(Bundle, writes_one_file_as_it_is) {
  EXPECT_EQ(bundle_of({{"api.yaml", head() + "paths: {}\n"
                                             "components: {schemas: {B: {type: [string, 'null'], example: 1.50}, "
                                             "A: {$ref: '#/components/schemas/B', description: <b>}}}\n"
                                             "x-more: {$ref: kept, list: [1, true, null]}\n"}}),
            head_json + R"("paths":{},"components":{"schemas":{"B":{"type":["string","null"],"example":1.50},)"
                        R"("A":{"$ref":"#/components/schemas/B","description":"<b>"}}},)"
                        R"("x-more":{"$ref":"kept","list":[1,true,null]}})");
}

TEST(Bundle, keeps_the_keywords_of_openapi_3_0) {
  EXPECT_EQ(
      bundle_of({{"api.yaml", head("3.0.3") + "paths: {}\n"
                                              "components: {schemas: {A: {type: integer, nullable: true, minimum: 1, "
                                              "exclusiveMinimum: true}}}\n"}}),
      R"({"openapi":"3.0.3","info":{"title":"Shop","version":"1"},"paths":{},"components":{"schemas":)"
      R"({"A":{"type":"integer","nullable":true,"minimum":1,"exclusiveMinimum":true}}}})");
}

TEST(Bundle, makes_components_of_what_other_files_have) {
  EXPECT_EQ(
      bundle_of({{"api.yaml", head() + "paths: {/pets: {get: {parameters: [{$ref: 'parts.yaml#/Limit'}], "
                                       "responses: {'200': {$ref: 'answers/ok.yaml'}}}}}\n"},
                 {"parts.yaml", "Limit: {name: limit, in: query, schema: {$ref: '#/Count'}}\nCount: {minimum: 1}\n"},
                 {"answers/ok.yaml",
                  "description: fine\ncontent: {text/plain: {schema: "
                  "{$ref: '../parts.yaml#/Count'}}}\n"}}),
      head_json +
          R"("paths":{"/pets":{"get":{"parameters":[{"$ref":"#/components/parameters/Limit"}],)"
          R"("responses":{"200":{"$ref":"#/components/responses/ok"}}}}},"components":{)"
          R"("parameters":{"Limit":{"name":"limit","in":"query","schema":{"$ref":"#/components/schemas/Count"}}},)"
          R"("responses":{"ok":{"description":"fine","content":{"text/plain":)"
          R"({"schema":{"$ref":"#/components/schemas/Count"}}}}},"schemas":{"Count":{"minimum":1}}}})");
}

TEST(Bundle, keeps_circles_as_references) {
  EXPECT_EQ(
      bundle_of({{"api.yaml", head() + "components: {schemas: {A: {$ref: tree.yaml}}}\n"},
                 {"tree.yaml", "properties: {left: {$ref: '#'}, root: {$ref: 'api.yaml#/components/schemas/A'}}\n"}}),
      head_json + R"("components":{"schemas":{"A":{"$ref":"#/components/schemas/tree"},"tree":{"properties":)"
                  R"({"left":{"$ref":"#/components/schemas/tree"},"root":{"$ref":"#/components/schemas/A"}}}}}})");
}

TEST(Bundle, tells_names_apart_by_the_file_whatever_the_order) {
  const Files parts = {{"a.yaml", "Pet: {minimum: 1}\nOnly: {maximum: 1}\n"}, {"b.yaml", "Pet: {minimum: 2}\n"}};
  Files one = parts;
  one["api.yaml"] = head() +
                    "components: {schemas: {P: {$ref: 'a.yaml#/Pet'}, Q: {$ref: 'b.yaml#/Pet'}, "
                    "R: {$ref: 'a.yaml#/Only'}, Only: {}}}\n";
  EXPECT_EQ(bundle_of(one),
            head_json +
                R"("components":{"schemas":{"P":{"$ref":"#/components/schemas/a.Pet"},)"
                R"("Q":{"$ref":"#/components/schemas/b.Pet"},"R":{"$ref":"#/components/schemas/a.Only"},"Only":{},)"
                R"("a.Only":{"maximum":1},"a.Pet":{"minimum":1},"b.Pet":{"minimum":2}}}})");
  Files other = parts;
  other["api.yaml"] = head() +
                      "components: {schemas: {Only: {}, R: {$ref: 'a.yaml#/Only'}, "
                      "Q: {$ref: 'b.yaml#/Pet'}, P: {$ref: 'a.yaml#/Pet'}}}\n";
  const std::string json = bundle_of(other);
  EXPECT_TRUE(json.ends_with(R"("a.Only":{"maximum":1},"a.Pet":{"minimum":1},"b.Pet":{"minimum":2}}}})")) << json;
}

TEST(Bundle, makes_pointers_of_ids_and_anchors) {
  EXPECT_EQ(bundle_of({{"api.yaml", head() + "components: {schemas: {A: {$ref: 'https://example.com/s/pet#tail'}, B: "
                                             "{$id: 'https://example.com/s/pet', properties: {$id: {type: string}}, "
                                             "$defs: {'c/% d': {$anchor: tail}, d: {$ref: '#tail'}}}}}\n"}}),
            head_json + R"("components":{"schemas":{"A":{"$ref":"#/components/schemas/B/$defs/c~1%25%20d"},)"
                        R"("B":{"properties":{"$id":{"type":"string"}},"$defs":{"c/% d":{},)"
                        R"("d":{"$ref":"#/components/schemas/B/$defs/c~1%25%20d"}}}}}})");
}

TEST(Bundle, puts_path_items_in_their_place_in_openapi_3_0) {
  const Files files = {{"api.yaml", head("3.0.3") + "paths: {/a: {$ref: a.yaml}}\n"},
                       {"a.yaml", "get: {responses: {'200': {description: fine}}}\n"}};
  EXPECT_EQ(bundle_of(files), R"({"openapi":"3.0.3","info":{"title":"Shop","version":"1"},"paths":{"/a":{"get":)"
                              R"({"responses":{"200":{"description":"fine"}}}}}})");
  Files of_31 = files;
  of_31["api.yaml"] = head() + "paths: {/a: {$ref: a.yaml}}\n";
  EXPECT_EQ(bundle_of(of_31), head_json +
                                  R"("paths":{"/a":{"$ref":"#/components/pathItems/a"}},"components":{"pathItems":)"
                                  R"({"a":{"get":{"responses":{"200":{"description":"fine"}}}}}}})");
}

TEST(Bundle, refuses_a_path_item_that_contains_itself) {
  Problems problems;
  const Files files = {
      {"api.yaml", head("3.0.3") + "paths: {/a: {$ref: a.yaml}}\n"},
      {"a.yaml", "post: {responses: {'200': {description: fine}}, callbacks: {c: {'{$url}': {$ref: a.yaml}}}}\n"}};
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  bundle(*document, problems);
  EXPECT_EQ(described(problems), Lines({"a.yaml:1:65: error: the path item contains itself: it cannot be written in "
                                        "one document (#/post/callbacks/c/{$url})"}));
}

TEST(Bundle, does_not_grow_without_end) {
  Files files = {{"api.yaml", head("3.0.3") + "paths: {/a: {$ref: 0.yaml}}\n"}};
  for (int i = 0; i < 20; ++i) {
    std::string callbacks;
    for (int k = 0; k < 10; ++k) {
      callbacks += "c" + std::to_string(k) + ": {'{$url}': {$ref: " + std::to_string(i + 1) + ".yaml}}, ";
    }
    files[std::to_string(i) + ".yaml"] =
        "post: {responses: {'200': {description: ''}}, callbacks: {" + callbacks + "}}\n";
  }
  files["20.yaml"] = "summary: end\n";
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  bundle(*document, problems);
  EXPECT_GT(problems.errors(), 0U);
}

TEST(Bundle, refuses_references_that_were_not_followed) {
  Problems problems;
  const Files files = {{"api.yaml", head() + "components: {schemas: {A: {$ref: 'b.yaml#/x-parts/B'}}}\n"},
                       {"b.yaml", "x-parts: {B: {items: {$ref: '#/x-parts/C'}}, C: {}}\n"}};
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  bundle(*document, problems);
  EXPECT_EQ(described(problems), Lines({"b.yaml:1:23: error: has no target; in examples and in members that begin with "
                                        "x-, a $ref is not a reference "
                                        "(#/x-parts/B/items/$ref)"}));
}

TEST(Bundle, follows_the_mapping_of_a_discriminator_and_links) {
  EXPECT_EQ(
      bundle_of({{"api.yaml", head() + "components: {schemas: {A: {oneOf: [{$ref: 'd.yaml#/Dog'}], discriminator: "
                                       "{propertyName: kind, mapping: {dog: 'd.yaml#/Dog', a: A}}}}, "
                                       "links: {L: {operationRef: 'd.yaml#/get'}}}\n"},
                 {"d.yaml", "Dog: {type: object}\nget: {operationId: find}\n"}}),
      head_json + R"("components":{"schemas":{"A":{"oneOf":[{"$ref":"#/components/schemas/Dog"}],"discriminator":)"
                  R"({"propertyName":"kind","mapping":{"dog":"#/components/schemas/Dog","a":"A"}}},)"
                  R"("Dog":{"type":"object"}},"links":{"L":{"operationId":"find"}}}})");
}

TEST(Bundle, is_equivalent_to_the_files_it_is_made_of) {
  const Files files = {
      {"api.yaml",
       head() + "paths:\n  /pets/{id}: {$ref: 'paths/pet.yaml'}\n  /shops: {get: {operationId: shops, responses: "
                "{default: {$ref: 'parts/answers.yaml#/Problem'}, '200': {description: fine, headers: {X-Count: "
                "{$ref: 'parts/answers.yaml#/Count'}}, content: {application/json: {schema: {$ref: "
                "'parts/schemas.yaml#/Shop'}}}}}}}\n"
                "components: {schemas: {Pet: {type: string}}}\n"},
      {"paths/pet.yaml",
       "parameters: [{$ref: '../parts/answers.yaml#/Id'}]\n"
       "put: {operationId: put, requestBody: {$ref: '../parts/answers.yaml#/Body'}, responses: {'200': {description: "
       "fine, content: {application/json: {schema: {$ref: '../parts/schemas.yaml#/Pet'}}}}}}\n"},
      {"parts/answers.yaml",
       "Problem: {description: bad, content: {text/plain: {schema: {type: string}}}}\n"
       "Count: {schema: {type: integer}}\n"
       "Id: {name: id, in: path, required: true, schema: {type: integer, minimum: 1}}\n"
       "Body: {required: true, content: {application/json: {schema: {$ref: 'schemas.yaml#/Pet'}}}}\n"},
      {"parts/schemas.yaml",
       "Pet: {type: object, required: [name], properties: {name: {type: string, maxLength: 20}, friends: {type: array, "
       "items: {$ref: '#/Pet'}}, home: {$ref: '#/Shop/properties/owner'}}}\n"
       "Shop: {type: object, properties: {pets: {type: array, items: {$ref: '#/Pet'}}, owner: {type: string}, kind: "
       "{$ref: '../api.yaml#/components/schemas/Pet'}}}\n"}};
  expect_equivalent("api.yaml", reader_of(files));
}

TEST(Bundle, of_every_document_of_the_corpus_is_equivalent) {
  const std::filesystem::path folder = KEEL_SOURCE_DIR "/../shared/corpora/openapi";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json") && !path.ends_with(".yaml")) continue;
    ++count;
    expect_equivalent(path, openapi::read_regular_file);
  }
  EXPECT_GE(count, 17U);
}

TEST(Bundle, is_given_to_the_service_with_its_gzip) {
  const std::string definition = document_definition("{\"a\":\"\\u0001?\xc3\xa9\"}");
  EXPECT_NE(definition.find(R"("{\"a\":\"\\u0001\077\303\251\"}",
    17))"),
            std::string::npos)
      << definition;

  const std::string text(100'000, 'a');
  const std::string packed = gzip(text);
  EXPECT_LT(packed.size(), 200U);
  std::string back(text.size(), '\0');
  z_stream stream = {};
  ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(back.data());
  stream.avail_out = static_cast<uInt>(back.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  inflateEnd(&stream);
  EXPECT_EQ(back, text);
  EXPECT_EQ(gzip(text), packed);
}

}  // namespace
}  // namespace keel::gen::bundle_test
