#include "orders.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "keel/app/testing/test_app.h"
#include "keel/data/json.h"
#include "keel/http/server/problem.h"
#include "keel/task/timing.h"

namespace orders_test::orders_test {
namespace {

using namespace keel;

app::TestAppOptions orders(app::TestAppOptions options = {}) {
  options.settings.push_back("database.migrations=" KEEL_SOURCE_DIR "/examples/orders/db/migrations");
  return options;
}

// The payments server. It remembers what it has charged, by idempotency key, and is sometimes slow or unwell.
class Payments {
 public:
  Payments() { router_.post("/charges", *this, &Payments::charge); }
  const http::Router& router() const { return router_; }

  struct Charge {
    std::int64_t cents = 0;
    int asked = 0;
  };
  std::map<std::int64_t, Charge> charges;  // By order.
  int slow_every = 0;                      // 0: never.
  int fails_every = 0;

 private:
  Task<http::Response> charge(http::Request& request) {
    ++asked_;
    if (slow_every != 0 && asked_ % slow_every == 0) co_await sleep_for(3_s);
    std::int64_t order = 0;
    std::int64_t cents = 0;
    json::Reader in(request.body(), request.arena());
    in.begin_object();
    while (auto key = in.next_key()) (*key == "order" ? order : cents) = in.int64();
    if (!in.finish()) co_return http::problem(in);
    EXPECT_EQ(request.header("Idempotency-Key"), "order-" + std::to_string(order));
    if (cents == 402) co_return http::Response(http::Status::PaymentRequired);
    Charge& made = charges[order];
    EXPECT_TRUE(made.asked == 0 || made.cents == cents) << "a key is of one charge";
    made.cents = cents;
    ++made.asked;
    if (fails_every != 0 && asked_ % fails_every == 0) co_return http::Response(http::Status::ServiceUnavailable);
    co_return http::Response(http::Status::Created);
  }

  http::Router router_;
  int asked_ = 0;
};

TEST(Orders, are_paid_by_the_payments_server_within_ten_seconds) {
  Payments payments;
  app::TestApp<Orders> app(orders());
  app.peer("payments.example:8080", payments.router());

  EXPECT_EQ(app.post("/orders", R"({"item":"tea","cents":500})").status(), 201);
  EXPECT_EQ(app.post("/orders", R"({"item":"gold","cents":402})").status(), 201);
  app.advance(11_s);

  EXPECT_EQ(app.get("/orders/1").body(), R"({"id":1,"item":"tea","cents":500,"state":"paid"})");
  EXPECT_EQ(app.get("/orders/2").body(), R"({"id":2,"item":"gold","cents":402,"state":"declined"})");
  EXPECT_EQ(payments.charges.at(1).cents, 500);
}

TEST(Orders, wait_while_the_payments_server_is_down_and_are_charged_once) {
  Payments payments;
  app::TestApp<Orders> app(orders());
  app.peer("payments.example:8080", payments.router());
  app.post("/orders", R"({"item":"tea","cents":500})");

  app.peer_down("payments.example:8080");
  app.advance(60_s);
  EXPECT_EQ(app.get("/orders/1").body(), R"({"id":1,"item":"tea","cents":500,"state":"open"})");
  EXPECT_NE(app.log().find("background work failed"), std::string::npos);

  app.peer("payments.example:8080", payments.router());
  app.advance(10_min);
  EXPECT_EQ(app.get("/orders/1").body(), R"({"id":1,"item":"tea","cents":500,"state":"paid"})");
  EXPECT_EQ(payments.charges.size(), 1u);
}

TEST(Orders, are_exported_as_they_are) {
  app::TestApp<Orders> app(orders());
  std::string expected = "id,item,cents,state\r\n";
  for (int i = 1; i <= 450; ++i) {
    app.post("/orders", R"({"item":"a \"b\"","cents":)" + std::to_string(i) + "}");
    expected += std::to_string(i) + ",\"a \"\"b\"\"\"," + std::to_string(i) + ",open\r\n";
  }
  EXPECT_EQ(app.get("/orders.csv").body(), expected);
}

TEST(Orders, keep_a_receipt_as_it_was_sent) {
  for (const bool real_time : {false, true}) {
    app::TestApp<Orders> app(orders({.real_time = real_time}));
    app.post("/orders", R"({"item":"tea","cents":500})");
    const std::string receipt(300'000, 'r');

    EXPECT_EQ(app.get("/orders/1/receipt").status(), 404);
    EXPECT_EQ(app.put("/orders/1/receipt", receipt, "image/png").status(), 204);
    EXPECT_EQ(app.put("/orders/2/receipt", receipt, "image/png").status(), 404);
    app.restart();
    EXPECT_TRUE(app.get("/orders/1/receipt").body() == receipt);
  }
}

TEST(Orders, say_what_is_wrong_with_one) {
  app::TestApp<Orders> app(orders());
  EXPECT_EQ(app.post("/orders", "{").status(), 400);
  EXPECT_EQ(app.post("/orders", R"({"item":"","cents":0})").status(), 422);
  EXPECT_EQ(app.put("/stock/tea", R"({"count":-1})").status(), 422);
  EXPECT_EQ(app.get("/stock/tea").status(), 404);
  EXPECT_EQ(app.put("/stock/tea", R"({"count":2})").status(), 204);
  EXPECT_EQ(app.get("/stock/tea").body(), R"({"item":"tea","count":2})");
}

// --- Of what is kept in stock.

// One more customer than one at a time: `count` orders for tea, all under way before the first is answered.
std::map<int, int> order_tea_at_once(app::TestApp<Orders>& app, int count) {
  std::vector<http::TestCall> calls;
  for (int i = 0; i < count; ++i) {
    http::ClientRequest request(http::Method::Post, "/orders");
    request.body(R"({"item":"tea","cents":)" + std::to_string(1000 + i) + "}", "application/json");
    calls.push_back(app.begin(std::move(request)));
  }
  std::map<int, int> statuses;
  for (http::TestCall& call : calls) ++statuses[call.response().status()];
  return statuses;
}

// As a client does that does not know whether its call has happened: what sets a value may be said twice.
void put_in_stock(app::TestApp<Orders>& app, int count) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    if (app.put("/stock/tea", R"({"count":)" + std::to_string(count) + "}").status() == 204) return;
  }
  ADD_FAILURE() << "the stock cannot be set";
}

