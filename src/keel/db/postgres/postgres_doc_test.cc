// docs/postgres.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/decimal.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/db/postgres/options.h"
#include "keel/db/postgres/testing/fake_client.h"
#include "keel/db/postgres/testing/fake_server.h"
#include "keel/db/session.h"

namespace keel::postgres_doc_test {
namespace {

Result<db::postgres::ConnectOptions> where() {
  return db::postgres::ConnectOptions::parse("postgres://app@db1,db2:5433/shop?sslmode=verify-full",
                                             db::postgres::process_environment);
}

struct Payment {
  std::int64_t id = 0;              // int2, int4, int8
  Uuid order_id;                    // uuid
  Decimal amount;                   // numeric: each digit as it is stored, 19.90
  Timestamp paid_at;                // timestamptz, or timestamp taken for UTC
  std::string tags;                 // text[]: "{gift,\"two words\"}"
  std::optional<std::string> note;  // text, or NULL
};
Task<std::vector<Payment>> payments_since(db::Session& session, Timestamp since) {
  co_return co_await session.query_many<Payment>(
      "select id, order_id, amount, paid_at, tags, note from payments where paid_at >= $1", since);
}

std::string_view reason(const Error& error) {
  if (db::postgres::is_retryable(error)) return "do all of the transaction again";
  const db::postgres::ServerError* server = db::postgres::server_error(error);
  if (server != nullptr && server->constraint == "users_email_key") return "this address is taken";
  return "another error";
}

struct Users : db::postgres::testing::FakeDatabase {
  db::postgres::testing::FakeStatement prepare(std::string_view) override {
    return {.parameters = {db::postgres::oid::int8}, .columns = {{"name", db::postgres::oid::text}}};
  }
  db::postgres::testing::FakeResult execute(std::uint64_t, std::string_view,
                                            std::span<const db::postgres::testing::FakeValue> arguments) override {
    if (arguments[0] == "1") return {.rows = {{"ada"}}};
    return {};
  }
};

Task<std::int64_t> add_account(db::Session& session, std::string owner) {
  const db::Written written = co_await session.execute("insert into accounts (owner) values ($1) returning id", owner);
  co_return written.last_insert_id;
}

Task<std::int64_t> next_ticket(db::Session& session) {
  co_return co_await session.query_one<std::int64_t>("select take_ticket() -- volatile");
}

Task<> record_visit(db::Session& session, std::string page) {
  co_await session.execute("insert into visits (page) values ($1) -- group", page);
}

Task<> restock(db::Session& session, std::string sku, int wanted) {
  auto body = [&](db::Transaction& transaction) -> Task<> {
    const auto there =
        co_await transaction.query_one<int>("select coalesce(sum(quantity), 0)::int from stock where sku = $1", sku);
    if (there >= wanted) co_return;
    co_await transaction.execute("insert into stock (sku, quantity) values ($1, $2)", sku, wanted - there);
  };
  co_await session.transact({.isolation = db::Isolation::Serializable}, body);
}

Task<double> mean_quantity(db::Session& session) {
  db::Transaction report = co_await session.begin({.isolation = db::Isolation::RepeatableRead, .read_only = true});
  const auto rows = co_await report.query_one<std::int64_t>("select count(*) from stock");
  const auto items = co_await report.query_one<std::int64_t>("select coalesce(sum(quantity), 0) from stock");
  co_return rows == 0 ? 0 : static_cast<double>(items) / static_cast<double>(rows);
}

struct Item {
  std::string sku;
  int quantity = 0;
};
Task<std::size_t> count_items(db::Session& session, int least) {
  int items = 0;
  auto add = [&](std::span<const Item> some) -> Task<> {
    for (const Item& item : some) items += item.quantity;
    co_return;
  };
  co_await session.stream<Item>("select sku, quantity from stock where quantity >= $1", add, least);
  co_return static_cast<std::size_t>(items);
}

Task<> fill(db::postgres::CopyRows<Item>& rows) {
  for (int i = 0; i < 1000; ++i) {
    const Item item{"sku-" + std::to_string(i), 1};
    co_await rows.write(item);
  }
}
Task<std::size_t> import_items(db::postgres::Database& database) {
  co_return co_await database.copy_in<Item>("stock", fill);
}
Task<std::size_t> export_items(db::postgres::Database& database) {
  auto print = [](std::span<const Item>) -> Task<> { co_return; };
  co_return co_await database.copy_out<Item>("select sku, quantity from stock", print);
}

Task<std::string> wait_for_news(db::postgres::Database& database) {
  db::postgres::Notifications news = co_await database.listen("news");
  co_await database.execute("select pg_notify('news', 'the stock has changed')");
  const db::postgres::Notification one = co_await news.next();
  co_return one.is_gap ? std::string("look at everything again") : one.payload;
}

TEST(PostgresPage, says_where_the_server_is) {
  const auto options = where();
  ASSERT_TRUE(options.is_ok());
  EXPECT_EQ(options->describe(), "app@db1:5432,db2:5433/shop");
}

TEST(PostgresPage, tells_errors_apart) {
  EXPECT_EQ(reason(db::postgres::error_of({.sqlstate = "40001"})), "do all of the transaction again");
  EXPECT_EQ(reason(db::postgres::error_of({.sqlstate = "23505", .constraint = "users_email_key"})),
            "this address is taken");
  EXPECT_EQ(reason(Error(Code::Internal, "x")), "another error");
}

TEST(PostgresPage, reads_rows_of_every_database_alike) {
  EXPECT_NE(&payments_since, nullptr) << "database_test.cc runs such functions";
}

TEST(PostgresPage, tests_without_a_server) {
  Users users;
  db::postgres::testing::FakeServer server(users);
  db::postgres::testing::FakeClient client(server);
  ASSERT_TRUE(client.log_in({.user = "app"}).is_ok());
  const db::Value one[] = {db::Value(1)};
  const db::postgres::Oid types[] = {db::postgres::oid::int8};
  ASSERT_TRUE(client.encoder().parse("", "select name from users where id = $1").is_ok());
  ASSERT_TRUE(client.encoder().bind("", "", one, types, {}).is_ok());
  ASSERT_TRUE(client.encoder().execute("").is_ok());
  client.encoder().sync();
  EXPECT_EQ(client.responses(), "1 2 D C Z");
}

class PostgresDoc : public db::postgres::testing::RealDatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, PostgresDoc, db::postgres::testing::real_engines(), io::testing::name_of_engine);

TEST_P(PostgresDoc, does_what_it_says) {
  open();
  script(
      "drop table if exists accounts, visits, tickets, stock; drop function if exists take_ticket;"
      "create table accounts (id bigint generated always as identity primary key, owner text not null);"
      "create table visits (page text not null);"
      "create table stock (sku text not null, quantity int not null);"
      "create table tickets (n bigint); insert into tickets values (0);"
      "create function take_ticket() returns bigint language sql as 'update tickets set n = n + 1 returning n'");

  EXPECT_EQ(run(add_account(*database_, "ada")).value(), 1);
  EXPECT_EQ(run(add_account(*database_, "bob")).value(), 2);
  EXPECT_EQ(run(next_ticket(*database_)).value(), 1);
  EXPECT_EQ(run(next_ticket(*database_)).value(), 2);
  EXPECT_TRUE(run(record_visit(*database_, "/")));
  EXPECT_EQ(integer("select count(*) from visits"), 1);
  EXPECT_EQ(run(import_items(*database_)).value(), 1000u);
  EXPECT_TRUE(run(restock(*database_, "sku-7", 5)));
  EXPECT_EQ(run(count_items(*database_, 1)).value(), 1004u);
  EXPECT_EQ(run(mean_quantity(*database_)).value(), 1004.0 / 1001);
  EXPECT_EQ(run(export_items(*database_)).value(), 1001u);
  EXPECT_EQ(run(wait_for_news(*database_)).value(), "the stock has changed");
}

}  // namespace
}  // namespace keel::postgres_doc_test
