// Results at the server's own bounds, and those that are none, from a real server.

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/database_test.h"

namespace keel::db::postgres::results_test {
namespace {

class PostgresResults : public testing::RealDatabaseTest {};
INSTANTIATE_TEST_SUITE_P(, PostgresResults, testing::real_engines(), io::testing::name_of_engine);

TEST_P(PostgresResults, may_have_as_many_columns_as_a_table) {
  open();
  std::string columns;
  for (int i = 0; i < 1600; ++i)
    columns += (i == 0 ? "c" : ", c") + std::to_string(i) + " int default " + std::to_string(i);
  script("drop table if exists wide; create table wide (" + columns + "); insert into wide default values");
  std::int64_t sum = 0;
  int count = 0;
  auto add = [&](const Row& row) {
    count = row.columns();
    for (int i = 0; i < row.columns(); ++i) sum += row.integer(i);
  };

  const auto read = run(database_->query("select * from wide", add));

  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(count, 1600);
  EXPECT_EQ(sum, 1600 * 1599 / 2);
}

TEST_P(PostgresResults, may_have_a_row_of_many_mib_both_ways) {
  open();
  script("drop table if exists large; create table large (a text)");
  const std::string text(20u << 20, 'x');

  const auto written = run(database_->execute("insert into large values ($1)", text));
  ASSERT_TRUE(written) << written.error().describe();
  std::string found;
  auto keep = [&](const Row& row) { found = row.text(0); };
  const auto read = run(database_->query("select a from large", keep));

  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_TRUE(found == text) << found.size();
}

TEST_P(PostgresResults, that_are_larger_than_a_message_may_be_end_the_connection_and_not_the_database) {
  DatabaseOptions options;
  options.connections = 1;
  options.message_bytes_max = 1 << 20;
  open(std::move(options));
  auto ignore = [](const Row&) {};

  const auto read = run(database_->query("select repeat('x', 2000000)", ignore));

  ASSERT_FALSE(read);
  EXPECT_TRUE(until([&] { return database_->stats().connections == 1; }));
  EXPECT_EQ(integer("select 3"), 3);
}

TEST_P(PostgresResults, of_an_empty_text_are_none) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  auto ignore = [](const Row&) {};

  const auto read = run(database_->query("", ignore));
  const auto commented = run(database_->query("-- nothing", ignore));
  const auto written = run(database_->execute(""));

  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(*read, 0u);
  EXPECT_TRUE(commented) << commented.error().describe();
  ASSERT_TRUE(written) << written.error().describe();
  EXPECT_EQ(written->changes, 0);
  EXPECT_EQ(integer("select 3"), 3);
}

Task<std::int64_t> one(Session& session, int which) {
  switch (which) {
    case 0:
      co_return co_await session.query_one<std::int64_t>("select 1::bigint where false");
    case 1:
      co_return co_await session.query_one<std::int64_t>("create temp table if not exists gives_no_rows (a int)");
    case 2:
      co_return co_await session.query_one<std::int64_t>("select null::bigint");
    default:
      co_return co_await session.query_one<std::int64_t>("select 4::bigint");
  }
}

TEST_P(PostgresResults, of_one_row_that_is_not_there_are_errors) {
  open();

  const auto none = run(one(*database_, 0));
  const auto no_rows = run(one(*database_, 1));
  const auto null = run(one(*database_, 2));

  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::NotFound) << none.error().describe();
  ASSERT_FALSE(no_rows);
  EXPECT_EQ(no_rows.error().code(), Code::NotFound) << no_rows.error().describe();
  ASSERT_FALSE(null);
  EXPECT_EQ(run(one(*database_, 3)).value(), 4);
}

TEST_P(PostgresResults, of_several_statements_in_one_text_are_an_error) {
  open();
  auto ignore = [](const Row&) {};

  const auto both = run(database_->query("select 1; select 2", ignore));

  ASSERT_FALSE(both);
  EXPECT_NE(both.error().describe().find("multiple commands"), std::string::npos) << both.error().describe();
}

TEST_P(PostgresResults, keep_each_part_of_the_servers_error) {
  open();
  script(
      "drop table if exists ages; create table ages (age int constraint positive check (age > 0), name text not null); "
      "create or replace function raise_all() returns int language plpgsql as $$ begin raise exception 'no more' using "
      "detail = 'all are gone', hint = 'order some', errcode = 'KE001', schema = 's', table = 't', column = 'c', "
      "constraint = 'k'; end $$");

  const auto check = run(database_->execute("insert into ages values (-1, 'ada')"));
  const auto null = run(database_->execute("insert into ages values (1, null)"));
  const auto raised = run(database_->execute("select raise_all()"));

  ASSERT_FALSE(check);
  EXPECT_EQ(server_error(check.error())->constraint, "positive");
  EXPECT_EQ(server_error(check.error())->table, "ages");
  EXPECT_EQ(server_error(check.error())->schema, "public");
  EXPECT_EQ(server_error(check.error())->detail, "Failing row contains (-1, ada).");
  ASSERT_FALSE(null);
  EXPECT_EQ(server_error(null.error())->column, "name");
  ASSERT_FALSE(raised);
  const ServerError* const all = server_error(raised.error());
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->sqlstate, "KE001");
  EXPECT_EQ(all->detail, "all are gone");
  EXPECT_EQ(all->hint, "order some");
  EXPECT_EQ(all->schema + all->table + all->column + all->constraint, "stck");
  EXPECT_NE(all->where.find("PL/pgSQL"), std::string::npos);
}

TEST_P(PostgresResults, follow_the_settings_of_the_url) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  script(
      "drop schema if exists aside cascade; create schema aside; create table aside.shelf (a int); "
      "insert into aside.shelf values (7)");
  DatabaseOptions other;
  other.connections = 1;
  other.url = testing::shared_server().url(
      "&application_name=shelves&options=-c%20search_path%3Daside%20-c%20timezone%3DAsia%2FTokyo");
  open(std::move(other));

  EXPECT_EQ(integer("select a from shelf"), 7);
  EXPECT_EQ(integer("select count(*) from pg_stat_activity where application_name = 'shelves'"), 1);
  // An instant is one in every time zone.
  EXPECT_EQ(integer("select (extract(epoch from timestamptz '2026-11-24 09:00:00+09'))::bigint"), 1'795'478'400);
}

TEST_P(PostgresResults, are_not_disturbed_by_notices) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  script(
      "create or replace function tell() returns int language plpgsql as $$ begin for i in 1..1000 loop raise notice "
      "'step %', i; end loop; return 5; end $$");

  for (int i = 0; i < 3; ++i) EXPECT_EQ(integer("select tell()"), 5);
}

Task<std::int64_t> across_a_change(Session& session) {
  Transaction transaction = co_await session.begin();
  const auto before = co_await transaction.query_one<std::int64_t>("select a from turning");
  co_await transaction.execute("alter table turning alter a type bigint");
  const auto after = co_await transaction.query_one<std::int64_t>("select a from turning");
  co_await transaction.commit();
  co_return before + after;
}

TEST_P(PostgresResults, come_within_a_transaction_that_changes_their_types) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  script("drop table if exists turning; create table turning (a int); insert into turning values (4)");

  const auto sum = run(across_a_change(*database_));

  ASSERT_TRUE(sum) << sum.error().describe();
  EXPECT_EQ(*sum, 8);
}

}  // namespace
}  // namespace keel::db::postgres::results_test
