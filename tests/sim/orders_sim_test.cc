// The service of examples/orders over three lives that end in a power loss, with faults of network, disk and payments
// server: what was acknowledged is there, who was charged has an order that is paid, and no stock is lost.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/app/testing/test_app.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/task/timing.h"
#include "shop.h"

namespace sim::orders_sim_test {
namespace {

using namespace keel;

constexpr std::int64_t plenty = 1000;

app::TestAppOptions shop(app::TestAppOptions options = {}) {
  options.settings = {"database.migrations=" KEEL_SIM_ORDERS_MIGRATIONS,
                      "network.clients.payments.base_url=http://payments.example", "shop.admin_token=secret",
                      "shop.pictures=" + ::testing::TempDir() + "orders"};
  return options;
}

// It remembers what it has charged, by order, and declines 402 cents. It is sometimes slow or unwell.
class PaymentsServer {
 public:
  PaymentsServer() { router_.post("/charges", *this, &PaymentsServer::charge); }
  const http::Router& router() const { return router_; }

  std::map<std::int64_t, std::int64_t> charged;  // Cents, by order.
  int slow_every = 0;                            // 0: never.
  int fails_every = 0;

 private:
  Task<http::Response> charge(http::Request& request) {
    ++asked_;
    if (slow_every != 0 && asked_ % slow_every == 0) co_await sleep_for(3_s);
    const auto charge = co_await request.json<Charge>();
    EXPECT_EQ(request.header("Idempotency-Key"), "order-" + std::to_string(charge.order_id));
    if (charge.cents == 402) co_return http::Response::json(Receipt{.paid = false});
    const auto [made, is_new] = charged.try_emplace(charge.order_id, charge.cents);
    EXPECT_EQ(made->second, charge.cents) << "a key is of one charge";
    if (fails_every != 0 && asked_ % fails_every == 0) co_return http::Response(http::Status::ServiceUnavailable);
    co_return http::Response::json(http::Status::Created, Receipt{.paid = true});
  }

  http::Router router_;
  int asked_ = 0;
};

// A customer and an administrator who remember what was acknowledged, and so know what has to be there.
class Ledger {
 public:
  explicit Ledger(app::TestApp<Shop, Settings>& app) : app_(app), admin_(app) {
    admin_.header("Authorization", "Bearer secret");
  }

  void put(const api::NewProduct& product) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      if (admin_.put("/admin/products", json::write(product)).status() == 200) return;
    }
    ADD_FAILURE() << product.sku << " cannot be put";
  }
  void order(int number) {
    api::NewOrder order{.customer = "customer " + std::to_string(number),
                        .lines = {{1 + number % 3, "tea"}, {1, "cup"}}};
    if (number % 7 == 0) order.lines = {{1, "odd"}};
    const http::TestResponse made = app_.post("/orders", json::write(order));
    if (made.status() == 201) {
      const std::int64_t id = json::parse<api::Order>(made.body()).value().id;
      EXPECT_TRUE(orders_.emplace(id, order.customer).second);
      last_ = id;
    }
    asked_for_.emplace(order.customer, std::move(order));
  }
  void pay() {
    if (app_.post(path_of_last() + "/payment", "").status() == 200) ended_[last_] = api::State::Paid;
  }
  void cancel() {
    if (app_.post(path_of_last() + "/cancel", "").status() == 200) ended_[last_] = api::State::Cancelled;
  }
  void send_picture(const std::string& picture) {
    pictures_.insert(picture);
    if (admin_.put("/admin/products/tea/picture", picture, "image/png").status() != 204) return;
    pictures_ = {picture};
    has_picture_ = true;
    ++pictures_kept_;
  }
  bool has_ordered() const { return last_ != 0; }
  std::size_t acknowledged() const { return orders_.size(); }
  std::size_t ended() const { return ended_.size(); }
  std::size_t pictures_kept() const { return pictures_kept_; }

