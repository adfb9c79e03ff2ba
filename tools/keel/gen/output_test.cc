// The files that are generated: which there are, what is selected, and that nothing but the contract decides about
// them.

#include "gen/output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "openapi/testing.h"

namespace keel::gen::output_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

struct Output {
  std::vector<File> files;
  Lines problems;

  std::string text(std::string_view name) const {
    for (const File& file : files) {
      if (file.name == name) return file.text;
    }
    return "(no such file)";
  }
  bool has(std::string_view name, std::string_view part) const { return text(name).find(part) != std::string::npos; }
  Lines names() const {
    Lines names;
    for (const File& file : files) names.push_back(file.name);
    std::sort(names.begin(), names.end());
    return names;
  }
};

// Puts the keys of every map into another order.
void shuffle(Node& node, std::mt19937& random) {
  if (node.is(Kind::Map)) std::shuffle(node.children.begin(), node.children.end(), random);
  node.index.reset();
  for (Node* const child : node.children) shuffle(*child, random);
}
Output output_of(const std::string& text, const Options& options = {}, unsigned seed = 0) {
  const Files files = {{"api.yaml", text}};
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  std::mt19937 random(seed);
  if (seed != 0) shuffle(document->root(), random);
  Output output;
  if (document != nullptr) output.files = generate(*document, options, problems);
  for (const openapi::Problem& one : problems.sorted()) {
    if (one.severity == openapi::Problem::Severity::Error) output.problems.push_back(one.describe());
  }
  return output;
}
// Without the document itself, which keeps the order of its author.
std::string without_document(const std::string& text) {
  const std::size_t begin = text.find("constexpr keel::contract::Document document{");
  if (begin == std::string::npos) return text;
  return text.substr(0, begin) + text.substr(text.find("}  // namespace", begin));
}

const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n";
const std::string fine = "responses: {'204': {description: fine}}";

// Something of all that an operation can have.
const std::string shop = head + R"(
servers: [{url: 'https://{host}/v1', variables: {host: {default: example.com}}}]
security: [{token: []}]
tags: [{name: orders, description: What is ordered.}, {name: products}]
paths:
  /products/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
      - {name: color, in: query, style: deepObject, explode: true, schema: {type: object, properties: {r: {type: integer}, g: {type: integer}}}}
    get:
      operationId: getProduct
      tags: [products]
      parameters: [{name: tags, in: query, schema: {type: array, items: {type: string, pattern: '^a+$'}}}]
      responses:
        '200':
          description: The product.
          headers: {ETag: {schema: {type: string}}, X-Count: {required: true, schema: {type: integer}}}
          content:
            application/json: {schema: {type: object, properties: {name: {type: string}, size: {enum: [s, m]}}}}
            text/csv: {}
        4XX: {description: Wrong., content: {application/problem+json: {schema: {$ref: '#/components/schemas/Problem'}}}}
        default: {description: Else.}
    delete: {operationId: deleteProduct, tags: [products], security: [], responses: {'204': {description: Gone.}}}
  /orders:
    post:
      operationId: order
      tags: [orders]
      security: [{key: [], basic: []}, {oauth: [b, a]}, {}]
      requestBody:
        required: true
        content:
          application/json: {schema: {$ref: '#/components/schemas/Order'}}
          application/x-www-form-urlencoded: {schema: {$ref: '#/components/schemas/Order'}}
      responses: {'201': {description: Made., content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}}
  /upload:
    put: {operationId: upload, requestBody: {content: {image/png: {}}}, responses: {'204': {description: Kept.}}}
components:
  schemas:
    Order: {type: object, required: [item], properties: {item: {type: string, minLength: 1}, count: {type: integer, default: 1}}, dependentRequired: {count: [item]}}
    Problem: {type: object, properties: {detail: {type: string}, status: {type: integer}}}
  securitySchemes:
    token: {type: http, scheme: bearer}
    basic: {type: http, scheme: basic}
    key: {type: apiKey, in: header, name: X-Key}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://example.com/', scopes: {a: x, b: y}}}}
)";

