#include "keel/db/postgres/migrations.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "keel/db/postgres/internal/database_test.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"

namespace keel::db::postgres::migrations_test {
namespace {

using testing::RealServer;
using testing::shared_server;

class PostgresMigrations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RealServer::is_installed()) GTEST_SKIP() << RealServer::missing;
    static int made = 0;
    name_ = "m" + std::to_string(++made);
    db::testing::OwnLoop loop;
    auto database = Database::make(of_database("postgres")).value();
    const auto created = loop.run(database->run_script("create database " + name_));
    EXPECT_TRUE(created) << created.error().describe();
    database->detach(loop.loop);
    while (!database->is_detached()) loop.turn();
  }
  static DatabaseOptions of_database(const std::string& name) {
    DatabaseOptions options;
    options.url = "postgres:///" + name + "?host=" + shared_server().folder() +
                  "&port=" + std::to_string(shared_server().port()) + "&user=keel";
    options.uses_environment = false;
    return options;
  }
  DatabaseOptions at_server() const { return of_database(name_); }
  Result<Migrated> apply() {
    DatabaseOptions options = at_server();
    options.migrations = folder_.path();
    return migrate(std::move(options));
  }

  static DatabaseOptions options_of(const DatabaseOptions& from) {
    DatabaseOptions options;
    options.url = from.url;
    options.uses_environment = false;
    options.migrations = from.migrations;
    return options;
  }
  // "done", or the error.
  std::string run(const std::string& script) {
    db::testing::OwnLoop loop;
    auto database = Database::make(at_server()).value();
    const auto ran = loop.run(database->run_script(script));
    database->detach(loop.loop);
    while (!database->is_detached()) loop.turn();
    return ran ? "done" : ran.error().describe();
  }

  db::testing::Folder folder_;
  std::string name_;
};

TEST_F(PostgresMigrations, are_applied_in_order_each_once) {
  folder_.write("0001_users.sql", "create table users (id bigint primary key);\ninsert into users values (1);\n");

  const auto first = apply();
  const auto second = apply();

  ASSERT_TRUE(first) << first.error().describe();
  EXPECT_EQ(first->applied, 1);
  EXPECT_EQ(first->version, 1);
  ASSERT_TRUE(second) << second.error().describe();
  EXPECT_EQ(second->applied, 0);
}

TEST_F(PostgresMigrations, name_the_line_of_a_mistake_and_leave_nothing_of_the_file) {
  folder_.write("0001_bad.sql", "create table half (id int);\n\ncreate tabel other (id int);\n");

  const auto applied = apply();

  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code(), Code::InvalidArgument);
  EXPECT_TRUE(applied.error().message().starts_with("migrations: 0001_bad.sql:3: ")) << applied.error().describe();
  folder_.write("0001_bad.sql", "create table half (id int);\ncreate table other (id int);\n");
  EXPECT_TRUE(apply());
}

TEST_F(PostgresMigrations, are_one_transaction_each) {
  folder_.write("0001_ends.sql", "create table first (id int);\ncommit;\ncreate table second (id int);\n");

  const auto applied = apply();

  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().message(),
            "migrations: 0001_ends.sql:2: a migration runs in one transaction: remove "
            "'commit'");
}

