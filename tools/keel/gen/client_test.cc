// The clients that are generated: which files there are, what they are called, and that the rest stays what it is.

#include "gen/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gen/output.h"
#include "openapi/testing.h"

namespace keel::gen::client_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Kind;
using openapi::Node;
using openapi::Problems;

void shuffle(Node& node, std::mt19937& random) {
  if (node.is(Kind::Map)) std::shuffle(node.children.begin(), node.children.end(), random);
  node.index.reset();
  for (Node* const child : node.children) shuffle(*child, random);
}

// "name: text" of the files, or the problems.
struct Generated {
  std::vector<File> files;
  Lines problems;

  std::string text(std::string_view name) const {
    const auto known = std::ranges::find(files, name, &File::name);
    return known == files.end() ? "(no such file)" : known->text;
  }
  bool has(std::string_view name, std::string_view part) const { return text(name).find(part) != std::string::npos; }
  Lines names() const {
    Lines names;
    for (const File& file : files) names.push_back(file.name);
    std::ranges::sort(names);
    return names;
  }
};
Generated generated(const std::string& text, const Options& options, unsigned seed = 0) {
  const Files files = {{"api.yaml", text}};
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  std::mt19937 random(seed);
  if (seed != 0) shuffle(document->root(), random);
  Generated made;
  if (document != nullptr) made.files = generate(*document, options, problems);
  for (const openapi::Problem& one : problems.sorted()) {
    if (one.severity == openapi::Problem::Severity::Error) made.problems.push_back(one.describe());
  }
  return made;
}
const Options alone = {.parts = 1, .has_server = false, .has_client = true};
const Options both = {.parts = 1, .has_server = true, .has_client = true};

const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n";
const std::string fine = "responses: {'204': {description: fine}}";

const std::string shop = head + R"(
servers: [{url: 'https://example.com/v1'}]
security: [{token: []}]
tags: [{name: orders}, {name: products}]
paths:
  /products/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get:
      operationId: getProduct
      tags: [products]
      responses:
        '200':
          description: The product.
          headers: {ETag: {schema: {type: string}}}
          content:
            application/json: {schema: {$ref: '#/components/schemas/Product'}}
            text/csv: {}
        4XX: {description: Wrong., content: {application/problem+json: {schema: {type: object}}}}
    head: {operationId: hasProduct, tags: [products], responses: {'200': {description: Yes., content: {text/csv: {}}}}}
  /orders:
    post:
      operationId: order
      tags: [orders]
      security: [{key: [], basic: []}, {oauth: [b, a]}, {}]
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Product'}}}}
      responses: {'201': {description: Made., content: {application/json: {schema: {$ref: '#/components/schemas/Product'}}}}}
  /upload:
    put: {operationId: upload, requestBody: {content: {image/png: {}}}, responses: {'204': {description: Kept.}}}
components:
  schemas:
    Product: {type: object, required: [name], properties: {name: {type: string, minLength: 1}}}
  securitySchemes:
    token: {type: http, scheme: bearer}
    basic: {type: http, scheme: basic}
    key: {type: apiKey, in: header, name: X-Key}
    oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: 'https://example.com/', scopes: {a: x, b: y}}}}
)";

TEST(Client, has_a_header_for_each_tag_beside_those_of_the_service_or_alone) {
  EXPECT_EQ(generated(shop, alone).names(),
            (Lines{"client.h", "operations_client.h", "orders_client.h", "part_1.cc", "products_client.h", "types.h"}));
  const Generated two = generated(shop, both);
  EXPECT_EQ(two.problems, Lines());
  EXPECT_EQ(two.names(),
            (Lines{"api.h", "client.h", "operations.h", "operations_client.h", "orders.h", "orders_client.h",
                   "part_1.cc", "products.h", "products_client.h", "security.h", "types.h"}));
  EXPECT_TRUE(two.has("products_client.h", "#include \"api/products.h\"\n"));
  EXPECT_FALSE(two.has("products_client.h", "struct GetProductRequest {"));
}

TEST(Client, alone_has_the_requests_and_nothing_of_a_server) {
  const Generated made = generated(shop, alone);
  EXPECT_EQ(made.problems, Lines());
  EXPECT_TRUE(made.has("products_client.h", "struct GetProductRequest {\n  std::int64_t id = {};\n};\n"));
  EXPECT_TRUE(made.has("products_client.h", "struct GetProductOkHeaders {\n"));
  for (const File& file : made.files) {
    EXPECT_EQ(file.text.find("keel/http/server/"), std::string::npos) << file.name;
    EXPECT_EQ(file.text.find("Handler"), std::string::npos) << file.name;
    EXPECT_EQ(file.text.find("contract/input.h"), std::string::npos) << file.name;
  }
}

TEST(Client, leaves_the_code_of_the_service_as_it_is) {
  const Generated service = generated(shop, {.parts = 1});
  const Generated two = generated(shop, both);
  for (const File& file : service.files) {
    if (file.name == "part_1.cc") continue;
    EXPECT_EQ(two.text(file.name), file.text) << file.name;
  }
  EXPECT_EQ(service.names(),
            (Lines{"api.h", "operations.h", "orders.h", "part_1.cc", "products.h", "security.h", "types.h"}));
}