TEST(Output, has_a_header_for_each_tag_and_as_many_parts_as_are_asked_for) {
  const Output output = output_of(shop, {.parts = 2});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_EQ(output.names(), (Lines{"api.h", "operations.h", "orders.h", "part_1.cc", "part_2.cc", "products.h",
                                   "schemas.h", "security.h", "types.h"}));
  EXPECT_EQ(output_of(head + "paths: {}\n", {.parts = 1}).names(), (Lines{"api.h", "part_1.cc", "types.h"}));
}

TEST(Output, is_the_same_bytes_whatever_the_order_of_keys) {
  const Output output = output_of(shop);

  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Output shuffled = output_of(shop, {}, seed);
    ASSERT_EQ(shuffled.problems, Lines()) << "seed " << seed;
    ASSERT_EQ(shuffled.names(), output.names()) << "seed " << seed;
    for (const File& file : output.files) {
      ASSERT_EQ(without_document(shuffled.text(file.name)), without_document(file.text))
          << file.name << ", seed " << seed;
    }
  }
}

// Two tags with 20 schemas each of their own, 10 that both use, which mention one another, and one that no operation
// uses.
std::string large() {
  std::string paths;
  std::string schemas = "    Unused: {type: object, properties: {a: {$ref: '#/components/schemas/Both0'}}}\n";
  for (const std::string tag : {"cats", "dogs"}) {
    for (int i = 0; i < 20; ++i) {
      const std::string name = tag + std::to_string(i);
      paths += "  /" + name + ":\n    get:\n      operationId: " + name + "\n      tags: [" + tag +
               "]\n      responses: {'200': {description: fine, content: {application/json: {schema: {$ref: "
               "'#/components/schemas/" +
               name + "'}}}}}\n";
      schemas += "    " + name + ": {type: object, properties: {a: {$ref: '#/components/schemas/Both" +
                 std::to_string(i % 10) + "'}}}\n";
    }
  }
  for (int i = 0; i < 10; ++i) {
    schemas += "    Both" + std::to_string(i) +
               ": {type: object, properties: {next: {type: array, items: {$ref: '#/components/schemas/Both" +
               std::to_string((i + 1) % 10) + "'}}}}\n";
  }
  return head + "paths:\n" + paths + "components:\n  schemas:\n" + schemas;
}

TEST(Output, has_many_types_in_headers_by_the_tags_that_use_them) {
  const Output output = output_of(large());

  EXPECT_EQ(output.problems, Lines());
  Lines headers = output.names();
  std::erase_if(headers, [](const std::string& name) { return name.ends_with(".cc"); });
  ASSERT_EQ(headers.size(), 7u);
  const std::string shared = headers[5];
  EXPECT_TRUE(shared.starts_with("shared_")) << shared;
  EXPECT_EQ(headers, (Lines{"api.h", "cats.h", "cats_types.h", "dogs.h", "dogs_types.h", shared, "types.h"}));

  EXPECT_TRUE(output.has("cats_types.h", "struct Cats7 {"));
  EXPECT_TRUE(output.has("cats_types.h", "#include \"api/" + shared + '"'));
  EXPECT_FALSE(output.has("cats_types.h", "struct Dogs"));
  EXPECT_TRUE(output.has(shared, "struct Both9 {"));
  EXPECT_FALSE(output.has(shared, "#include \"api/"));
  EXPECT_TRUE(output.has("cats.h", "#include \"api/cats_types.h\"\n#include \"api/" + shared + '"'));
  EXPECT_FALSE(output.has("cats.h", "dogs"));
  EXPECT_FALSE(output.has("cats.h", "types.h\"\n#include \"api/types.h"));
  for (const std::string& header : {std::string("cats_types.h"), std::string("dogs_types.h"), shared}) {
    EXPECT_TRUE(output.has("types.h", "#include \"api/" + header + '"'));
  }
  EXPECT_TRUE(output.has("types.h", "struct Unused {"));
}

