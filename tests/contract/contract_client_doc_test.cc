// docs/contract_client.md, compiled and run: a service that asks others by their contracts.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/api.h"
#include "api/products_client.h"
#include "keel/app/app.h"
#include "keel/app/testing/test_app.h"
#include "library/books_client.h"
#include "library/files_media_client.h"
#include "library_service.h"

namespace contract_client_doc_test {
namespace {

using namespace keel;

class Front {
 public:
  explicit Front(app::App& app) : products_(app.client({.name = "products", .base_url = "http://products.internal"})) {
    router_.get("/prices/{id}", *this, &Front::price);
    app.serve(router_);
  }

  Task<http::Response> price(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    const api::GetProductResult result = co_await products_.get_product({.id = id});
    if (result.not_found() != nullptr) co_return http::Response(http::Status::NotFound);
    if (const api::Product* const product = result.ok()) {
      co_return http::Response::text(http::Status::Ok, std::to_string(product->price_cents));
    }
    co_return http::Response(http::Status::BadGateway);
  }

 private:
  api::ProductsClient products_;
  http::Router router_;
};

class FakeProducts final : public api::ProductsHandler {
 public:
  Task<api::GetProductResponse> get_product(http::Request&, const api::GetProductRequest& request) override {
    if (request.id != 7) co_return api::GetProductResponse::not_found("there is none");
    api::Product tea;
    tea.id = 7;
    tea.price_cents = 500;
    co_return tea;
  }
  Task<api::CreateProductResponse> create_product(http::Request&, const api::CreateProductRequest& request) override {
    api::Product made;
    made.id = 8;
    made.name = request.body.name;
    co_return api::CreateProductResponse::created(made, {.location = "/products/8"});
  }
};

TEST(Front, says_what_a_product_costs) {
  FakeProducts fake;
  http::Router products;
  api::mount(products, fake);
  app::TestApp<Front> app;
  app.peer("products.internal", products);

  EXPECT_EQ(app.get("/prices/7").body(), "500");
  EXPECT_EQ(app.get("/prices/8").status(), 404);
}

// A service that is away, or sends a response that the contract does not have, is 503 and 502 for clients of the front.
TEST(Front, is_a_bad_gateway_where_the_other_service_keeps_no_contract) {
  app::TestApp<Front> app;
  http::Router other;
  other.get("/products/{id}",
            [](http::Request&) { return http::Response::text(http::Status::Ok, "tea", "text/plain"); });
  app.peer("products.internal", other);
  EXPECT_EQ(app.get("/prices/7").status(), 502);
  app.peer_down("products.internal");
  EXPECT_EQ(app.get("/prices/7").status(), 503);
}

// What runs within the service, whose clients are those of its App.
class Asks {
 public:
  explicit Asks(app::App& app)
      : client_(app.client({.name = "library", .base_url = "http://library.internal"})),
        products_(app.client({.name = "products", .base_url = "http://products.internal"})) {
    router_.get("/", [](http::Request&) { return http::Response(http::Status::NoContent); });
    app.serve(router_);
    current = this;
  }
  ~Asks() { current = nullptr; }
  http::SharedClient& client() { return client_; }
  api::ProductsClient& products() { return products_; }
  static inline Asks* current = nullptr;