TEST(Client, is_the_same_bytes_whatever_the_order_of_keys) {
  const Generated made = generated(shop, alone);
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Generated shuffled = generated(shop, alone, seed);
    ASSERT_EQ(shuffled.names(), made.names()) << "seed " << seed;
    for (const File& file : made.files) ASSERT_EQ(shuffled.text(file.name), file.text) << file.name << seed;
  }
}

TEST(Client, reads_as_its_contract) {
  const Generated made = generated(shop, alone);
  const std::string text = made.text("products_client.h");
  EXPECT_NE(text.find(R"(// The response to GET /products/{id}: one of these.
class [[nodiscard]] GetProductResult : public keel::contract::Outcome {
 public:
  // 200: The product.
  Product* ok() noexcept { return std::get_if<1>(&body_); }
  const Product* ok() const noexcept { return std::get_if<1>(&body_); }
  std::string* ok_csv() noexcept { return std::get_if<2>(&body_); }
  const std::string* ok_csv() const noexcept { return std::get_if<2>(&body_); }
  const GetProductOkHeaders* ok_headers() const noexcept {
    return ok_headers_ ? &*ok_headers_ : nullptr;
  }
)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(  // GET /products/{id}
  keel::Task<GetProductResult> get_product(const GetProductRequest& request,
                                           const keel::contract::CallOptions& options = {});
)"),
            std::string::npos)
      << text;
  EXPECT_TRUE(made.has("client.h", R"(struct Credentials {
  // token, a token.
  keel::contract::Credential token = {};
  // basic, user:password.
  keel::contract::Credential basic = {};
  // key, a key.
  keel::contract::Credential key = {};
  // oauth, a token.
  keel::contract::Credential oauth = {};
};
)")) << made.text("client.h");
  EXPECT_TRUE(made.has("client.h", "  std::string base = \"/v1\";\n"));
  const std::string part = made.text("part_1.cc");
  EXPECT_NE(part.find(".accept = \"application/json, text/csv;q=0.5, application/problem+json\""), std::string::npos)
      << part;
  EXPECT_NE(part.find(R"(  static constexpr keel::contract::Expected responses[] = {
      {200, 200, "application/json", true},
      {200, 200, "text/csv"},
      {400, 499, "application/problem+json", true},
  };
)"),
            std::string::npos)
      << part;
}

TEST(Client, gives_the_value_of_the_one_success_where_there_is_one) {
  const Generated made = generated(shop, alone);
  EXPECT_FALSE(made.has("products_client.h", "TaskVerbs<api::GetProductResult>")) << "it has two";
  EXPECT_TRUE(made.has("products_client.h", "TaskVerbs<api::HasProductResult>"));
  EXPECT_TRUE(made.has("orders_client.h", "  keel::Result<Product> value() &&;\n"));
  EXPECT_TRUE(made.has("operations_client.h", "  keel::Result<> value() &&;\n"));
}

TEST(Client, has_no_body_of_a_response_of_head) {
  const Generated made = generated(shop, alone);
  EXPECT_TRUE(made.has("products_client.h", "  bool ok() const noexcept { return body_.index() == 1; }\n"));
  EXPECT_FALSE(made.has("products_client.h", "has_product_stream"));
}

TEST(Client, streams_what_the_handler_streams) {
  const Generated made = generated(shop, alone);
  EXPECT_TRUE(
      made.has("products_client.h", "keel::Task<keel::contract::Streamed<GetProductResult>> get_product_stream("));
  EXPECT_TRUE(made.has("operations_client.h", "  keel::Task<UploadResult> upload(keel::contract::Upload body = {}, "));
}

TEST(Client, avoids_the_names_that_others_have) {
  const Generated made = generated(head + R"(paths:
  /a:
    get: {operationId: watch, tags: [client], responses: {'200': {description: x, content: {text/csv: {}}}}}
    put: {operationId: watchStream, tags: [client], )" +
                                       fine + R"(}
  /b:
    get: {operationId: b, tags: [shop], )" +
                                       fine + R"(}
    put: {operationId: c, tags: [shop client], responses: {'200': {description: x, headers: {A: {schema: {type: string}}}, content: {application/json: {schema: {type: string}}, text/headers: {}}}}}
components:
  schemas:
    ShopClient: {type: object, properties: {a: {type: string}}}
    ClientOptions: {type: object, properties: {a: {type: string}}}
    BResult: {type: object, properties: {a: {type: string}}}
)",
                                   both);
  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(made.names(), (Lines{"api.h", "client.h", "client_.h", "client_client.h", "part_1.cc", "shop.h",
                                 "shop_client.h", "shop_client_.h", "shop_client_client.h", "types.h"}));
  EXPECT_TRUE(made.has("client.h", "struct ClientOptions2 {"));
  EXPECT_TRUE(made.has("shop_client_.h", "class ShopClient2 {"));
  EXPECT_TRUE(made.has("shop_client_.h", "class [[nodiscard]] BResult2 "));
  EXPECT_TRUE(made.has("client_client.h", " watch_stream_("));
  EXPECT_TRUE(made.has("client_client.h", "keel::Task<WatchStreamResult> watch_stream("));
  EXPECT_TRUE(made.has("shop_client_client.h", " ok_headers() noexcept")) << "that of text/headers";
  EXPECT_TRUE(made.has("shop_client_client.h", "* ok_headers_() const noexcept {\n    return ok_headers__ ?"));
}

}  // namespace
}  // namespace keel::gen::client_test
