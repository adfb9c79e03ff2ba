// docs/database.md, docs/logging.md, docs/metrics.md, docs/lifecycle.md, docs/results.md, compiled and run

#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/container.h"
#include "keel/app/testing/test_app.h"
#include "keel/http.h"
#include "keel/io/file.h"
#include "keel/task/on_error.h"

#define ACCOUNTS_MIGRATIONS KEEL_SOURCE_DIR "/src/keel/app/testing/accounts_migrations"

namespace keel::app::service_doc_test {
namespace {

struct NewAccount {
  std::string owner;
  std::int64_t cents = 0;

  void rules(Check& check) const {
    check(owner).length(1, 100);
    check(cents).at_least(0);
  }
};

struct Account {
  std::int64_t id = 0;
  std::string owner;
  std::int64_t cents = 0;
};

struct Transfer {
  std::int64_t from_id = 0;
  std::int64_t to_id = 0;
  std::int64_t cents = 0;

  void rules(Check& check) const { check(cents).range(1, 1'000'000); }
};

// What 100 units of a currency cost, in cents.
Result<std::int64_t> parse_rate(std::string_view text) {
  std::int64_t rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size()) return fail(Code::InvalidArgument, "expected a number");
  return rate;
}

struct Price {
  std::string currency;
  std::int64_t rate = 0;
};

Result<Price> parse_price(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return fail(Code::InvalidArgument, "expected CURRENCY:RATE, such as SEK:940");
  KEEL_TRY(const std::int64_t rate, parse_rate(text.substr(colon + 1)));
  return Price{std::string(text.substr(0, colon)), rate};
}

class Rates {
 public:
  Result<> load() {
    KEEL_TRY(const Price price, parse_price("SEK:940"));
    rates_[price.currency] = price.rate;
    return {};
  }
  void close() { rates_.clear(); }
  Result<> check() const {
    if (rates_.empty()) return fail(Code::Unavailable, "there are no rates");
    return {};
  }
  std::size_t size() const { return rates_.size(); }
  Result<std::int64_t> find(std::string_view currency) const {
    const auto found = rates_.find(std::string(currency));
    if (found == rates_.end()) return Error::text(Code::NotFound, "no rate for " + std::string(currency));
    return found->second;
  }

 private:
  std::map<std::string, std::int64_t> rates_;
};

class Accounts {
 public:
  explicit Accounts(app::App& app)
      : database_(app.database()),
        opened_(app.metrics().counter("accounts_opened_total", "Accounts that were opened")),
        took_(app.metrics().histogram("transfer_seconds", "Time of a transfer", metrics::latency_seconds)),
        size_(app.metrics().gauge("rates", "Currencies with a rate", {}, [this] { return rates_.size(); })),
        log_("accounts") {
    app.module({.name = "rates",
                .needs = {"database"},
                .start = [this] { return rates_.load(); },
                .stop = [this] { rates_.close(); }});
    check_ = app.health().add({.name = "rates"}, [this] { return rates_.check(); });
    router_.post("/accounts", *this, &Accounts::open).get("/accounts/{id}", *this, &Accounts::find);
    router_.post("/transfers", *this, &Accounts::transfer).get("/rates/{currency}", *this, &Accounts::rate);
    router_.get("/prices/{text}", *this, &Accounts::price).get("/terms", *this, &Accounts::terms);
    app.serve(router_);
  }

  Task<int> open_many(std::vector<NewAccount> wanted);

 private:
  Task<http::Response> open(http::Request& request);
  Task<http::Response> find(http::Request& request);
  Task<http::Response> transfer(http::Request& request);
  Task<http::Response> price(http::Request& request);
  Task<http::Response> terms(http::Request& request);
  Result<http::Response> rate(http::Request& request);

