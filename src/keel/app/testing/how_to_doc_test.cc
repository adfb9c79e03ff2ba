// docs/server_sent_events.md, docs/slow_route.md, docs/paging.md, compiled and run

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/testing/test_app.h"
#include "keel/data/json.h"
#include "keel/http.h"
#include "keel/http/client/event_reader.h"
#include "keel/http/server/stage.h"
#include "keel/task/completion.h"
#include "keel/task/group.h"
#include "keel/task/timing.h"

#define ACCOUNTS_MIGRATIONS KEEL_SOURCE_DIR "/src/keel/app/testing/accounts_migrations"

namespace keel::app::how_to_doc_test {
namespace {

struct NewAccount {
  std::string owner;
  std::int64_t cents = 0;
};

struct Account {
  std::int64_t id = 0;
  std::string owner;
  std::int64_t cents = 0;
};

struct PageQuery {
  std::int64_t after = 0;
  int limit = 20;

  static constexpr bool optional_fields = true;
  void rules(Check& check) const { check(limit).range(1, 100); }
};

struct AccountPage {
  std::vector<Account> accounts;
  std::optional<std::int64_t> next;
};

struct RichestQuery {
  std::int64_t cents = std::numeric_limits<std::int64_t>::max();
  std::int64_t id = std::numeric_limits<std::int64_t>::max();

  static constexpr bool optional_fields = true;
};

// What takes long, and waits for nothing.
std::uint64_t slow_digest(std::int64_t id) {
  std::uint64_t digest = 1'469'598'103'934'665'603u;
  for (int round = 0; round < 1000; ++round) digest = (digest ^ static_cast<std::uint64_t>(id)) * 1'099'511'628'211u;
  return digest;
}

class Accounts {
 public:
  explicit Accounts(app::App& app)
      : database_(app.database()),
        digests_(app.pool("digests")),
        took_(app.metrics().histogram("summary_seconds", "Time of a summary", metrics::latency_seconds)) {
    router_.post("/accounts", *this, &Accounts::open);
    router_.get("/events", *this, &Accounts::events);
    router_.get("/summary", *this, &Accounts::summary).get("/digests/{id}", *this, &Accounts::digest);
    router_.get("/accounts/events", *this, &Accounts::added);
    router_.get("/accounts", *this, &Accounts::list).get("/accounts/richest", *this, &Accounts::richest);
    app.serve(router_);
  }

 private:
  Task<http::Response> open(http::Request& request) {
    const auto wanted = co_await request.json<NewAccount>();
    co_await database_.execute("insert into accounts (owner, cents) values ($owner, $cents)", wanted);
    co_return http::Response(http::Status::Created);
  }
  Task<http::Response> list(http::Request& request);
  Task<http::Response> richest(http::Request& request);
  http::Response events(http::Request& request);
  Task<> follow(http::EventWriter& events);
  http::Response added(http::Request& request);
  Task<> follow_added(http::EventWriter& events, std::int64_t after);
  Task<std::int64_t> count_accounts() {
    co_await sleep_for(100_ms);
    co_return co_await database_.query_one<std::int64_t>("select count(*) from accounts");
  }
  Task<std::int64_t> rate_of(std::string) {
    co_await sleep_for(100_ms);
    co_return 940;
  }
  void check_currency(std::string_view currency) {
    const StageTimer timing(http::stage::validate);
    if (currency.size() != 3) throw std::invalid_argument("a currency has three letters");
  }
  Task<http::Response> summary(http::Request&) {
    const auto timing = took_.time();
    check_currency("SEK");
    const auto [count, rate] = co_await all(count_accounts(), rate_of("SEK"));
    co_return http::Response::text(http::Status::Ok, std::to_string(count) + " accounts, " + std::to_string(rate));
  }
  Task<http::Response> digest(http::Request& request);

