// What the shop does is the same on SQLite, in a simulation, and on a PostgreSQL server: database.type decides, and
// nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keel/db/postgres/testing/real_server.h"
#include "orders_test.h"

namespace orders_test::orders_databases_test {

using namespace keel;
using db::postgres::testing::RealServer;

class OnEachDatabase : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_postgres() && !RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
  }
  static bool is_postgres() { return std::string_view(GetParam()) == "postgres"; }
  // On an empty database.
  static app::TestAppOptions options() {
    app::TestAppOptions options;
    options.settings = {std::string("database.type=") + GetParam()};
    if (is_postgres()) {
      options.real_time = true;
      static RealServer server;
      options.settings.push_back("database.url=" + server.make_database());
    }
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Shop, OnEachDatabase, ::testing::Values("sqlite", "postgres"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(OnEachDatabase, takes_all_lines_of_an_order_out_of_stock_or_none) {
  TestShop shop(options());
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 3});
  shop.put({.name = "A cup", .price_cents = 250, .sku = "cup", .stock = 2});

  EXPECT_EQ(shop.order({{1, "tea"}, {2, "cup"}}), 201);
  EXPECT_EQ(shop.order({{1, "tea"}, {1, "cup"}}), 409);

  EXPECT_EQ(shop.order_at("/orders/1").total_cents, 1000);
  EXPECT_EQ(shop.order_at("/orders/1").lines, (std::vector<api::Line>{{500, 1, "tea"}, {250, 2, "cup"}}));
  EXPECT_EQ(shop.product_at("/products/tea").stock, 2) << "what was taken for the second one is back";
}

TEST_P(OnEachDatabase, lists_orders_in_pages_and_exports_all_of_them) {
  TestShop shop(options());
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 100});
  for (int i = 0; i < 25; ++i) shop.order({{1, "tea"}});
  shop.app.post("/orders/3/cancel");

  EXPECT_EQ(shop.orders_at("/orders?customer=ada&state=open&limit=20").next, 21);
  EXPECT_EQ(shop.orders_at("/orders?state=open&after=21").orders.size(), 4u);
  const auto lines = shop.admin.get("/admin/orders.ndjson");
  EXPECT_EQ(std::ranges::count(lines.body(), '\n'), 25);
  EXPECT_TRUE(lines.body().starts_with(json::write(shop.order_at("/orders/1")) + '\n'));
}

TEST_P(OnEachDatabase, gives_null_for_the_next_page_on_the_last_one_also_when_that_is_full) {
  TestShop shop(options());
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 100});
  for (int i = 0; i < 4; ++i) shop.order({{1, "tea"}});

  const auto first = shop.orders_at("/orders?limit=2");
  EXPECT_EQ(first.next, 2);
  ASSERT_EQ(first.orders.size(), 2u);
  EXPECT_EQ(first.orders.back().id, 2);
  const auto last = shop.orders_at("/orders?limit=2&after=2");
  EXPECT_EQ(last.next, std::nullopt);
  EXPECT_EQ(last.orders.size(), 2u);
  EXPECT_EQ(shop.orders_at("/orders?limit=4").next, std::nullopt);
  EXPECT_EQ(shop.orders_at("/orders?limit=3").next, 3);
  EXPECT_EQ(shop.orders_at("/orders?after=4").next, std::nullopt);
}

TEST_P(OnEachDatabase, says_all_that_is_wrong_with_an_order_and_wants_the_administrators_token) {
  TestShop shop(options());
  const auto wrong = shop.app.post("/orders", R"({"customer":"","lines":[{"sku":"tea","quantity":0}]})");
  EXPECT_TRUE(wrong.body().ends_with(
      R"("errors":[{"pointer":"/customer","keyword":"minLength","detail":"must have 1 to 100 characters"},)"
      R"({"pointer":"/lines/0/quantity","keyword":"minimum","detail":"must be from 1 to 100"}]})"));
  EXPECT_EQ(shop.app.get("/orders?limit=0&state=lost").status(), 422);
  EXPECT_EQ(shop.app.get("/admin/orders.ndjson").status(), 401);
  EXPECT_EQ(shop.app.get("/openapi.json").status() + shop.app.get("/docs").status(), 400) << "for everybody";
}

TEST_P(OnEachDatabase, charges_once_and_puts_back_what_is_cancelled) {
  TestShop shop(options());
  shop.put({.name = "Green tea", .price_cents = 201, .sku = "tea", .stock = 9});
  for (const int quantity : {1, 2, 3}) shop.order({{quantity, "tea"}});

  EXPECT_EQ(shop.app.post("/orders/1/payment").status(), 200);
  EXPECT_EQ(shop.app.post("/orders/2/payment").status(), 409) << "declined";
  EXPECT_EQ(shop.app.post("/orders/3/cancel").status(), 200);

  EXPECT_EQ(shop.order_at("/orders/1").state, api::State::Paid);
  EXPECT_EQ(shop.charged, (std::map<std::int64_t, std::int64_t>{{1, 201}}));
  EXPECT_EQ(shop.product_at("/products/tea").stock, 9 - 1);
}

TEST_P(OnEachDatabase, sells_20_of_20_to_60_at_once) {
  TestShop shop(options());
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 20});
  std::vector<http::TestCall> calls;
  for (int i = 0; i < 60; ++i) calls.push_back(shop.begin_order({{1, "tea"}}));
  std::map<int, int> statuses;
  for (http::TestCall& call : calls) ++statuses[call.response().status()];
  EXPECT_EQ(statuses, (std::map<int, int>{{201, 20}, {409, 40}}));
  EXPECT_EQ(shop.product_at("/products/tea").stock, 0);
}

// Orders that take two products in either order, and cancellations that return both, at the same time.
TEST_P(OnEachDatabase, takes_and_returns_the_same_products_in_opposite_orders_at_the_same_time) {
  TestShop shop(options());
  shop.put({.name = "Green tea", .price_cents = 500, .sku = "tea", .stock = 1000});
  shop.put({.name = "A cup", .price_cents = 250, .sku = "cup", .stock = 1000});
  std::map<int, int> ordered;
  std::map<int, int> cancelled;
  for (int round = 0; round < 4; ++round) {
    std::vector<http::TestCall> orders;
    std::vector<http::TestCall> cancellations;
    for (int i = 0; i < 40; ++i) {
      orders.push_back(i % 2 == 0 ? shop.begin_order({{1, "tea"}, {1, "cup"}})
                                  : shop.begin_order({{1, "cup"}, {1, "tea"}}));
      if (round == 0) continue;
      const std::string path = "/orders/" + std::to_string((round - 1) * 40 + i + 1) + "/cancel";
      cancellations.push_back(shop.app.begin(http::ClientRequest(http::Method::Post, path)));
    }
    for (http::TestCall& call : orders) ++ordered[call.response().status()];
    for (http::TestCall& call : cancellations) ++cancelled[call.response().status()];
  }
  EXPECT_EQ(ordered, (std::map<int, int>{{201, 160}}));
  EXPECT_EQ(cancelled, (std::map<int, int>{{200, 120}}));
  EXPECT_EQ(shop.product_at("/products/tea").stock, 1000 - 40);
  EXPECT_EQ(shop.product_at("/products/cup").stock, 1000 - 40);
}

}  // namespace orders_test::orders_databases_test