TEST_F(PostgresMigrations, are_undone_done_again_and_looked_at) {
  folder_.write("0001_a.sql", "create table a (id int);");
  folder_.write("0001_a.down.sql", "drop table a;");
  folder_.write("0002_b.sql", "create table b (id int);");
  folder_.write("0002_b.down.sql", "drop table b;");
  folder_.write("0003_c.sql", "create table c (id int);");
  DatabaseOptions options = at_server();
  options.migrations = folder_.path();

  EXPECT_EQ(migrate(options_of(options), 2)->version, 2);
  const auto files = migration_status(options_of(options));
  ASSERT_TRUE(files) << files.error().describe();
  EXPECT_TRUE((*files)[1].is_applied && (*files)[1].has_down && (*files)[1].applied_at > 0);
  EXPECT_FALSE((*files)[2].is_applied);
  EXPECT_EQ(migrate_redo(options_of(options))->version, 2);
  folder_.write("0002_b.sql", "create tabel b;");
  EXPECT_EQ(migrate_redo(options_of(options)).error().code(), Code::InvalidArgument);
  folder_.write("0002_b.sql", "create table b (id int);");
  EXPECT_TRUE((*migration_status(options_of(options)))[1].is_applied) << "a mistake leaves it as it was";
  EXPECT_EQ(migrate_down(options_of(options), 2)->applied, 2);
  EXPECT_EQ(apply()->applied, 3);
  const auto refused = migrate_down(options_of(options));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().starts_with("migrations: 0003_c.sql cannot be undone"));
}

TEST_F(PostgresMigrations, take_what_runs_in_no_transaction_and_go_on_where_they_stopped) {
  folder_.write("0001_a.sql", "create table a (id int); insert into a values (1), (1);");
  const std::string head = "-- keel: no transaction\ninsert into a values (2);\n";
  folder_.write("0002_b.sql", head + "create index concurrently by_id on a (id);\n");
  const auto unrepeatable = apply();
  ASSERT_FALSE(unrepeatable);
  EXPECT_EQ(unrepeatable.error().message(),
            "migrations: 0002_b.sql:3: must be able to run again after an interruption: create the object `if not "
            "exists`, and drop it `if exists`");
  const auto changed = [&] {
    folder_.write("0002_b.sql", head + "create index concurrently if not exists by_id on a (id);\n");
    return apply();
  }();
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message().find("0002_b.sql: has changed since the first 1 of its statements ran"),
            std::string::npos)
      << changed.error().describe();
}

// What a build of an index that was interrupted leaves is no index; `if not exists` alone would keep it.
TEST_F(PostgresMigrations, make_an_index_anew_that_was_left_invalid) {
  folder_.write("0001_a.sql", "create table a (id int); insert into a values (1), (1);");
  folder_.write("0002_b.sql",
                "-- keel: no transaction\ncreate unique index concurrently if not exists by_id on a (id);\n"
                "vacuum a;\n");
  const auto failed = apply();
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().message().starts_with("migrations: 0002_b.sql:2: ")) << failed.error().describe();
  EXPECT_EQ(run("delete from a"), "done");
  const auto resumed = apply();
  ASSERT_TRUE(resumed) << resumed.error().describe();
  EXPECT_EQ(resumed->version, 2);
  EXPECT_NE(run("insert into a values (3), (3)"), "done") << "the index is there, and valid";
}

// `if not exists` would pass an invalid index with any name, in any schema.
TEST_F(PostgresMigrations, make_an_index_anew_whose_name_is_quoted_or_in_another_schema) {
  folder_.write(
      "0001_a.sql",
      "create schema \"My Shop\"; create table \"My Shop\".a (id int); insert into \"My Shop\".a values (1), (1);");
  folder_.write("0002_b.sql",
                "-- keel: no transaction\n"
                "create unique index concurrently if not exists \"By Name\" on \"My Shop\".a (id);\n");
  const auto failed = apply();
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().message().starts_with("migrations: 0002_b.sql:2: ")) << failed.error().describe();
  EXPECT_EQ(run("delete from \"My Shop\".a"), "done");

  const auto resumed = apply();

  ASSERT_TRUE(resumed) << resumed.error().describe();
  EXPECT_EQ(resumed->version, 2);
  EXPECT_NE(run("insert into \"My Shop\".a values (3), (3)"), "done") << "the index is there, and valid";
}

TEST_F(PostgresMigrations, take_functions_in_standard_sql) {
  const std::string body = " returns int language sql begin atomic select case 1 when 1 then 2 end; end;\n";
  folder_.write("0001_a.sql", "create function first()" + body + "create table a (n int default first());\n");
  folder_.write("0002_b.sql", "-- keel: no transaction\ncreate or replace function second()" + body + "vacuum a;\n");

  const auto applied = apply();

  ASSERT_TRUE(applied) << applied.error().describe();
  EXPECT_EQ(applied->version, 2);
  EXPECT_EQ(run("insert into a values (first() / (second() - 1))"), "done");
}

