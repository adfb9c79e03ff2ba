// docs/idempotency.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc). And app/idempotency.h.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keel/app/idempotency.h"
#include "keel/app/testing/test_app.h"
#include "keel/contract/response.h"
#include "keel/data/decimal.h"
#include "keel/data/timestamp.h"
#include "keel/db/postgres/testing/real_server.h"
#include "keel/http.h"

#define PAYMENTS_MIGRATIONS KEEL_SOURCE_DIR "/src/keel/app/testing/payments_migrations"

namespace keel::app::idempotency_doc_test {
namespace {

using db::postgres::testing::RealServer;

struct NewPayment {
  std::string customer;
  Decimal amount;
};
struct Payment {
  std::int64_t id = 0;
  Decimal amount;
};

std::string_view client_of(http::Request& request) { return request.header("X-Customer").value_or(""); }

class Payments {
 public:
  explicit Payments(app::App& app) : once_(app) {
    router_.post("/payments", *this, &Payments::pay);
    app.serve(router_);
  }

 private:
  Task<http::Response> pay(http::Request& request) {
    auto body = [&](db::Transaction& transaction) -> Task<http::Response> {
      const auto payment = co_await request.json<NewPayment>();
      const auto id = co_await transaction.query_one<std::int64_t>(
          "insert into payments (customer, amount) values ($customer, $amount) returning id", payment);
      co_return http::Response::json(http::Status::Created, Payment{id, payment.amount});
    };
    co_return co_await once_.run(request, client_of(request), body);
  }

  app::Idempotency once_;
  http::Router router_;
};

http::ClientRequest payment(std::string_view key, std::string_view amount = "19.90",
                            std::string_view path = "/payments", std::string_view customer = "ada") {
  http::ClientRequest request(http::Method::Post, path);
  request.body(R"({"customer":"ada","amount":")" + std::string(amount) + "\"}", "application/json");
  request.header("X-Customer", customer);
  if (!key.empty()) request.header("Idempotency-Key", key);
  return request;
}

TEST(IdempotencyDoc, takes_a_payment_once) {
  app::TestApp<Payments> app({.settings = {"database.migrations=" PAYMENTS_MIGRATIONS}});

  const auto first = app.send(payment("8e03978e-40d5-43dd-bc93-6894a57f9324"));
  const auto again = app.send(payment("8e03978e-40d5-43dd-bc93-6894a57f9324"));

  EXPECT_EQ(first.status(), 201);
  EXPECT_EQ(first.body(), R"({"id":1,"amount":"19.90"})");
  EXPECT_FALSE(first.header("Idempotent-Replayed"));
  EXPECT_EQ(again.status(), 201);
  EXPECT_EQ(again.body(), first.body());
  EXPECT_EQ(again.header("Content-Type"), "application/json");
  EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
}

// What a generated response looks like.
class Answer : public contract::Response {
 public:
  static Answer created(std::string_view text) {
    return Answer(http::Response::text(http::Status::Created, text, "text/csv").header("Location", "/payments/1"));
  }

 private:
  using contract::Response::Response;
};

// Its paths say what goes wrong.
class Bank {
 public:
  explicit Bank(app::App& app) : database_(app.database()), once_(app, options()) {
    for (const char* path : {"/ok", "/slow", "/late", "/error", "/refused", "/broken", "/stream", "/empty", "/field"}) {
      router_.post(path, *this, &Bank::pay);
    }
    router_.post("/contract", *this, &Bank::pay_by_contract).get("/count", *this, &Bank::count);
    router_.post("/other/{end}", *this, &Bank::act_as_another_process);
    app.serve(router_);
  }
  static inline bool is_required = true;
  // A handler that has its key sets the first, and waits for the second.
  static inline std::atomic<bool> is_inside = false;
  static inline std::atomic<bool> may_end = false;

 private:
  static IdempotencyOptions options() { return {.retention = 24_h, .required = is_required}; }