struct Tea {
  std::int64_t in_stock = 0;
  std::int64_t sold = 0;
};
Tea count_tea(app::TestApp<Orders>& app) {
  db::Session& database = app.database();
  return {app.run(database.query_one<std::int64_t>("select count from stock where item = 'tea'")).value(),
          app.run(database.query_one<std::int64_t>("select count(*) from orders where item = 'tea'")).value()};
}

TEST(Orders, of_160_at_once_for_a_stock_of_50_are_50) {
  for (const bool real_time : {false, true}) {
    app::TestApp<Orders> app(orders({.real_time = real_time}));
    put_in_stock(app, 50);

    const std::map<int, int> statuses = order_tea_at_once(app, 160);

    EXPECT_EQ(statuses, (std::map<int, int>{{201, 50}, {409, 110}}));
    const Tea tea = count_tea(app);
    EXPECT_EQ(tea.in_stock, 0);
    EXPECT_EQ(tea.sold, 50);
    EXPECT_EQ(app.post("/orders", R"({"item":"tea","cents":1})").body(),
              R"({"type":"about:blank","title":"Conflict","status":409,"detail":"this item is sold out"})");
    EXPECT_EQ(app.log().find("request failed"), std::string::npos) << "a customer who is too late is no fault";
    EXPECT_EQ(app.post("/orders", R"({"item":"gold","cents":1})").status(), 201) << "it is not kept in stock";
  }
}