  db::Session& database_;
  ThreadPool& digests_;
  const metrics::Histogram took_;
  http::Router router_;
};

http::Response Accounts::events(http::Request&) { return http::Response::events(*this, &Accounts::follow); }

Task<> Accounts::follow(http::EventWriter& events) {
  while (true) {
    const auto count = co_await database_.query_one<std::int64_t>("select count(*) from accounts");
    co_await events.send(std::to_string(count), "count");
    co_await sleep_for(1_s);
  }
}

http::Response Accounts::added(http::Request& request) {
  const std::string last_id(request.header("Last-Event-ID").value_or("0"));
  return http::Response::events(*this, &Accounts::follow_added, std::atoll(last_id.c_str()));
}

Task<> Accounts::follow_added(http::EventWriter& events, std::int64_t after) {
  while (true) {
    const auto added = co_await database_.query_many<Account>(
        "select id, owner, cents from accounts where id > $1 order by id limit 100", after);
    for (const Account& account : added) {
      co_await events.send(json::write(account), "account", std::to_string(account.id));
      after = account.id;
    }
    if (added.empty()) co_await sleep_for(1_s);
  }
}

Task<http::Response> Accounts::digest(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  auto digesting = submit(digests_, [id] { return slow_digest(id); });
  const std::uint64_t digest = co_await completion(std::move(digesting));
  co_return http::Response::text(http::Status::Ok, std::to_string(digest));
}

Task<http::Response> Accounts::list(http::Request& request) {
  auto query = co_await request.query<PageQuery>();
  const auto limit = static_cast<std::size_t>(query.limit++);  // one more row shows whether there is a next page
  AccountPage page;
  page.accounts = co_await database_.query_many<Account>(
      "select id, owner, cents from accounts where id > $after order by id limit $limit", query);
  if (page.accounts.size() > limit) {
    page.accounts.resize(limit);
    page.next = page.accounts.back().id;
  }
  co_return http::Response::json(page);
}

Task<http::Response> Accounts::richest(http::Request& request) {
  const auto last = co_await request.query<RichestQuery>();
  co_return http::Response::json(
      co_await database_.query_many<Account>("select id, owner, cents from accounts where (cents, id) < ($cents, $id) "
                                             "order by cents desc, id desc limit 20",
                                             last));
}

// A service that follows the accounts of another one.
class Mirror {
 public:
  explicit Mirror(app::App& app)
      : accounts_(app.client({.name = "accounts", .base_url = "http://accounts.example:8080"})) {
    app.background("mirror", [this] { return follow(); });
    app.serve(router_);
  }
  std::vector<Account> seen;

 private:
  Task<> follow();

