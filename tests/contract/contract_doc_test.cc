// docs/contract.md, docs/from_contract.md, compiled and run

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keel/app/testing/test_app.h"
#include "keel/contract/docs_page.h"
#include "keel/http/middleware/security_headers.h"
#include "keel/http/server/static_files.h"
#include "keel/http/testing/test_server.h"
#include "pictures/api.h"
#include "secured/api.h"

#include "api/api.h"
#include "keel/app/app.h"

using namespace keel;

class Products final : public api::ProductsHandler {
 public:
  explicit Products(db::Session& database) : database_(database) {}

  Task<api::GetProductResponse> get_product(http::Request&, const api::GetProductRequest& request) override {
    const auto product =
        co_await database_.query_optional<api::Product>("select * from products where id = $id", request);
    if (!product) co_return api::GetProductResponse::not_found("there is no product with this id");
    co_return *product;
  }

 private:
  db::Session& database_;
};

struct Service {
  Products products;
  http::Router router;
  explicit Service(app::App& app) : products(app.database()) {
    api::mount(router, products);
    app.serve(router);
  }
};

namespace contract_doc_test {

int main(int argc, char** argv) { return app::run<Service>("shop", argc, argv); }

namespace {

struct WithProducts {
  Service service;
  explicit WithProducts(app::App& app) : service(app) {
    app.at_start("products", [&database = app.database()]() -> Task<> {
      co_await database.execute(
          "insert into products (sku, name, price_cents, category, stock) values ('TE-1', 'Green tea', 500, 'kitchen', "
          "3)");
    });
  }
};

TEST(FromContract, serves_the_operations_of_a_document) {
  app::TestAppOptions options;
  options.settings = {"database.migrations=" KEEL_SOURCE_DIR "/examples/products/db/migrations"};
  app::TestApp<WithProducts> app(options);
  EXPECT_EQ(app.get("/products/1").json<api::Product>()->name, "Green tea");
  EXPECT_EQ(app.get("/products/2").status(), 404);
  EXPECT_EQ(app.get("/openapi.json").status(), 200);
  EXPECT_NE(&main, nullptr);
}

namespace credentials {

namespace api = ::secured;

struct User {
  std::int64_t id;
};

class Sessions {
 public:
  Task<std::optional<User>> find(std::string token) {
    if (token == "t-7") co_return User{7};
    co_return std::nullopt;
  }
};

class Access final : public api::Security {
 public:
  explicit Access(Sessions& sessions) : sessions_(sessions) {}

  Task<> bearer_auth(http::Request& http, std::string_view token, contract::Scopes) override {
    const std::optional<User> user = co_await sessions_.find(std::string(token));
    if (!user) co_await fail(Code::Unauthenticated, "no such session");
    http.set(user->id);
  }

 private:
  Sessions& sessions_;
};

class Products final : public api::ProductsHandler {
 public:
  Task<api::GetProductResponse> get_product(http::Request& http, const api::GetProductRequest&) override {
    co_return api::GetProductResponse::ok("user " + std::to_string(*http.get<std::int64_t>()));
  }
};

TEST(FromContract, checks_credentials_before_it_calls_a_handler) {
  Sessions sessions;
  Access access(sessions);
  Products products;
  http::Router router;
  api::mount(router, access, products);
  http::TestServer server(router);

  http::ClientRequest allowed(http::Method::Get, "/products/1");
  allowed.header("Authorization", "Bearer t-7");
  EXPECT_EQ(server.send(std::move(allowed)).body(), "user 7");
  http::ClientRequest rejected(http::Method::Get, "/products/1");
  rejected.header("Authorization", "Bearer t-8");
  EXPECT_EQ(server.send(std::move(rejected)).status(), 401);
}

}  // namespace credentials

namespace forms {

namespace api = ::pictures;

struct Store {
  std::string bytes;
  Task<> append(std::string_view piece) {
    bytes += piece;
    co_return;
  }
};

class Pictures final : public api::PicturesHandler {
 public:
  explicit Pictures(Store& store) : store_(store) {}