  // Everything is well again, and nothing waits: what must be there is, and nothing else.
  void settle(const PaymentsServer& payments) {
    std::map<std::string, std::int64_t> left{{"tea", plenty}, {"cup", plenty}, {"odd", plenty}};
    std::map<std::int64_t, api::Order> rows;
    std::set<std::string> customers;
    const std::string lines = ask("/admin/orders.ndjson");
    for (std::size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
      api::Order order = json::parse<api::Order>(lines.substr(at, lines.find('\n', at) - at)).value();
      const std::string text = json::write(order);
      EXPECT_TRUE(was_asked_for(order)) << text;
      EXPECT_TRUE(customers.insert(order.customer).second) << "it is there twice: " << text;
      const auto charge = payments.charged.find(order.id);
      if (order.state == api::State::Paid) {
        EXPECT_TRUE(charge != payments.charged.end() && charge->second == order.total_cents) << text;
        for (const api::Line& line : order.lines) left[line.sku] -= line.quantity;
      } else {
        EXPECT_TRUE(charge == payments.charged.end()) << "charged, and not paid: " << text;
        EXPECT_TRUE(order.state != api::State::Open && order.state != api::State::Paying) << text;
        EXPECT_EQ(order.state == api::State::Declined, order.total_cents == 402 &&
                                                           order.state != api::State::Cancelled &&
                                                           order.state != api::State::Expired)
            << text;
      }
      rows.emplace(order.id, std::move(order));
    }
    for (const auto& [id, customer] : orders_) {
      EXPECT_EQ(rows[id].customer, customer) << "an acknowledged order is gone";
    }
    for (const auto& [id, state] : ended_) EXPECT_EQ(rows[id].state, state) << "an acknowledged end is gone: " << id;
    for (const auto& [id, cents] : payments.charged) EXPECT_TRUE(rows.contains(id)) << "a charge without an order";
    for (const auto& [sku, count] : left) {
      EXPECT_EQ(json::parse<api::Product>(ask("/products/" + sku)).value().stock, count) << sku;
    }
    EXPECT_TRUE(!has_picture_ || pictures_.contains(ask("/pictures/tea.png"))) << "not a picture that was sent";
  }

 private:
  std::string path_of_last() const { return "/orders/" + std::to_string(last_); }
  bool was_asked_for(const api::Order& order) const {
    const auto asked = asked_for_.find(order.customer);
    if (asked == asked_for_.end() || asked->second.lines.size() != order.lines.size()) return false;
    for (std::size_t i = 0; i < order.lines.size(); ++i) {
      const api::NewLine& line = asked->second.lines[i];
      if (line.sku != order.lines[i].sku || line.quantity != order.lines[i].quantity) return false;
    }
    return true;
  }
  // As a client does whose connection breaks.
  std::string ask(const std::string& path) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      const http::TestResponse response = admin_.get(path);
      if (response.status() == 200) return std::string(response.body());
    }
    ADD_FAILURE() << path << " has no response";
    return "";
  }

  app::TestApp<Shop, Settings>& app_;
  http::TestClient admin_;
  std::map<std::string, api::NewOrder> asked_for_;  // By customer: each orders once.
  std::map<std::int64_t, std::string> orders_;      // Acknowledged: the customer, by id.
  std::map<std::int64_t, api::State> ended_;        // Acknowledged ends.
  std::set<std::string> pictures_;                  // Pictures that may be there.
  bool has_picture_ = false;                        // Whether one of them is there for certain.
  std::size_t pictures_kept_ = 0;
  std::int64_t last_ = 0;
};

std::int64_t count_unsettled(app::TestApp<Shop, Settings>& app) {
  return app
      .run(app.database().query_one<std::int64_t>("select count(*) from orders where state in ('open', 'paying')"))
      .value();
}