  Rates rates_;
  db::Session& database_;
  const metrics::Counter opened_;
  const metrics::Histogram took_;
  const metrics::GaugeFunction size_;
  const log::Logger log_;
  app::Health::Check check_;
  http::Router router_;
};

Task<http::Response> Accounts::find(http::Request& request) {
  const auto id = co_await request.path_param<std::int64_t>("id");
  const auto account = co_await database_.query_one<Account>("select id, owner, cents from accounts where id = $1", id);
  co_return http::Response::json(account);
}

Task<http::Response> Accounts::open(http::Request& request) {
  const auto wanted = co_await request.json<NewAccount>();
  const auto made =
      co_await on_error(Code::AlreadyExists, fail(Code::Conflict, "this owner has an account"),
                        database_.execute("insert into accounts (owner, cents) values ($owner, $cents)", wanted));
  opened_.add();
  log_.info("account opened", log::field("account", made.last_insert_id), log::field("cents", wanted.cents));
  co_return http::Response::json(http::Status::Created, Account{made.last_insert_id, wanted.owner, wanted.cents});
}

Task<http::Response> Accounts::transfer(http::Request& request) {
  const auto order = co_await request.json<Transfer>();
  const auto timing = took_.time();
  db::Transaction transaction = co_await database_.begin();
  const auto taken = co_await transaction.execute(
      "update accounts set cents = cents - $cents where id = $from_id and cents >= $cents", order);
  if (taken.changes == 0) co_return fail(Code::Conflict, "the account does not have this much");
  const auto given =
      co_await transaction.execute("update accounts set cents = cents + $cents where id = $to_id", order);
  if (given.changes == 0) co_return fail(Code::NotFound, "there is no such account");
  co_await transaction.commit();
  log_.info("transferred", order);
  co_return http::Response(http::Status::NoContent);
}

Task<int> Accounts::open_many(std::vector<NewAccount> wanted) {
  db::Transaction transaction = co_await database_.begin();
  int opened = 0;
  for (const NewAccount& one : wanted) {
    db::Savepoint point = co_await transaction.savepoint();
    const auto made =
        co_await attempt(transaction.execute("insert into accounts (owner, cents) values ($owner, $cents)", one));
    if (!made) continue;  // the savepoint is destroyed, and the insert undone
    co_await point.release();
    ++opened;
  }
  co_await transaction.commit();
  co_return opened;
}

Result<http::Response> Accounts::rate(http::Request& request) {
  KEEL_TRY(const auto currency, request.path_param<std::string_view>("currency"));
  KEEL_TRY(const std::int64_t rate, rates_.find(currency));
  return http::Response::text(http::Status::Ok, std::to_string(rate));
}

Task<http::Response> Accounts::price(http::Request& request) {
  const auto text = co_await request.path_param<std::string_view>("text");
  const auto price = co_await parse_price(text);
  const Result<std::int64_t> known = rates_.find(price.currency);
  if (!known && known.error().code() != Code::NotFound) co_return known.error().clone();
  co_return http::Response::json(Price{price.currency, known.value_or(price.rate)});
}

Task<http::Response> Accounts::terms(http::Request&) {
  const std::string text = co_await on_error(Code::NotFound, fail(Code::NotFound, "there are no terms yet"),
                                             read_whole("terms.txt", 64 * 1024));
  co_return http::Response::text(http::Status::Ok, text);
}

using TestAccounts = app::TestApp<Accounts>;

app::TestAppOptions with_accounts() { return {.settings = {"database.migrations=" ACCOUNTS_MIGRATIONS}}; }

TEST(Accounts, takes_nothing_while_the_disk_is_full) {
  TestAccounts app(with_accounts());
  EXPECT_EQ(app.post("/accounts", R"({"owner":"ada","cents":100})").status(), 201);

  app.disk().set_faults({.capacity_bytes = 0});
  EXPECT_EQ(app.post("/accounts", R"({"owner":"bob","cents":0})").status(), 503);
  EXPECT_EQ(app.get("/accounts/1").status(), 200);

  app.disk().set_faults({});
  EXPECT_EQ(app.post("/accounts", R"({"owner":"bob","cents":0})").status(), 201);
}

TEST(Accounts, counts_those_that_are_opened) {
  TestAccounts app(with_accounts());
  app.post("/accounts", R"({"owner":"ada","cents":100})");

  http::TestClient admin(app.admin());
  EXPECT_NE(admin.get("/metrics").body().find("accounts_opened_total 1"), std::string_view::npos);
}

TEST(ServiceDoc, transfers_all_or_nothing_and_tells_clients_why) {
  TestAccounts app(with_accounts());
  app.post("/accounts", R"({"owner":"ada","cents":100})");
  app.post("/accounts", R"({"owner":"bob","cents":0})");

  EXPECT_EQ(app.post("/transfers", R"({"from_id":1,"to_id":2,"cents":60})").status(), 204);
  EXPECT_EQ(app.post("/transfers", R"({"from_id":1,"to_id":2,"cents":60})").status(), 409);
  EXPECT_EQ(app.post("/transfers", R"({"from_id":1,"to_id":9,"cents":10})").status(), 404);
  EXPECT_EQ(app.get("/accounts/1").body(), R"({"id":1,"owner":"ada","cents":40})");
  EXPECT_EQ(app.get("/accounts/2").body(), R"({"id":2,"owner":"bob","cents":60})");
  EXPECT_EQ(app.post("/accounts", R"({"owner":"ada","cents":1})").status(), 409);
  EXPECT_EQ(app.get("/accounts/3").status(), 404);
  EXPECT_NE(app.log().find("transferred from_id=1 to_id=2 cents=60"), std::string::npos) << app.log();
}

TEST(ServiceDoc, keeps_what_did_not_fail_of_many) {
  TestAccounts app(with_accounts());
  const auto opened = app.run(app.service().open_many({{"ada", 1}, {"ada", 2}, {"bob", -3}, {"bob", 3}}));
  EXPECT_EQ(opened.value(), 2);
}

TEST(ServiceDoc, makes_responses_of_errors) {
  TestAccounts app(with_accounts());
  EXPECT_EQ(app.get("/rates/SEK").body(), "940");
  EXPECT_EQ(app.get("/rates/XXX").status(), 404);
  EXPECT_NE(app.get("/rates/XXX").body().find("no rate for XXX"), std::string_view::npos);
  EXPECT_EQ(app.get("/prices/SEK:1").body(), R"({"currency":"SEK","rate":940})");
  EXPECT_EQ(app.get("/prices/USD:90").body(), R"({"currency":"USD","rate":90})");
  EXPECT_EQ(app.get("/prices/USD").status(), 400);
  EXPECT_EQ(app.get("/prices/USD:many").status(), 400);
  EXPECT_EQ(app.get("/terms").status(), 404);
}

TEST(ServiceDoc, makes_errors_with_context) {
  const auto read = [](std::string_view line) -> Result<Price> { return parse_price(line).because("rates.txt"); };
  EXPECT_EQ(read("SEK:many").error().describe(), "rates.txt: expected a number");
  EXPECT_EQ(read("SEK:940").map([](const Price& price) { return price.rate; }).value_or(0), 940);
}

// The same parts, made by the container.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t day() const = 0;
};
class SystemClock : public Clock {
 public:
  std::int64_t day() const override { return Host::current().wall_ns() / 86'400'000'000'000; }
};
class Statements {
 public:
  Statements(db::Database& database, const Clock& clock) : database_(database), clock_(clock) {}
  Task<std::int64_t> total() {
    return database_.query_one<std::int64_t>("select coalesce(sum(cents), 0) from accounts");
  }
  std::int64_t day() const { return clock_.day(); }

 private:
  db::Database& database_;
  const Clock& clock_;
};

class Bank {
 public:
  explicit Bank(app::App& app) : services_(make(app)) {
    app.services(services_);
    router_.get("/total", *this, &Bank::total);
    app.serve(router_);
  }

 private:
  static app::Services make(app::App& app) {
    app::Container container;
    container.value(app.database());
    container.singleton<Clock, SystemClock>();
    container.singleton<Statements>();
    auto services = container.build();
    if (!services) app.fail_start(services.error());
    return *std::move(services);
  }
  Task<http::Response> total(http::Request&) {
    const auto cents = co_await services_.get<Statements>().total();
    co_return http::Response::text(http::Status::Ok, std::to_string(cents));
  }

  app::Services services_;
  http::Router router_;
};

TEST(ServiceDoc, has_parts_that_the_container_makes) {
  app::TestApp<Bank> app(with_accounts());
  EXPECT_EQ(app.get("/total").body(), "0");
}

}  // namespace
}  // namespace keel::app::service_doc_test
