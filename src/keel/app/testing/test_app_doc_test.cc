// docs/testing_app.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <string>

#include "keel/app/testing/test_app.h"
#include "keel/http/server/problem.h"

#define SHOP_MIGRATIONS KEEL_SOURCE_DIR "/src/keel/app/testing/testdata"

namespace keel::app::test_app_doc_test {
namespace {

class Shop {
 public:
  explicit Shop(app::App& app)
      : database_(app.database()), bank_(app.client({.name = "bank", .base_url = "http://bank.example:8080"})) {
    router_.post("/orders", *this, &Shop::order).get("/orders/{id}", *this, &Shop::find);
    app.every(30_s, "charge", [this] { return charge(); });
    app.serve(router_);
  }

  Task<int> count() { co_return co_await database_.query_one<int>("select count(*) from notes"); }

 private:
  Task<http::Response> order(http::Request& request) {
    const std::string item = std::string(request.body()) + ": open";
    const db::Written written = co_await database_.execute("insert into notes (text) values ($1)", item);
    co_return http::Response::text(http::Status::Created, std::to_string(written.last_insert_id));
  }
  Task<http::Response> find(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    const auto found = co_await database_.query_optional<std::string>("select text from notes where id = $1", id);
    if (!found) co_return http::refuse(http::Status::NotFound, "no such order");
    co_return http::Response::text(http::Status::Ok, *found);
  }
  Task<> charge() {
    const auto open = co_await database_.query_many<std::int64_t>("select id from notes where text like '%: open'");
    for (const std::int64_t id : open) {
      const http::ClientResponse answer = co_await bank_.post("/charges", std::to_string(id), "text/plain");
      if (answer.status() != http::Status::Created) continue;
      co_await database_.execute("update notes set text = replace(text, ': open', ': paid') where id = $1", id);
    }
  }

  db::Session& database_;
  http::SharedClient& bank_;
  http::Router router_;
};

TEST(Shop, keeps_an_order) {
  app::TestApp<Shop> app({.settings = {"database.migrations=" SHOP_MIGRATIONS}});

  EXPECT_EQ(app.post("/orders", "tea").status(), 201);
  EXPECT_EQ(app.get("/orders/1").body(), "tea: open");
}

TEST(Shop, keeps_it_without_power) {
  app::TestApp<Shop> app({.settings = {"database.migrations=" SHOP_MIGRATIONS}});
  app.post("/orders", "tea");

  app.crash();
  EXPECT_EQ(app.get("/orders/1").body(), "tea: open");
}

TEST(Shop, charges_what_is_open) {
  http::Router bank;  // outlives the TestApp
  bank.post("/charges", [](http::Request&) { return http::Response(http::Status::Created); });
  app::TestApp<Shop> app({.settings = {"database.migrations=" SHOP_MIGRATIONS}});
  app.peer("bank.example:8080", bank);

  app.post("/orders", "tea");
  app.advance(31_s);
  EXPECT_EQ(app.get("/orders/1").body(), "tea: paid");
}

TEST(Shop, keeps_what_it_acknowledged_under_faults) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    app::TestAppOptions options = app::TestAppOptions::faulty(seed);
    options.settings.push_back("database.migrations=" SHOP_MIGRATIONS);
    app::TestApp<Shop> app(std::move(options));
    app.crash_within(5 * seed);
    int acknowledged = 0;
    for (int i = 0; i < 20; ++i) acknowledged += app.post("/orders", "tea").status() == 201;
    app.restart();
    app.disk().set_faults({});

    EXPECT_GE(app.run(app.service().count()).value(), acknowledged) << app.replay();
  }
}

TEST(Shop, keeps_an_order_in_real_time) {
  app::TestApp<Shop> app({.settings = {"database.migrations=" SHOP_MIGRATIONS}, .real_time = true});
  EXPECT_EQ(app.post("/orders", "tea").status(), 201);
}

namespace the_program {
int main(int argc, char** argv) { return app::run<Shop>("shop", argc, argv); }
}  // namespace the_program

TEST(Shop, has_a_main_of_one_line) { EXPECT_NE(&the_program::main, nullptr); }

}  // namespace
}  // namespace keel::app::test_app_doc_test
