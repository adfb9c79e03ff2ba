// The shop as production runs it, in virtual time; tests/sim/orders_sim_test.cc and tests/faults/orders_test.cc ask
// more of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "keel/app/testing/test_app.h"
#include "shop.h"

namespace orders_test::orders_test {

using namespace keel;

app::TestAppOptions with_settings(app::TestAppOptions options) {
  options.settings = {"database.migrations=" KEEL_SOURCE_DIR "/examples/orders/db/migrations",
                      "network.clients.payments.base_url=http://payments.example", "shop.admin_token=secret",
                      "shop.pictures=" + ::testing::TempDir() + "orders"};
  return options;
}

// The shop, its administrator, and the payments server, which declines what costs 402 cents.
struct TestShop {
  http::Router payments;
  std::map<std::int64_t, std::int64_t> charged;  // Cents, by order.
  app::TestApp<Shop, Settings> app;
  http::TestClient admin{app};

  explicit TestShop(app::TestAppOptions options = {}) : app(with_settings(std::move(options))) {
    app.peer("payments.example", payments.post("/charges", *this, &TestShop::charge));
    admin.header("Authorization", "Bearer secret");
  }
  Task<http::Response> charge(http::Request& request) {
    const auto charge = co_await request.json<Charge>();
    EXPECT_EQ(request.header("Idempotency-Key"), "order-" + std::to_string(charge.order_id));
    if (charge.cents != 402) charged[charge.order_id] = charge.cents;
    co_return http::Response::json(Receipt{.paid = charge.cents != 402});
  }
  // What sets a value may be said again: a fault may have taken the response away.
  void put(const api::NewProduct& product) {
    for (int status = 0; status != 200;) status = admin.put("/admin/products", product).status();
  }
  http::TestCall begin_order(std::vector<api::NewLine> lines) {
    http::ClientRequest request(http::Method::Post, "/orders");
    return app.begin(std::move(request.json(api::NewOrder{.customer = "ada", .lines = std::move(lines)})));
  }
  int order(std::vector<api::NewLine> lines) { return begin_order(std::move(lines)).response().status(); }
  api::Order order_at(std::string_view path) { return app.get(path).json<api::Order>().value(); }
  api::OrderPage orders_at(std::string_view path) { return app.get(path).json<api::OrderPage>().value(); }
  api::Product product_at(std::string_view path) { return app.get(path).json<api::Product>().value(); }
};

TEST(Shop, takes_all_lines_of_an_order_out_of_stock_or_none) {
  TestShop shop;
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 3});
  shop.put({.name = "A cup", .price_cents = 250, .sku = "cup", .stock = 2});

  EXPECT_EQ(shop.order({{1, "tea"}, {2, "cup"}}), 201);
  EXPECT_EQ(shop.order({{1, "tea"}, {1, "cup"}}), 409);

  EXPECT_EQ(shop.order_at("/orders/1").total_cents, 1000);
  EXPECT_EQ(shop.order_at("/orders/1").lines, (std::vector<api::Line>{{500, 1, "tea"}, {250, 2, "cup"}}));
  EXPECT_EQ(shop.product_at("/products/tea").stock, 2) << "what was taken for the second one is back";
}

TEST(Shop, lists_orders_in_pages_and_exports_all_of_them) {
  TestShop shop;
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 100});
  for (int i = 0; i < 25; ++i) shop.order({{1, "tea"}});
  shop.app.post("/orders/3/cancel");

  EXPECT_EQ(shop.orders_at("/orders?customer=ada&state=open&limit=20").next, 21);
  EXPECT_EQ(shop.orders_at("/orders?state=open&after=21").orders.size(), 4u);
  const auto lines = shop.admin.get("/admin/orders.ndjson");
  EXPECT_EQ(std::ranges::count(lines.body(), '\n'), 25);
  EXPECT_TRUE(lines.body().starts_with(json::write(shop.order_at("/orders/1")) + '\n'));
}

