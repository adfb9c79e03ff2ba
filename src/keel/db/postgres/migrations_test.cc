#include "keel/db/postgres/migrations.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

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
            "migrations: 0001_ends.sql:2: a migration is one transaction: leave out 'commit'");
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