  http::SharedClient& accounts_;
  std::string last_id_;
  http::Router router_;
};

Task<> Mirror::follow() {
  while (true) {
    http::ClientRequest request(http::Method::Get, "/accounts/events");
    request.header("Accept", "text/event-stream");
    if (!last_id_.empty()) request.header("Last-Event-ID", last_id_);
    http::ClientStream response = co_await accounts_.open(std::move(request));
    http::EventReader events(response);
    while (const auto event = co_await events.next()) {
      if (event->type == "account") seen.push_back(*json::parse<Account>(event->data));
      last_id_ = event->id;
    }
    co_await sleep_for(events.retry().value_or(3_s));
  }
}

// Two accounts that the client has not seen; then the response ends.
Task<> send_two(http::EventWriter& events, std::int64_t after) {
  for (std::int64_t id = after + 1; id <= after + 2; ++id) {
    const Account account{id, "ada", 1};
    co_await events.send(json::write(account), "account", std::to_string(id));
  }
}

using TestAccounts = app::TestApp<Accounts>;

app::TestAppOptions with_accounts() {
  return {.settings = {"database.migrations=" ACCOUNTS_MIGRATIONS, "monitoring.measured_every=1"}};
}

TEST(Summary, waits_for_both_at_the_same_time) {
  TestAccounts app(with_accounts());
  app.get("/summary");
  const Instant began = app.now();

  EXPECT_EQ(app.get("/summary").body(), "0 accounts, 940");

  EXPECT_LT(app.now() - began, 150_ms);  // each of the two takes 100 ms
}

TEST(ServerSentEventsDoc, end_when_the_service_drains) {
  TestAccounts app(with_accounts());
  http::TestCall events = app.begin(http::ClientRequest(http::Method::Get, "/events"));
  app.advance(2500_ms);

  app.restart();

  EXPECT_EQ(events.response().body(), "event: count\ndata: 0\n\nevent: count\ndata: 0\n\nevent: count\ndata: 0\n\n");
}

TEST(ServerSentEventsDoc, continue_after_the_last_one) {
  TestAccounts app(with_accounts());
  for (const char* owner : {"ada", "bob"}) app.post("/accounts", NewAccount{.owner = owner, .cents = 1});
  http::ClientRequest request(http::Method::Get, "/accounts/events");
  request.header("Last-Event-ID", "1");
  http::TestCall events = app.begin(std::move(request));
  app.advance(2_s);

  app.restart();

  EXPECT_EQ(events.response().body(), "event: account\nid: 2\ndata: {\"id\":2,\"owner\":\"bob\",\"cents\":1}\n\n");
}

TEST(ServerSentEventsDoc, are_followed_across_connections) {
  http::Router accounts;
  accounts.get("/accounts/events", [](http::Request& request) {
    const std::string last_id(request.header("Last-Event-ID").value_or("0"));
    return http::Response::events(&send_two, std::atoll(last_id.c_str()));
  });
  app::TestApp<Mirror> app;
  app.peer("accounts.example:8080", accounts);

  app.advance(4_s);

  ASSERT_EQ(app.service().seen.size(), 4u);
  EXPECT_EQ(app.service().seen.back().id, 4);
}

// Of the pages that it names, those of the last requests and of live tasks need the system: app_pages_test.cc.
TEST(SlowRouteDoc, shows_the_stages_of_each_route_and_the_histogram_of_a_part) {
  TestAccounts app(with_accounts());
  app.get("/summary");

  http::TestClient admin(app.admin());
  EXPECT_NE(admin.get("/admin/stages?format=text").body().find("\nGET /summary "), std::string_view::npos);
  EXPECT_NE(admin.get("/metrics").body().find("\nsummary_seconds_count 1\n"), std::string_view::npos);
}

TEST(SlowRouteDoc, computes_on_a_pool) {
  TestAccounts app(with_accounts());
  EXPECT_EQ(app.get("/digests/7").body(), std::to_string(slow_digest(7)));
}

TEST(PagingDoc, gives_each_account_once_and_null_as_next_on_the_last_page) {
  TestAccounts app(with_accounts());
  for (const char* owner : {"ada", "bob", "cyd"}) {
    app.post("/accounts", R"({"owner":")" + std::string(owner) + R"(","cents":1})");
  }

  EXPECT_EQ(app.get("/accounts?limit=2").body(),
            R"({"accounts":[{"id":1,"owner":"ada","cents":1},{"id":2,"owner":"bob","cents":1}],"next":2})");
  EXPECT_EQ(app.get("/accounts?limit=2&after=2").body(),
            R"({"accounts":[{"id":3,"owner":"cyd","cents":1}],"next":null})");
  EXPECT_EQ(app.get("/accounts?limit=101").status(), 400);
}

TEST(PagingDoc, continues_after_the_last_row_of_an_order_with_equal_values) {
  TestAccounts app(with_accounts());
  for (const char* owner : {"ada", "bob", "cyd"}) {
    app.post("/accounts", R"({"owner":")" + std::string(owner) + R"(","cents":1})");
  }

  EXPECT_EQ(app.get("/accounts/richest?cents=1&id=2").body(), R"([{"id":1,"owner":"ada","cents":1}])");
}

}  // namespace
}  // namespace keel::app::how_to_doc_test