  Task<http::Response> pay(http::Request& request) {
    auto body = [&](db::Transaction& transaction) -> Task<http::Response> {
      const auto payment = co_await request.json<NewPayment>();
      co_await transaction.execute("insert into payments (customer, amount) values ($1, $2)", payment.customer,
                                   payment.amount);
      const auto id = co_await transaction.query_one<std::int64_t>("select count(*) from payments");
      http::Response response = co_await respond(request.path(), id);
      co_return response;
    };
    http::Response response = co_await once_.run(request, client_of(request), body);
    if (request.path() == "/late") co_await sleep_for(10_s);
    co_return response;
  }
  static Task<http::Response> respond(std::string_view path, std::int64_t id) {
    if (path == "/slow") co_await wait_inside();
    if (path == "/error") co_return fail(Code::Conflict, "no money");
    if (path == "/refused") co_return http::refuse(http::Status::Conflict, "no money");
    if (path == "/broken") co_return http::refuse(http::Status::ServiceUnavailable, "broken");
    if (path == "/stream") co_return http::Response::stream(http::Status::Ok, "text/plain", &write);
    if (path == "/empty") co_return http::Response(http::Status::NoContent);
    if (path == "/field") {
      co_return http::Response::text(http::Status::Ok, "a,b", std::string("text/csv"))
          .header("Location", "/payments/1");
    }
    co_return http::Response::text(http::Status::Created, std::to_string(id));
  }
  static Task<> wait_inside() {
    is_inside = true;
    while (!may_end) co_await sleep_for(10_ms);
  }
  static Task<> write(http::BodyWriter& out) { co_await out.write("text"); }

  Task<http::Response> pay_by_contract(http::Request& request) {
    auto body = [&](db::Transaction& transaction) -> Task<Answer> {
      co_await transaction.execute("insert into payments (customer, amount) values ('ada', '1.00')");
      co_return Answer::created("1.00");
    };
    Answer answer = co_await once_.run(request, "contract", body);
    co_return std::move(answer).response();
  }
  Task<http::Response> act_as_another_process(http::Request& request) {
    const auto end = co_await request.path_param<std::string_view>("end");
    db::Transaction transaction = co_await database_.begin();
    co_await transaction.execute(
        "insert into idempotency_keys (client, idempotency_key, fingerprint, status, content_type, fields, content, "
        "created_at) values ('ada', 'a', 'another', 201, '', '', $1, $2)",
        std::span<const std::byte>(), Timestamp::now());
    co_await wait_inside();
    if (end == "commit") co_await transaction.commit();
    co_return http::Response(http::Status::NoContent);
  }
  Task<http::Response> count(http::Request&) {
    const auto count = co_await database_.query_one<std::int64_t>("select count(*) from payments");
    co_return http::Response::text(http::Status::Ok, std::to_string(count));
  }

  db::Session& database_;
  app::Idempotency once_;
  http::Router router_;
};

class OnEachDatabase : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_postgres() && !RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
    Bank::is_required = true;
    Bank::is_inside = Bank::may_end = false;
  }
  static void wait_until_inside(TestApp<Bank>& app) {
    for (int i = 0; i < 3000 && !Bank::is_inside; ++i) app.advance(10_ms);
    ASSERT_TRUE(Bank::is_inside);
  }
  static bool is_postgres() { return std::string_view(GetParam()) == "postgres"; }
  static TestAppOptions options() {
    TestAppOptions options;
    options.settings = {std::string("database.type=") + GetParam(), "database.migrations=" PAYMENTS_MIGRATIONS,
                        "database.hold_max_sec=60"};
    if (is_postgres()) {
      options.real_time = true;
      static RealServer server;
      options.settings.push_back("database.url=" + server.make_database());
    }
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Idempotency, OnEachDatabase, ::testing::Values("sqlite", "postgres"),
                         [](const auto& one) { return std::string(one.param); });

TEST_P(OnEachDatabase, gives_the_stored_response_for_the_same_key_and_422_for_another_request) {
  TestApp<Bank> app(options());

  EXPECT_EQ(app.send(payment("a", "1.50", "/ok")).body(), "1");
  EXPECT_EQ(app.send(payment("\"a\"", "1.50", "/ok")).body(), "1") << "with quotes it is the same key";
  EXPECT_EQ(app.send(payment("b", "1.50", "/ok")).body(), "2");
  EXPECT_EQ(app.send(payment("a", "1.50", "/ok", "bob")).body(), "3") << "another client has other keys";

  using Other = std::pair<const char*, const char*>;
  for (const auto& [amount, path] : {Other("1.51", "/ok"), Other("1.50", "/ok?x=1"), Other("1.50", "/slow")}) {
    const auto rejected = app.send(payment("a", amount, path));
    EXPECT_EQ(rejected.status(), 422);
    EXPECT_NE(rejected.body().find("this Idempotency-Key was sent with another request"), std::string_view::npos);
  }
  EXPECT_EQ(app.get("/count").body(), "3");
}