  Task<api::AddPictureResponse> add_picture(http::Request&, const api::AddPictureRequest& request,
                                            api::AddPictureFiles files) override {
    api::Picture picture{.bytes = 0, .title = request.body.title};
    while (true) {
      const auto file = co_await files.next();
      if (!file) break;
      while (true) {
        const Chunk piece = co_await files.read();
        if (piece.empty()) break;
        co_await store_.append(piece);
        picture.bytes += static_cast<std::int64_t>(piece.size());
      }
    }
    co_return picture;
  }

 private:
  Store& store_;
};

TEST(FromContract, reads_files_as_they_arrive) {
  Store store;
  Pictures pictures(store);
  http::Router router;
  api::mount(router, pictures);
  http::TestServer server(router);
  const auto post = [&](std::string_view type) {
    http::ClientRequest request(http::Method::Post, "/pictures");
    request.body(
        "--b\r\nContent-Disposition: form-data; name=title\r\n\r\ncat\r\n"
        "--b\r\nContent-Disposition: form-data; name=picture; filename=a\r\nContent-Type: " +
            std::string(type) + "\r\n\r\nPNG\r\n--b--\r\n",
        "multipart/form-data; boundary=b");
    return server.send(std::move(request));
  };
  EXPECT_EQ(post("image/png").body(), R"({"bytes":3,"title":"cat"})");
  EXPECT_EQ(store.bytes, "PNG");
  EXPECT_EQ(post("image/gif").status(), 422);
}

// The whole upload, not the file alone: a server of 1 MiB accepts what the option says, and no more.
TEST(FromContract, receives_files_of_more_than_max_body_where_it_says_so) {
  Store store;
  Pictures pictures(store);
  http::Router usual, large;
  api::mount(usual, pictures);
  {
    http::Router& router = large;
    api::mount(router, pictures, {.streamed_bytes_max = 51'000'000});
  }
  const auto status = [](http::Router& router, std::size_t bytes) {
    http::TestServer server(router);
    http::ClientRequest request(http::Method::Post, "/pictures");
    request.body(
        "--b\r\nContent-Disposition: form-data; name=title\r\n\r\ncat\r\n"
        "--b\r\nContent-Disposition: form-data; name=picture; filename=a\r\nContent-Type: image/png\r\n\r\n" +
            std::string(bytes, 'p') + "\r\n--b--\r\n",
        "multipart/form-data; boundary=b");
    return server.send(std::move(request)).status();
  };
  EXPECT_EQ(status(usual, 2'000'000), 413);
  EXPECT_EQ(status(large, 2'000'000), 201);
  EXPECT_EQ(status(large, 52'000'000), 413);
}

}  // namespace forms

constexpr contract::Document document{.json =
                                          R"({"openapi":"3.1.0","info":{"title":"Shop","version":"1"},"paths":{}})"};

TEST(Contract, is_shown_at_docs_and_below_a_prefix) {
  http::Router router;
  contract::mount_documentation(router, document);               // GET /openapi.json, GET /docs
  contract::mount_documentation(router.group("/v1"), document);  // GET /v1/openapi.json, GET /v1/docs
  http::TestServer server(router);
  for (const std::string_view path : {"/openapi.json", "/docs", "/v1/openapi.json", "/v1/docs"}) {
    EXPECT_EQ(server.get(path).status(), 200) << path;
  }
}

TEST(Contract, is_shown_by_swagger_ui) {
  http::Router router;
  http::StaticFiles swagger({.folder = "swagger-ui-dist"});
  http::SecurityHeaders headers(
      {.content_security_policy =
           "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
           "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"});
  http::Group pages = router.group("/swagger");
  pages.use(headers);
  swagger.mount(pages, "");
  contract::mount_documentation(router, document, {.page_path = ""});
  http::TestServer server(router);

  // The disk of the simulation has no files, so the response is that of a file that does not exist.
  const http::TestResponse page = server.get("/swagger/");
  EXPECT_TRUE(page.body().contains("there is no such file")) << page.body();
  EXPECT_TRUE(page.header("Content-Security-Policy").value_or("").contains("'unsafe-inline'"));
  EXPECT_EQ(server.get("/openapi.json").status(), 200);
  EXPECT_EQ(server.get("/docs").status(), 404);
}

}  // namespace
}  // namespace contract_doc_test
