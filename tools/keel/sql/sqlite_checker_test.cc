#include "sql/sqlite_checker.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "keel/db/testing/folder.h"

namespace keel::sql::sql_sqlite_checker_test {
namespace {

class SqliteCheckerTest : public ::testing::Test {
 protected:
  SqliteCheckerTest() {
    folder_.write("0001_users.sql",
                  "create table users (id integer primary key, name text not null, email text unique) strict;\n");
    folder_.write("0002_orders.sql",
                  "create table orders (id integer primary key, user_id integer references users, cents integer);\n"
                  "create view totals as select user_id, sum(cents) as total from orders group by user_id;\n");
    auto made = make_sqlite_checker(folder_.path());
    EXPECT_TRUE(made) << made.error().describe();
    checker_ = *std::move(made);
  }
  // What is wrong, and ":" with the rest of the statement from where the mistake is.
  std::string say(std::string text, std::string_view call = "query", std::string read_as = "") {
    const auto mistake = checker_->check({text, {}, call, std::move(read_as)});
    if (!mistake) return "good";
    return mistake->text + (mistake->offset ? ":" + text.substr(*mistake->offset) : "");
  }

  db::testing::Folder folder_;
  std::unique_ptr<Checker> checker_;
};

TEST_F(SqliteCheckerTest, takes_what_would_run) {
  EXPECT_EQ(checker_->migrations(), 2);
  EXPECT_EQ(say("select id, name from users where id = $1"), "good");
  EXPECT_EQ(say("select total from totals where user_id = $1 and total > $2"), "good");
  EXPECT_EQ(say("insert into users (name) values ($1)", "execute"), "good");
  EXPECT_EQ(say("insert into users (name) values ($1) returning id", "query_one", "std::int64_t"), "good");
  EXPECT_EQ(say("with a as (select 1 as b) select b from a; -- the end"), "good");
  EXPECT_EQ(say("select id from users", "execute"), "good") << "its rows are dropped";
}

TEST_F(SqliteCheckerTest, takes_parameters_with_names) {
  EXPECT_EQ(say("insert into users (name, email) values ($name, $email)", "execute"), "good");
  EXPECT_EQ(say("select id from users where name = $name or email = $name"), "good");
  EXPECT_EQ(say("select id, nmae from users where name = $name"),
            "no such column: nmae; did you mean name?:nmae from users where name = $name");
  EXPECT_TRUE(say("select id from users where id = $1 and name = $name")
                  .starts_with("placeholders must be $1, $2, … without gaps, or must all be names"));
  EXPECT_TRUE(say("select id from users where name = :name and id = $id")
                  .starts_with("placeholders must be $1, $2, … or names"));
}

TEST_F(SqliteCheckerTest, names_the_column_that_was_meant) {
  EXPECT_EQ(say("select id, nmae from users"), "no such column: nmae; did you mean name?:nmae from users");
  EXPECT_EQ(say("select u.emial from users u"), "no such column: u.emial; did you mean email?:u.emial from users u");
  EXPECT_EQ(say("select phone from users"), "no such column: phone; the columns are id, name, email:phone from users");
  EXPECT_EQ(say("update users set mail = $1", "execute"), "no such column: mail; did you mean email?:mail = $1");
  EXPECT_EQ(say("insert into users (phone) values ($1)", "execute"),
            "table users has no column named phone; users has id, name, email:phone) values ($1)");
  EXPECT_EQ(say("select totl from totals"), "no such column: totl; did you mean total?:totl from totals");
}

TEST_F(SqliteCheckerTest, names_the_table_that_was_meant) {
  EXPECT_EQ(say("select id from user"), "no such table: user; did you mean users?:user");
  EXPECT_EQ(say("delete from basket", "execute"), "no such table: basket; the tables are orders, totals, users:basket");
}

TEST_F(SqliteCheckerTest, shows_where_the_syntax_ends) {
  EXPECT_EQ(say("selct id from users"), "near \"selct\": syntax error:selct id from users");
  EXPECT_EQ(say("select id form users"), "near \"users\": syntax error:users");
  EXPECT_EQ(say("select id from users where"), "incomplete input");
  EXPECT_EQ(say("insert into users (id, name) values ($1)", "execute"), "1 values for 2 columns");
  EXPECT_EQ(say("select foo(id) from users"), "no such function: foo:foo(id) from users");
  EXPECT_EQ(say("select id from users, orders"), "ambiguous column name: id:id from users, orders");
}

TEST_F(SqliteCheckerTest, wants_a_value_for_each_column_that_needs_one) {
  EXPECT_EQ(say("insert into users (email) values ($1)", "execute"),
            "users.name is not null and without a default, and the insert gives it no value: add name to its "
            "columns:users (email) values ($1)");
  EXPECT_EQ(say("insert into orders (cents) values ($1)", "execute"), "good");
}

TEST_F(SqliteCheckerTest, wants_rows_where_rows_are_read) {
  EXPECT_EQ(say("delete from users", "query_many", "User"),
            "query_many() reads rows, but the statement returns none: use execute(), or add `returning …` to it");
  EXPECT_EQ(
      say("select id, name from users", "query_many", "std::optional<std::string>"),
      "query_many<std::optional<std::string>> reads one column, but the statement returns 2: select one, or read a "
      "struct");
  EXPECT_EQ(say("select id, name from users", "query_many", "User"), "good");
}

TEST_F(SqliteCheckerTest, refuses_what_the_service_would_refuse) {
  EXPECT_TRUE(say("begin immediate", "execute").starts_with("begin a transaction with begin() of ")) << say("begin");
  EXPECT_TRUE(
      say("pragma foreign_keys = off", "execute").starts_with("set the settings and files of the database in "));
  EXPECT_EQ(say("delete from users; delete from orders", "execute"), "SQL text must contain only one statement");
  EXPECT_EQ(say("", "execute"), "SQL text must contain a statement");
  EXPECT_EQ(say("-- nothing", "execute"), "SQL text must contain a statement");
  EXPECT_TRUE(say("select id from users where id = ?1").starts_with("placeholders must be $1, $2, … or names"));
  EXPECT_EQ(say(std::string("select 1\0 x", 11)),
            "the statement has a NUL byte, at which SQLite stops reading:" + std::string("\0 x", 3));
}

TEST_F(SqliteCheckerTest, does_not_take_an_earlier_mistake_for_the_present_one) {
  EXPECT_EQ(say("select nmae from users"), "no such column: nmae; did you mean name?:nmae from users");
  EXPECT_EQ(say("delete from users; delete from orders", "execute"), "SQL text must contain only one statement");
}

TEST(MakeSqliteChecker, says_what_is_wrong_with_the_migrations) {
  const db::testing::Folder folder;
  folder.write("0001_a.sql", "create table a (id integer primary kay);\n");

  const auto made = make_sqlite_checker(folder.path());
  const auto missing = make_sqlite_checker(folder / "none");

  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().message().starts_with("migrations: 0001_a.sql:1: near \"kay\"")) << made.error().describe();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::NotFound);
}

}  // namespace
}  // namespace keel::sql::sql_sqlite_checker_test