TEST(Output, of_many_types_is_the_same_bytes_whatever_the_order_of_keys) {
  const Output output = output_of(large());

  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Output shuffled = output_of(large(), {}, seed);
    ASSERT_EQ(shuffled.names(), output.names()) << "seed " << seed;
    for (const File& file : output.files) {
      ASSERT_EQ(without_document(shuffled.text(file.name)), without_document(file.text))
          << file.name << ", seed " << seed;
    }
  }
}

TEST(Output, keeps_its_headers_apart_from_those_of_tags_with_such_names) {
  std::string text = large();
  for (std::size_t at = 0; (at = text.find("tags: [dogs]", at)) != text.npos; ++at)
    text.replace(at, 12, "tags: [cats_types]");
  const Output output = output_of(text);

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("cats_types.h", "class CatsTypesHandler"));
  EXPECT_TRUE(output.has("cats_types_.h", "struct Cats7 {"));
  EXPECT_TRUE(output.has("cats_types_types.h", "struct Dogs7 {"));
}

TEST(Output, includes_what_a_parameter_alone_needs) {
  const Output output =
      output_of(head +
                "paths:\n  /a/{id}:\n    get:\n      operationId: a\n      parameters: [{name: id, in: "
                "path, required: true, schema: {type: string, format: uuid}}]\n      " +
                fine + "\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("operations.h", "#include \"keel/data/uuid.h\"\n"));
  EXPECT_FALSE(output.has("types.h", "#include"));
}

TEST(Output, has_little_in_one_part) {
  const Output output = output_of(shop);

  EXPECT_TRUE(output.has("api.h", "inline void mount("));
  EXPECT_FALSE(output.has("part_1.cc", "#include \"api/api.h\""));
  EXPECT_FALSE(output.has("part_2.cc", "#include"));
  EXPECT_TRUE(output.has("part_2.cc", "Generated by `keel gen api`"));
}

TEST(Output, is_in_the_namespace_and_folder_that_are_named) {
  const Output output = output_of(shop, {.space = "shop::v1"});

  EXPECT_TRUE(output.has("api.h", "namespace shop::v1 {"));
  EXPECT_TRUE(output.has("api.h", "#include \"v1/orders.h\"\n"));
  EXPECT_FALSE(output.has("api.h", "\"api/"));
}

TEST(Output, has_only_the_operations_that_are_selected) {
  const Output some = output_of(shop, {.operations = {"order", "upload"}});
  EXPECT_EQ(some.problems, Lines());
  EXPECT_TRUE(some.has("orders.h", " order("));
  EXPECT_EQ(some.text("products.h"), "(no such file)");
  EXPECT_TRUE(some.has("operations.h", " upload("));

  const Output rest = output_of(shop, {.operations = {"-order", "-upload"}});
  EXPECT_EQ(rest.problems, Lines());
  EXPECT_EQ(rest.text("orders.h"), "(no such file)");
  EXPECT_TRUE(rest.has("products.h", " get_product("));
  EXPECT_TRUE(rest.has("products.h", " delete_product("));
}

TEST(Output, has_only_the_components_that_selected_operations_refer_to) {
  const auto get = [](const std::string& id, const std::string& schema) {
    return "  /" + id + ":\n    get:\n      operationId: " + id +
           "\n      responses: {'200': {description: fine, content: {application/json: {schema: {$ref: "
           "'#/components/schemas/" +
           schema + "'}}}}}\n";
  };
  const std::string document =
      head + "paths:\n" + get("a", "A") + get("b", "B") +
      "components:\n"
      "  schemas:\n"
      "    A: {type: object, properties: {next: {$ref: '#/components/schemas/Parts/$defs/Next'}}}\n"
      "    B: {type: object, properties: {text: {type: string, pattern: '(?!x)'}}}\n"
      "    C: {type: object, properties: {b: {$ref: '#/components/schemas/B'}}}\n"
      "    Parts:\n"
      "      $defs:\n"
      "        Next:\n"
      "          {type: object, required: [d], properties: {d: {type: string}, of: {$ref: '#/components/schemas/D'}},\n"
      "           discriminator: {propertyName: d, mapping: {e: E}}}\n"
      "      type: object\n"
      "    D: {type: object, required: [d], properties: {d: {type: string}}}\n"
      "    E: {type: object, required: [d], properties: {d: {type: string}}}\n";
  const Output all = output_of(document, {.operations = {"b"}});
  ASSERT_EQ(all.problems.size(), 1u);
  EXPECT_TRUE(all.problems[0].contains("look-around")) << all.problems[0];

  const Output output = output_of(document, {.operations = {"a"}});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("types.h", "struct A {"));
  EXPECT_TRUE(output.has("types.h", "struct D {"));
  EXPECT_FALSE(output.has("types.h", "struct B {"));
  EXPECT_FALSE(output.has("types.h", "struct C {"));
}