TEST(Orders, of_160_at_once_never_oversell_under_40_seeds_of_faults) {
  std::int64_t acknowledged = 0;
  std::int64_t unanswered = 0;
  std::size_t power_losses = 0;
  for (std::uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    app::TestApp<Orders> app(orders(app::TestAppOptions::faulty(seed)));
    put_in_stock(app, 50);
    app.crash_within(1 + 29 * seed % 200);

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

// --- When something fails.

TEST(Orders, are_refused_while_the_disk_is_full_and_taken_again_without_a_restart) {
  app::TestApp<Orders> app(orders());
  put_in_stock(app, 50);
  ASSERT_EQ(app.post("/orders", R"({"item":"tea","cents":500})").status(), 201);

  app.disk().set_faults({.capacity_bytes = 0});
  const http::TestResponse refused = app.post("/orders", R"({"item":"tea","cents":500})");
  const http::TestResponse receipt = app.put("/orders/1/receipt", std::string(20'000, 'r'), "image/png");
  EXPECT_EQ(app.get("/orders/1").status(), 200) << "reads go on";

  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(refused.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(receipt.status(), 503);
  EXPECT_NE(app.log().find("the disk does not take writes"), std::string::npos) << app.log();
  app.disk().set_faults({});
  EXPECT_EQ(app.post("/orders", R"({"item":"tea","cents":500})").status(), 201);
  EXPECT_NE(app.log().find("the disk takes writes again"), std::string::npos) << app.log();
  EXPECT_EQ(app.get("/orders/1/receipt").status(), 404) << "nobody sees half of one";
  const Tea tea = count_tea(app);
  EXPECT_EQ(tea.in_stock, 48);
  EXPECT_EQ(tea.sold, 2);
}

// --- Under faults.

// A customer who remembers what was acknowledged, and so knows what has to be there.
class Customer {
 public:
  explicit Customer(app::TestApp<Orders>& app) : app_(app) {}

  void order(int number) {
    const std::string item = "item " + std::to_string(number);
    const std::int64_t cents = number % 7 == 0 ? 402 : 100 + number;
    const http::TestResponse made =
        app_.post("/orders", R"({"item":")" + item + R"(","cents":)" + std::to_string(cents) + "}");
    items_[item] = cents;
    if (made.status() != 201) return;
    const std::string location(made.header("Location").value());
    acknowledged_[std::stoll(location.substr(8))] = item;
  }
  void send_receipt(std::int64_t id, const std::string& receipt) {
    sent_[id].insert(receipt);
    if (app_.put("/orders/" + std::to_string(id) + "/receipt", receipt, "image/png").status() == 204) {
      sent_[id] = {receipt};
      kept_.insert(id);
    }
  }
  const std::map<std::int64_t, std::string>& acknowledged() const { return acknowledged_; }
  std::size_t receipts() const { return kept_.size(); }

  // Everything is well again: what must be there is, and nothing else.
  void settle(const Payments& payments) {
    std::map<std::int64_t, std::string> rows;
    std::set<std::string> seen;
    const std::string csv(ask("/orders.csv"));
    for (std::size_t at = csv.find("\r\n") + 2; at < csv.size(); at = csv.find("\r\n", at) + 2) {
      const std::string line = csv.substr(at, csv.find("\r\n", at) - at);
      const std::size_t item = line.find('"') + 1;
      const std::size_t item_end = line.find('"', item);
      const std::int64_t id = std::stoll(line);
      const std::int64_t cents = std::stoll(line.substr(item_end + 2));
      const std::string state = line.substr(line.rfind(',') + 1);
      const std::string name = line.substr(item, item_end - item);
      rows[id] = name;

      EXPECT_TRUE(items_.contains(name) && items_[name] == cents) << "nobody asked for this: " << line;
      EXPECT_TRUE(seen.insert(name).second) << "it is there twice: " << line;
      EXPECT_EQ(state, cents == 402 ? "declined" : "paid") << line;
      if (state == "paid") {
        const auto charge = payments.charges.find(id);
        EXPECT_TRUE(charge != payments.charges.end() && charge->second.cents == cents) << line;
      }
    }
    for (const auto& [id, item] : acknowledged_) EXPECT_EQ(rows[id], item) << "an acknowledged order is gone";
    for (const auto& [id, charge] : payments.charges) EXPECT_TRUE(rows.contains(id)) << "a charge without an order";
    for (const auto& [id, receipts] : sent_) {
      const std::string receipt = ask("/orders/" + std::to_string(id) + "/receipt");
      EXPECT_TRUE(!kept_.contains(id) || receipts.contains(receipt)) << "not the receipt of order " << id;
    }
  }

 private:
  // As a customer does whose connection breaks.
  std::string ask(const std::string& path) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      const http::TestResponse answer = app_.get(path);
      if (answer.status() == 200 || answer.status() == 404) return std::string(answer.body());
    }
    ADD_FAILURE() << path << " has no answer";
    return "";
  }

  app::TestApp<Orders>& app_;
  std::map<std::string, std::int64_t> items_;           // That were asked for.
  std::map<std::int64_t, std::string> acknowledged_;    // By id.
  std::map<std::int64_t, std::set<std::string>> sent_;  // Receipts that may be there.
  std::set<std::int64_t> kept_;                         // Orders that certainly have one of them.
};

TEST(Orders, hold_what_they_promise_under_40_seeds_of_faults) {
  std::size_t acknowledged = 0;
  std::size_t receipts = 0;
  std::size_t charged = 0;
  std::size_t power_losses = 0;
  for (std::uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
    Payments payments;
    payments.slow_every = seed % 3 == 0 ? 4 : 0;
    payments.fails_every = seed % 2 == 0 ? 3 : 0;
    app::TestApp<Orders> app(orders(app::TestAppOptions::faulty(seed)));
    app.peer("payments.example:8080", payments.router());
    Customer customer(app);
    for (int life = 0; life < 3; ++life) {
      app.crash_within(30 + 37 * seed % 90);
      for (int i = 0; i < 12 && app.has_power(); ++i) {
        customer.order(100 * life + i);
        if (i % 3 == 0) app.advance(4_s);
        if (i % 5 == 0 && !customer.acknowledged().empty()) {
          customer.send_receipt(customer.acknowledged().rbegin()->first, std::string(20'000, 'a' + i));
        }
        if (i == 7 && seed % 4 == 0) app.peer_down("payments.example:8080");
      }
      app.restart();
      app.peer("payments.example:8080", payments.router());
    }
    app.disk().set_faults({});
    app.advance(2_h);
    customer.settle(payments);
    EXPECT_FALSE(::testing::Test::HasFailure()) << app.replay();
    acknowledged += customer.acknowledged().size();
    receipts += customer.receipts();
    charged += payments.charges.size();
    power_losses += app.disk().counts().power_losses;
  }
  // A run in which nothing happens proves nothing.
  EXPECT_GT(acknowledged, 400u);
  EXPECT_GT(receipts, 40u);
  EXPECT_GT(charged, 200u);
  EXPECT_GT(power_losses, 40u);
}

}  // namespace
}  // namespace orders_test::orders_test