TEST_P(OnEachDatabase, stores_each_part_of_a_response) {
  TestApp<Bank> app(options());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(app.send(payment("empty", "1", "/empty")).status(), 204);
    const auto field = app.send(payment("field", "1", "/field"));
    EXPECT_EQ(field.body(), "a,b");
    EXPECT_EQ(field.header("Content-Type"), "text/csv");
    EXPECT_EQ(field.header("Location"), "/payments/1");
    EXPECT_EQ(field.header("Idempotent-Replayed").has_value(), i == 1);
    const auto contract = app.send(payment("contract", "1", "/contract"));
    EXPECT_EQ(contract.status(), 201);
    EXPECT_EQ(contract.body(), "1.00");
    EXPECT_EQ(contract.header("Content-Type"), "text/csv");
    EXPECT_EQ(contract.header("Location"), "/payments/1");
    EXPECT_EQ(app.send(payment("refused", "1", "/refused")).status(), 409);
  }
  EXPECT_EQ(app.get("/count").body(), "4");
}

TEST_P(OnEachDatabase, undoes_and_does_not_store_what_fails) {
  TestApp<Bank> app(options());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(app.send(payment("error", "1", "/error")).status(), 409);
    EXPECT_EQ(app.send(payment("broken", "1", "/broken")).status(), 503);
    EXPECT_EQ(app.send(payment("stream", "1", "/stream")).status(), 500);
    EXPECT_EQ(app.send(payment("text", "none", "/ok")).status(), 422) << "the body is no payment";
  }
  EXPECT_EQ(app.get("/count").body(), "0");
  EXPECT_EQ(app.send(payment("error", "1", "/ok")).body(), "1") << "the key was not used up";
}

TEST_P(OnEachDatabase, rejects_a_repetition_while_the_request_runs) {
  TestApp<Bank> app(options());
  app.get("/count");
  auto first = app.begin(payment("a", "1", "/slow"));
  wait_until_inside(app);

  const auto second = app.send(payment("a", "1", "/slow"));
  EXPECT_EQ(second.status(), 409);
  EXPECT_EQ(second.header("Retry-After"), "1");

  Bank::may_end = true;
  EXPECT_EQ(first.response().body(), "1");
  EXPECT_EQ(app.send(payment("a", "1", "/slow")).body(), "1");
  EXPECT_EQ(app.get("/count").body(), "1");
}

TEST_P(OnEachDatabase, waits_for_another_process_that_has_the_key) {
  for (const bool is_committed : {false, true}) {
    TestApp<Bank> app(options());
    app.get("/count");
    Bank::is_inside = Bank::may_end = false;
    auto other = app.begin({http::Method::Post, is_committed ? "/other/commit" : "/other/undo"});
    wait_until_inside(app);
    auto waiting = app.begin(payment("a", "1", "/ok"));
    app.advance(200_ms);
    EXPECT_FALSE(waiting.has_ended());
    Bank::may_end = true;
    EXPECT_EQ(waiting.response().status(), is_committed ? 422 : 201);
    EXPECT_EQ(other.response().status(), 204);
    EXPECT_EQ(app.get("/count").body(), is_committed ? "0" : "1");
  }
}

TEST_P(OnEachDatabase, rejects_a_missing_and_an_invalid_key) {
  TestApp<Bank> app(options());
  EXPECT_EQ(app.send(payment("", "1", "/ok")).status(), 400);
  EXPECT_EQ(app.send(payment("a,b", "1", "/ok")).status(), 400);
  auto twice = payment("a", "1", "/ok");
  twice.header("Idempotency-Key", "b");
  EXPECT_EQ(app.send(std::move(twice)).status(), 400);
  EXPECT_EQ(app.get("/count").body(), "0");
}

TEST_P(OnEachDatabase, runs_without_a_key_where_none_is_required) {
  Bank::is_required = false;
  TestApp<Bank> app(options());
  EXPECT_EQ(app.send(payment("", "1", "/ok")).body(), "1");
  EXPECT_EQ(app.send(payment("", "1", "/ok")).body(), "2");
  EXPECT_EQ(app.send(payment("", "1", "/broken")).status(), 503);
  EXPECT_EQ(app.get("/count").body(), "2");
}

TestAppOptions with_payments(TestAppOptions options = {}) {
  options.settings.push_back("database.migrations=" PAYMENTS_MIGRATIONS);
  return options;
}