TEST(Output, rejects_operations_that_the_document_does_not_have) {
  EXPECT_EQ(output_of(shop, {.operations = {"ordr"}}).problems,
            Lines{"api.yaml:1:1: error: there is no operation 'ordr' (#)"});
  EXPECT_EQ(output_of(shop, {.operations = {"-ordr"}}).problems,
            Lines{"api.yaml:1:1: error: there is no operation 'ordr' (#)"});
  EXPECT_EQ(output_of(shop, {.operations = {"order", "-upload"}}).problems,
            Lines{"api.yaml:1:1: error: name either the operations to generate or, with a '-' in front, those to leave "
                  "out (#)"});
}

TEST(Output, has_no_security_where_every_request_may_pass) {
  const Output output = output_of(head + "paths:\n  /a:\n    get: {operationId: a, security: [{}], " + fine + "}\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_EQ(output.text("security.h"), "(no such file)");
  EXPECT_FALSE(output.has("operations.h", "Security"));
}

TEST(Output, names_what_mount_takes_apart_from_its_own_names) {
  const Output output = output_of(head + "paths:\n  /a:\n    get: {operationId: a, tags: [routes], " + fine +
                                  "}\n    put: {operationId: b, tags: [options], " + fine +
                                  "}\ncomponents: {schemas: {MountOptions: {type: object, properties: {a: {type: "
                                  "string}}}}}\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("api.h",
                         "inline void mount(keel::contract::Routes routes, OptionsHandler& options_, RoutesHandler& "
                         "routes_,\n                  const MountOptions2& options = {}) {\n"))
      << output.text("api.h");
}

TEST(Output, asks_for_the_media_type_of_a_body_without_its_parameters) {
  const Output output =
      output_of(head +
                    "paths:\n  /a:\n    post:\n      operationId: a\n      requestBody:\n        content:\n"
                    "          application/json: {schema: &s {$ref: "
                    "'#/components/schemas/A'}}\n"
                    "          'application/x-www-form-urlencoded; charset=utf-8': {schema: *s}\n      " +
                    fine + "\ncomponents: {schemas: {A: {type: object, properties: {a: {type: string}}}}}\n",
                {.parts = 1});

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("part_1.cc", "if (in.is_body(\"application/x-www-form-urlencoded\")) {"));
}

TEST(Output, rejects_a_text_with_the_character_0) {
  EXPECT_EQ(output_of(head + "tags: [{name: t, description: \"a\\0b\"}]\npaths: {}\n").problems,
            Lines{"api.yaml:3:18: error: a text with the character U+0000 is not supported (#/tags/0/description)"});
}

