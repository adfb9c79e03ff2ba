// For tests: the shop, its administrator, and the payments server, on the database that the settings name.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/app/testing/test_app.h"
#include "shop.h"

namespace orders_test {

using namespace keel;

inline app::TestAppOptions with_settings(app::TestAppOptions options) {
  const std::vector<std::string> own = std::move(options.settings);
  options.settings = {"database.migrations=" KEEL_SOURCE_DIR "/examples/orders/db/migrations",
                      "network.clients.payments.base_url=http://payments.example", "shop.admin_token=secret",
                      "shop.pictures=" + ::testing::TempDir() + "orders"};
  options.settings.insert(options.settings.end(), own.begin(), own.end());
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

}  // namespace orders_test