TEST(Shop, says_all_that_is_wrong_with_an_order_and_wants_the_administrators_token) {
  TestShop shop;
  const auto wrong = shop.app.post("/orders", R"({"customer":"","lines":[{"sku":"tea","quantity":0}]})");
  EXPECT_TRUE(wrong.body().ends_with(
      R"("errors":[{"pointer":"/customer","keyword":"minLength","detail":"must have 1 to 100 characters"},)"
      R"({"pointer":"/lines/0/quantity","keyword":"minimum","detail":"must be from 1 to 100"}]})"));
  EXPECT_EQ(shop.app.get("/orders?limit=0&state=lost").status(), 422);
  EXPECT_EQ(shop.app.get("/admin/orders.ndjson").status(), 401);
  EXPECT_EQ(shop.app.get("/openapi.json").status() + shop.app.get("/docs").status(), 400) << "for everybody";
}

TEST(Shop, charges_once_whatever_the_payments_server_does_and_expires_what_nobody_pays_for) {
  TestShop shop;
  shop.put({.name = "Green tea", .price_cents = 201, .sku = "tea", .stock = 9});
  for (const int quantity : {1, 2, 3, 1}) shop.order({{quantity, "tea"}});

  EXPECT_EQ(shop.app.post("/orders/1/payment").status(), 200);
  EXPECT_EQ(shop.app.post("/orders/2/payment").status(), 409) << "declined";
  shop.app.peer_down("payments.example");
  EXPECT_EQ(shop.app.post("/orders/3/payment").status(), 202);
  EXPECT_EQ(shop.app.post("/orders/3/cancel").status(), 409);
  shop.app.advance(1_h);
  EXPECT_EQ(shop.order_at("/orders/4").state, api::State::Expired);
  shop.app.peer("payments.example", shop.payments);
  shop.app.advance(10_min);

  EXPECT_EQ(shop.order_at("/orders/3").state, api::State::Paid);
  EXPECT_EQ(shop.charged, (std::map<std::int64_t, std::int64_t>{{1, 201}, {3, 603}}));
  EXPECT_EQ(shop.product_at("/products/tea").stock, 9 - 1 - 3);
}

TEST(Shop, refuses_what_a_full_disk_does_not_take_and_shows_no_half_of_a_picture) {
  TestShop shop;
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 9});
  EXPECT_EQ(shop.admin.put("/admin/products/tea/picture", std::string(9 << 20, 'p'), "image/png").status(), 413);
  EXPECT_EQ(shop.admin.put("/admin/products/tea/picture", std::string(300'000, 'p'), "image/png").status(), 204);
  shop.app.disk().set_faults({.capacity_bytes = 0});
  EXPECT_EQ(shop.admin.put("/admin/products/tea/picture", "another", "image/png").status(), 503);
  EXPECT_EQ(shop.order({{1, "tea"}}), 503);
  shop.app.disk().set_faults({});
  EXPECT_EQ(shop.order({{1, "tea"}}), 201);
  shop.app.restart();
  EXPECT_EQ(shop.app.get("/pictures/tea.png").body(), std::string(300'000, 'p'));
}

TEST(Shop, sells_50_of_50_to_160_at_once_and_never_more_under_40_seeds_of_faults) {
  for (std::uint64_t seed = 0; seed <= 40 && !HasFailure(); ++seed) {
    TestShop shop(seed == 0 ? app::TestAppOptions() : app::TestAppOptions::faulty(seed));
    shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 50});
    if (seed != 0) shop.app.crash_within(1 + 29 * seed % 200);
    std::vector<http::TestCall> calls;
    for (int i = 0; i < 160; ++i) calls.push_back(shop.begin_order({{1, "tea"}}));
    std::map<int, int> statuses;
    for (http::TestCall& call : calls) ++statuses[call.response().status()];
    EXPECT_TRUE(seed != 0 || statuses == (std::map<int, int>{{201, 50}, {409, 110}}));

    shop.app.restart();
    shop.app.disk().set_faults({});
    const auto left = shop.app.run(shop.app.database().query_one<std::int64_t>("select stock from products")).value();
    const auto sold = shop.app.run(shop.app.database().query_one<std::int64_t>("select count(*) from lines")).value();
    EXPECT_EQ(left + sold, 50) << shop.app.replay();
    EXPECT_GE(sold, statuses[201]) << "an acknowledged order is gone: " << shop.app.replay();
  }
}

}  // namespace orders_test::orders_test