// A line of C++ that is not a comment where it has to be one would have the word in it.
TEST(Output, a_description_can_end_neither_a_comment_nor_a_line) {
  const std::string attacks[] = {
      R"("*/ INJECTED /*")",
      R"("ends with \\")",
      R"("ends with \\ \\ \\")",
      R"("a\nINJECTED")",
      R"("a\r\nINJECTED")",
      R"("a\rINJECTED")",
      R"("a\u000bINJECTED\u000c b")",
      R"("a \\\n INJECTED")",
      R"("a ??/\n INJECTED")",
      R"("\u0001INJECTED\u007f")",
      R"("\\")",
      R"("a\u2028INJECTED\u0085INJECTED")",
      R"("a \u202EINJECTED\u2066")",
  };
  for (const std::string& attack : attacks) {
    const std::string about = "description: " + attack;
    const Output output = output_of(
        head + "tags: [{name: t, " + about +
        "}]\npaths:\n  /a:\n    post:\n      operationId: a\n      tags: [t]\n      " + about +
        "\n      parameters: [{name: q, in: query, " + about +
        ", schema: {type: string}}]\n      security: [{k: []}]\n      requestBody: {required: true, " + about +
        ", content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}\n      responses: {'200': {" +
        about + ", headers: {X-A: {" + about +
        ", schema: {type: string}}}}}\ncomponents:\n  schemas: {A: {type: object, " + about +
        ", properties: {a: {type: string, " + about +
        "}}}}\n  securitySchemes: {k: {type: apiKey, in: header, "
        "name: X-Key, " +
        about + "}}\n");
    EXPECT_EQ(output.problems, Lines()) << attack;
    EXPECT_FALSE(output.files.empty());
    for (const File& file : output.files) {
      const std::string code = without_document(file.text);
      EXPECT_EQ(code.find("\u202E"), code.npos) << file.name;
      for (std::size_t at = 0; at < code.size();) {
        const std::size_t end = std::min(code.find('\n', at), code.size());
        const std::string_view line = std::string_view(code).substr(at, end - at);
        at = end + 1;
        const std::size_t comment = line.find("//");
        const std::size_t word = line.find("INJECTED");
        EXPECT_TRUE(word == line.npos || comment < word) << attack << ' ' << file.name << ": " << line;
        for (const char c : line) ASSERT_GE(static_cast<unsigned char>(c), 0x20) << attack << ' ' << file.name;
        const std::size_t last = line.find_last_not_of(' ');
        EXPECT_FALSE(last != line.npos && line[last] == '\\') << attack << ' ' << file.name << ": " << line;
      }
    }
  }
}

TEST(Output, of_an_object_in_a_parameter_knows_the_form_of_other_members) {
  const Output output = output_of(
      head +
      "paths:\n  /a:\n    get:\n      operationId: a\n      responses: {'204': {description: fine}}\n      "
      "parameters:\n"
      "      - {name: f, in: query, style: deepObject, schema: {type: object, properties: {r: {type: integer}}, "
      "additionalProperties: {type: string}}}\n");

  EXPECT_EQ(output.problems, Lines());
  const std::string row = "        keel::contract::Form::Text,\n        a_f_fields,\n";
  EXPECT_TRUE(output.has("part_1.cc", row) || output.has("part_2.cc", row) || output.has("part_3.cc", row) ||
              output.has("part_4.cc", row));
}

TEST(Output, has_no_page_at_a_path_of_the_contract) {
  const Output output =
      output_of(head + "paths:\n  /docs:\n    get: {operationId: a, responses: {'204': {description: fine}}}\n");

  EXPECT_EQ(output.problems, Lines());
  EXPECT_TRUE(output.has("api.h", "keel::contract::DocumentationOptions documentation = {.page_path = \"\"};"));
}

TEST(Output, has_no_line_that_is_too_long_and_says_how_credentials_are_sent) {
  const Output made = output_of(shop);
  for (const char* const name : {"products.h", "orders.h", "security.h", "types.h", "api.h"}) {
    std::istringstream lines(made.text(name));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << name << ": " << line;
  }
  EXPECT_TRUE(made.has("security.h", R"(  // basic: a user and a password in 'Authorization' (RFC 7617).
  virtual keel::Task<> basic(keel::http::Request& http, std::string_view user, std::string_view password,
                             keel::contract::Scopes scopes) = 0;
)")) << made.text("security.h");
  EXPECT_TRUE(made.has("security.h", "  // key: a key in the header 'X-Key'.\n"));
  EXPECT_TRUE(made.has("products.h",
                       "    GetProductResponse response(\n"
                       "        keel::http::Response::stream(keel::http::Status::Ok, \"text/csv\", "
                       "std::forward<Write>(write)...));\n"))
      << made.text("products.h");
}

}  // namespace
}  // namespace keel::gen::output_test