TEST_F(PostgresMigrations, refuse_behind_a_pooler_what_needs_a_session_of_its_own) {
  folder_.write("0001_a.sql", "create table a (id int);");
  folder_.write("0002_b.sql", "-- keel: no transaction\ncreate index concurrently if not exists by_id on a (id);\n");
  DatabaseOptions options = at_server();
  options.migrations = folder_.path();
  options.pooler = true;

  const auto refused = migrate(std::move(options));

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::FailedPrecondition);
  EXPECT_EQ(
      refused.error().message(),
      "migrations: 0002_b.sql: a file that runs without a transaction cannot be applied through a pooler: apply the "
      "file directly to the server, with keel migrate up --database and the server's URL");
  const auto direct = apply();
  ASSERT_TRUE(direct) << direct.error().describe();
  EXPECT_EQ(direct->applied, 1) << "the first file was applied";
}

TEST_F(PostgresMigrations, wait_for_another_program_no_longer_than_is_said) {
  folder_.write("0001_a.sql", "create table a (id int);");
  DatabaseOptions options = at_server();
  options.migrations = folder_.path();
  db::testing::OwnLoop loop;
  auto other = Database::make(at_server()).value();
  Transaction holding = loop.run(other->begin()).value();
  ASSERT_TRUE(loop.run(other->run_script(holding, "select pg_advisory_xact_lock(7308327812017350002)")));
  Result<Migrated> waited = fail(Code::Internal, "");
  std::thread([&] { waited = migrate(options_of(options), 0, 50_ms); }).join();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Code::Unavailable) << waited.error().describe();
  EXPECT_TRUE(loop.run(holding.commit()));
  other->detach(loop.loop);
  while (!other->is_detached()) loop.turn();
}

TEST_F(PostgresMigrations, are_applied_once_by_programs_that_start_together) {
  for (int i = 1; i < 8; ++i) {
    const std::string n = std::to_string(i);
    folder_.write("000" + n + "_n.sql", (i % 2 == 0 ? "-- keel: no transaction\n" : "") +
                                            std::string("create table n") + n + " (id int primary key); insert into n" +
                                            n + " values (1);");
  }
  std::vector<std::thread> starters;
  std::vector<std::string> results(3);
  for (std::string& result : results) {
    starters.emplace_back([this, &result] {
      const auto migrated = apply();
      result = migrated ? "version " + std::to_string(migrated->version) : migrated.error().describe();
    });
  }
  for (std::thread& starter : starters) starter.join();
  for (const std::string& result : results) EXPECT_EQ(result, "version 7");
}

TEST_F(PostgresMigrations, are_of_a_database_that_others_back_up) {
  db::testing::OwnLoop loop;
  auto database = Database::make(at_server()).value();
  EXPECT_EQ(loop.run(database->backup("copy.db")).error().code(), Code::Unsupported);
}

TEST_F(PostgresMigrations, are_applied_by_open_which_says_where_it_failed) {
  DatabaseOptions options = at_server();
  options.migrations = folder_ / "nowhere";
  const auto refused = Database::open(std::move(options));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::NotFound);

  DatabaseOptions nobody;
  nobody.url = "postgres://keel@127.0.0.1:1/postgres?sslmode=disable";
  nobody.uses_environment = false;
  const auto unreachable = Database::open(std::move(nobody));
  ASSERT_FALSE(unreachable);
  EXPECT_EQ(unreachable.error().code(), Code::Unavailable);
  EXPECT_NE(unreachable.error().describe().find("127.0.0.1:1"), std::string::npos) << unreachable.error().describe();

  EXPECT_TRUE(Database::open(at_server()));
}

}  // namespace
}  // namespace keel::db::postgres::migrations_test