 private:
  http::SharedClient& client_;
  api::ProductsClient products_;
  http::Router router_;
};

class Sign {
 public:
  Task<std::string> get(contract::Scopes scopes) {
    ++calls;
    co_return scopes.empty() ? "reader" : "writer";
  }
  int calls = 0;
};

class ContractClientDocs : public ::testing::Test {
 protected:
  ContractClientDocs() {
    library::mount(router_, access_, operations_, files_, books_);
    api::mount(shop_, products_);
    app_.peer("library.internal", router_);
    app_.peer("products.internal", shop_);
    app_.app();
  }
  library_service::Access access_;
  library_service::Books books_;
  library_service::Files files_;
  library_service::Operations operations_;
  FakeProducts products_;
  http::Router router_;
  http::Router shop_;
  app::TestApp<Asks> app_;
};

Task<std::string> create(api::ProductsClient& products, std::string_view key) {
  std::string used;
  const auto use = [&](std::int64_t id, const std::string& location) { used = std::to_string(id) + ' ' + location; };
  api::CreateProductRequest request;
  request.body = {.category = api::Category::Kitchen, .name = "Tea", .price_cents = 500, .sku = "TE-1"};
  const api::CreateProductResult made =
      co_await products.create_product(request, {.idempotency_key = key, .timeout = 2_s});
  if (made.created() != nullptr) use(made.created()->id, made.created_headers()->location);
  co_return used;
}
Task<std::int64_t> price(api::ProductsClient& products, std::int64_t id) {
  const api::Product product = co_await products.get_product({.id = id}).value();
  co_return product.price_cents;
}

TEST_F(ContractClientDocs, ask_for_a_product) {
  EXPECT_EQ(*app_.run(create(Asks::current->products(), "k")), "8 /products/8");
  EXPECT_EQ(*app_.run(price(Asks::current->products(), 7)), 500);
  const auto none = app_.run(price(Asks::current->products(), 9));
  EXPECT_EQ(none.error().message(),
            "getProduct: GET http://products.internal/products/9: returned 404 Not Found: there is none");
}

Task<std::string> first_title(http::SharedClient& client, Sign& tokens) {
  library::ClientOptions options;
  options.credentials.api_key = "k-1";
  options.credentials.bearer = [&tokens](contract::Scopes scopes) { return tokens.get(scopes); };
  library::BooksClient books(client, std::move(options));
  const library::Book book = co_await books.get_book({.book_id = 1}).value();
  co_return book.title;
}

TEST_F(ContractClientDocs, prove_who_asks) {
  Sign tokens;
  EXPECT_EQ(*app_.run(first_title(Asks::current->client(), tokens)), "reader 0");
  EXPECT_EQ(tokens.calls, 1);
}

Task<> write_cover(http::ClientBodyWriter& body) { co_await body.write("PNG"); }

Task<std::size_t> stream(http::SharedClient& client, std::string_view png) {
  library::ClientOptions options;
  options.credentials.bearer = "reader";
  options.credentials.query_key = "key";
  library::FilesMediaClient files(client, std::move(options));
  std::size_t bytes = 0;
  const library::PutCoverRequest cover{.name = "emma"};
  co_await files.put_cover(cover, "image/png", png).value();
  co_await files.put_cover(cover, "image/png", [&](http::ClientBodyWriter& body) { return write_cover(body); }).value();
  const library::GetCoverRequest which{.name = "emma"};
  contract::Streamed<library::GetCoverResult> picture = co_await files.get_cover_stream(which);
  if (picture.result().ok() == nullptr) co_return 0;
  while (true) {
    const Chunk chunk = co_await picture.read();
    if (chunk.empty()) break;
    bytes += chunk.size();
  }
  co_return bytes;
}

TEST_F(ContractClientDocs, stream_bodies) { EXPECT_EQ(*app_.run(stream(Asks::current->client(), "PNG")), 12u); }

Task<std::size_t> send_files(http::SharedClient& client, std::string_view png) {
  library::FilesMediaClient files(client);
  library::AddPictureRequest request;
  request.shelf = 1;
  request.body.title = "Emma";
  library::AddPictureUpload upload;
  upload.picture = {.content = png, .filename = "emma.png", .content_type = "image/png"};
  upload.pages.push_back({.content = [](http::ClientBodyWriter& body) { return write_cover(body); }});
  const library::AddPictureResult made = co_await files.add_picture(request, upload);
  if (made.created() == nullptr) co_return 0;
  co_return made.created()->files.size();
}

TEST_F(ContractClientDocs, send_the_files_of_a_form) {
  EXPECT_EQ(*app_.run(send_files(Asks::current->client(), "PNG")), 2u);
}

}  // namespace
}  // namespace contract_client_doc_test