TEST(OrdersSimulation, holds_what_it_promises_under_40_seeds_of_faults) {
  std::size_t acknowledged = 0;
  std::size_t ended = 0;
  std::size_t pictures = 0;
  std::size_t charged = 0;
  std::size_t power_losses = 0;
  for (std::uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    PaymentsServer payments;
    payments.slow_every = seed % 3 == 0 ? 4 : 0;
    payments.fails_every = seed % 2 == 0 ? 3 : 0;
    app::TestApp<Shop, Settings> app(shop(app::TestAppOptions::faulty(seed)));
    app.peer("payments.example", payments.router());
    Ledger ledger(app);
    ledger.put({.name = "Green tea", .price_cents = 100, .sku = "tea", .stock = plenty});
    ledger.put({.name = "A cup", .price_cents = 250, .sku = "cup", .stock = plenty});
    ledger.put({.name = "What is declined", .price_cents = 402, .sku = "odd", .stock = plenty});
    for (int life = 0; life < 3; ++life) {
      app.crash_within(40 + 37 * seed % 120);
      for (int i = 0; i < 14 && app.has_power(); ++i) {
        ledger.order(100 * life + i);
        if (ledger.has_ordered() && i % 2 == 0) ledger.pay();
        if (ledger.has_ordered() && i % 3 == 0) ledger.cancel();
        if (i % 5 == 0) app.advance(4_s);
        if (i % 6 == 0) ledger.send_picture(std::string(20'000, static_cast<char>('a' + 14 * life + i)));
        if (i == 7 && seed % 4 == 0) app.peer_down("payments.example");
      }
      app.restart();
      app.peer("payments.example", payments.router());
    }
    app.disk().set_faults({});
    // Orders expire by the calendar, which jumps in some seeds.
    for (int i = 0; i < 50 && (i == 0 || count_unsettled(app) != 0); ++i) app.advance(2_h);
    ledger.settle(payments);
    EXPECT_FALSE(::testing::Test::HasFailure()) << app.replay();
    acknowledged += ledger.acknowledged();
    ended += ledger.ended();
    pictures += ledger.pictures_kept();
    charged += payments.charged.size();
    power_losses += app.disk().counts().power_losses;
  }
  // A run in which nothing happens proves nothing.
  EXPECT_GT(acknowledged, 400u);
  EXPECT_GT(ended, 150u);
  EXPECT_GT(pictures, 40u);
  EXPECT_GT(charged, 150u);
  EXPECT_GT(power_losses, 40u);
}

// One more customer than one at a time: `count` orders for tea, all under way before the first is answered.
std::map<int, int> order_tea_at_once(app::TestApp<Shop, Settings>& app, int count) {
  std::vector<http::TestCall> calls;
  for (int i = 0; i < count; ++i) {
    http::ClientRequest request(http::Method::Post, "/orders");
    request.body(json::write(api::NewOrder{.customer = "customer " + std::to_string(i), .lines = {{1, "tea"}}}),
                 "application/json");
    calls.push_back(app.begin(std::move(request)));
  }
  std::map<int, int> statuses;
  for (http::TestCall& call : calls) ++statuses[call.response().status()];
  return statuses;
}

struct Tea {
  std::int64_t in_stock = 0;
  std::int64_t sold = 0;
};
Tea count_tea(app::TestApp<Shop, Settings>& app) {
  return app
      .run(app.database().query_one<Tea>(
          "select stock as in_stock, (select count(*) from lines where sku = 'tea') as sold from products"
          " where sku = 'tea'"))
      .value();
}

TEST(OrdersSimulation, sells_50_of_50_to_160_at_once_in_virtual_and_in_real_time) {
  for (const bool real_time : {false, true}) {
    app::TestApp<Shop, Settings> app(shop({.real_time = real_time}));
    Ledger(app).put({.name = "Green tea", .price_cents = 100, .sku = "tea", .stock = 50});

    const std::map<int, int> statuses = order_tea_at_once(app, 160);

    EXPECT_EQ(statuses, (std::map<int, int>{{201, 50}, {409, 110}}));
    const Tea tea = count_tea(app);
    EXPECT_EQ(tea.in_stock, 0);
    EXPECT_EQ(tea.sold, 50);
    EXPECT_EQ(app.post("/orders", R"({"customer":"ada","lines":[{"sku":"tea","quantity":1}]})").body(),
              R"({"type":"about:blank","title":"Conflict","status":409,)"
              R"("detail":"not in stock in this quantity: tea"})");
    EXPECT_EQ(app.log().find("request failed"), std::string::npos) << "a customer who is too late is no fault";
  }
}

TEST(OrdersSimulation, never_oversells_to_160_at_once_under_40_seeds_of_faults) {
  std::int64_t acknowledged = 0;
  std::int64_t unanswered = 0;
  std::size_t power_losses = 0;
  for (std::uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    app::TestApp<Shop, Settings> app(shop(app::TestAppOptions::faulty(seed)));
    Ledger(app).put({.name = "Green tea", .price_cents = 100, .sku = "tea", .stock = 50});
    app.crash_within(1 + 58 * seed % 400);

    std::map<int, int> statuses = order_tea_at_once(app, 160);

    app.restart();
    app.disk().set_faults({});
    const Tea tea = count_tea(app);
    EXPECT_EQ(tea.in_stock + tea.sold, 50) << app.replay();
    EXPECT_GE(tea.sold, statuses[201]) << "an acknowledged order is gone: " << app.replay();
    for (const auto& [status, count] : statuses) {
      EXPECT_TRUE(status == 0 || status == 201 || status == 409 || status == 503 || status == 504)
          << status << ": " << app.replay();
    }
    acknowledged += statuses[201];
    unanswered += statuses[0];
    power_losses += app.disk().counts().power_losses;
  }
  // A run in which nothing happens proves nothing.
  EXPECT_GT(acknowledged, 400);
  EXPECT_GT(unanswered, 400);
  EXPECT_GT(power_losses, 20u);
}

}  // namespace
}  // namespace sim::orders_sim_test
