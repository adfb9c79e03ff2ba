// The service from its contract as production runs it, in virtual time.

#include <gtest/gtest.h>

#include <string>

#include "keel/app/testing/test_app.h"
#include "products.h"

namespace products_test {

using namespace keel;

app::TestAppOptions options() {
  app::TestAppOptions made;
  made.settings = {"database.migrations=" KEEL_SOURCE_DIR "/examples/products/db/migrations"};
  return made;
}

const api::NewProduct tea{
    .category = api::Category::Kitchen, .name = "Green tea", .price_cents = 500, .sku = "TE-1", .stock = 3};

TEST(Products, are_added_found_replaced_changed_and_removed) {
  app::TestApp<Service> app(options());
  const auto made = app.post("/products", tea);
  EXPECT_EQ(made.status(), 201) << made.body();
  EXPECT_EQ(made.header("Location"), "/products/1");
  EXPECT_EQ(app.get("/products/1").json<api::Product>()->name, "Green tea");
  EXPECT_EQ(app.patch("/products/1", R"({"stock":7,"note":"fresh"})").json<api::Product>()->note, "fresh");
  EXPECT_EQ(app.patch("/products/1", R"({"name":"Tea"})").json<api::Product>()->note, "fresh") << "absent: it stays";
  EXPECT_EQ(app.patch("/products/1", R"({"note":null})").json<api::Product>()->note, std::nullopt);
  EXPECT_EQ(app.put("/products/1", tea).json<api::Product>()->stock, 3);
  EXPECT_EQ(app.del("/products/1").status(), 204);
  for (const int status : {app.get("/products/1").status(), app.put("/products/1", tea).status(),
                           app.patch("/products/1", R"({"stock":1})").status(), app.del("/products/1").status()}) {
    EXPECT_EQ(status, 404);
  }
}

TEST(Products, are_listed_in_pages_and_by_what_is_asked_for) {
  app::TestApp<Service> app(options());
  api::NewProduct product = tea;
  for (int i = 0; i < 25; ++i) {
    product.sku = "TE-" + std::to_string(i);
    product.price_cents = 100 + i;
    product.category = i % 5 == 0 ? api::Category::Books : api::Category::Kitchen;
    EXPECT_EQ(app.post("/products", product).status(), 201);
  }
  const auto page = [&](std::string_view target) { return app.get(target).json<api::ProductPage>().value(); };
  EXPECT_EQ(page("/products").next, 20);
  EXPECT_EQ(page("/products?after=20").products.size(), 5u);
  EXPECT_EQ(page("/products?after=20").next, std::nullopt);
  EXPECT_EQ(page("/products?after=20&limit=5").next, std::nullopt) << "no more than fit";
  EXPECT_EQ(page("/products?after=20&limit=4").next, 24);
  EXPECT_EQ(page("/products?category=books&search=GREEN&max_price_cents=110").products.size(), 3u);
}

TEST(Products, are_rejected_with_all_that_is_wrong) {
  app::TestApp<Service> app(options());
  EXPECT_EQ(app.post("/products", R"({"sku":"tea","name":"","price_cents":0,"category":"cars","colour":1})").body(),
            R"({"type":"about:blank","title":"Unprocessable Content","status":422,)"
            R"("detail":"the body has invalid values","errors":[)"
            R"({"pointer":"/sku","keyword":"pattern","detail":"must match ^[A-Z]{2}-[0-9]{1,8}$"},)"
            R"({"pointer":"/name","keyword":"minLength","detail":"must have 1 to 200 characters"},)"
            R"({"pointer":"/price_cents","keyword":"minimum","detail":"must be from 1 to 100000000"},)"
            R"({"pointer":"/category","keyword":"enum","detail":"must be one of books, games, garden, kitchen"},)"
            R"({"pointer":"/colour","keyword":"additionalProperties","detail":"is not a field of this object"}]})");
  EXPECT_EQ(app.get("/products?limit=x").status(), 400);
  EXPECT_EQ(app.get("/products?limit=101&category=cars").status(), 422);
  EXPECT_EQ(app.get("/products/x").status(), 400);
  EXPECT_EQ(app.get("/products/0").status(), 422);
  EXPECT_EQ(app.post("/products", R"({"sku":)").status(), 400);
  EXPECT_EQ(app.post("/products", "sku=1", "application/x-www-form-urlencoded").status(), 415);
  EXPECT_EQ(app.patch("/products/1", "{}").status(), 422) << "minProperties";
  EXPECT_EQ(app.post("/products", tea).status(), 201);
  EXPECT_EQ(app.post("/products", tea).status(), 409);
  EXPECT_EQ(app.del("/products").status(), 405);
}

TEST(Products, have_a_document_and_a_page) {
  app::TestApp<Service> app(options());
  EXPECT_TRUE(app.get("/openapi.json").body().starts_with(R"({"openapi":"3.1.0")"));
  EXPECT_EQ(app.get("/docs").status(), 200);
}

}  // namespace products_test