TEST(Idempotency, has_stored_the_response_when_the_power_fails_before_it_is_sent) {
  Bank::is_required = true;
  TestApp<Bank> app(with_payments());
  app.get("/count");
  {
    auto lost = app.begin(payment("a", "1", "/late"));
    app.advance(1_s);  // It is committed, and waits.
    EXPECT_FALSE(lost.has_ended());
    app.crash();
  }
  const auto again = app.send(payment("a", "1", "/late"));
  EXPECT_EQ(again.body(), "1");
  EXPECT_EQ(again.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(app.get("/count").body(), "1");
}

TEST(Idempotency, has_one_effect_for_each_key_whatever_fails) {
  Bank::is_required = true;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TestApp<Bank> app(with_payments(TestAppOptions::faulty(seed)));
    app.crash_within(60 + seed);
    std::map<std::string, std::string> responses;
    for (int key = 0; key < 5; ++key) {
      const std::string name = "key-" + std::to_string(key);
      for (int attempts = 0; attempts < 200 && !responses.contains(name); ++attempts) {
        const auto response = app.send(payment(name, "1", "/ok"));
        if (response.status() == 201) responses[name] = response.body();
        if (!app.has_power()) app.restart();
        if (response.status() == 409) app.advance(1_s);
      }
      ASSERT_TRUE(responses.contains(name)) << app.replay();
    }
    app.restart();
    for (const auto& [name, body] : responses) {
      std::string again;
      for (int attempts = 0; attempts < 200 && again.empty(); ++attempts) {
        const auto response = app.send(payment(name, "1", "/ok"));
        if (response.status() == 201) again = response.body();
      }
      EXPECT_EQ(again, body) << app.replay();
    }
    std::string count;
    for (int attempts = 0; attempts < 200 && count.empty(); ++attempts) count = app.get("/count").body();
    EXPECT_EQ(count, "5") << app.replay();
  }
}

TEST(Idempotency, forgets_a_response_after_its_retention) {
  Bank::is_required = true;
  TestApp<Bank> app(with_payments());
  EXPECT_EQ(app.send(payment("a", "1", "/ok")).body(), "1");
  app.advance(23_h);
  EXPECT_EQ(app.send(payment("a", "1", "/ok")).body(), "1");
  app.advance(3_h);
  EXPECT_EQ(app.send(payment("a", "1", "/ok")).body(), "2");
  const auto rows = app.run([](db::Session& session) -> Task<std::int64_t> {
    co_return co_await session.query_one<std::int64_t>("select count(*) from idempotency_keys");
  }(app.database()));
  EXPECT_EQ(rows.value(), 1);
}

TEST(Idempotency, does_not_start_without_its_table) {
  Bank::is_required = true;
  TestApp<Bank> app({.settings = {"database.migrations="}});
  try {
    app.get("/count");
    ADD_FAILURE() << "it has started";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("add the migration of docs/idempotency.md"), std::string::npos)
        << error.what();
  }
}

TEST(Idempotency, reads_a_key_in_both_of_its_forms) {
  const auto key = [](std::string_view field) { return Idempotency::parse_key(field).value_or("none"); };
  EXPECT_EQ(key("8e03978e-40d5-43dd-bc93-6894a57f9324"), "8e03978e-40d5-43dd-bc93-6894a57f9324");
  EXPECT_EQ(key("\"a b, c; d\""), "a b, c; d");
  EXPECT_EQ(key("\"a\\\"b\\\\c\""), "a\"b\\c");
  EXPECT_EQ(key(std::string(255, 'a')), std::string(255, 'a'));
  for (const std::string& wrong :
       {std::string(), std::string("\"\""), std::string("\""), std::string("\"a"), std::string("a\""),
        std::string("\"a\"b"), std::string("\"a\"; p=1"), std::string("\"a\\b\""), std::string("\"a\\"),
        std::string("a b"), std::string("a, b"), std::string("a\xC3\xA4"), std::string("\"\xC3\xA4\""),
        std::string(256, 'a'), '"' + std::string(256, 'a') + '"'}) {
    EXPECT_EQ(key(wrong), "none") << wrong;
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool is_visible = byte > 0x20 && byte < 0x7F;
    const bool is_bare = is_visible && c != '"' && c != ',' && c != ';' && c != '\\';
    EXPECT_EQ(key(std::string("a") + c + 'b') != "none", is_bare) << byte;
    const bool is_quoted = (is_visible || c == ' ') && c != '"' && c != '\\';
    EXPECT_EQ(key(std::string("\"a") + c + "b\"") != "none", is_quoted) << byte;
  }
}

}  // namespace
}  // namespace keel::app::idempotency_doc_test
