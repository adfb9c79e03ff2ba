// The shop as production runs it, in virtual time; tests/examples/orders_databases_test.cc has what is the same on
// each database, and tests/sim/orders_sim_test.cc and tests/faults/orders_test.cc ask more of it.

#include "orders_test.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace orders_test::orders_test {

using namespace keel;

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
