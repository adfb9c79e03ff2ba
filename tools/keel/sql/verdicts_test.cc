#include "sql/verdicts.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "keel/db/testing/folder.h"
#include "sql/catalog.h"
#include "sql/query_writer.h"

namespace keel::sql::sql_verdicts_test {
namespace {

// A server that knows one statement, and a table with one column.
class Server final : public Checker {
 public:
  int migrations() const noexcept override { return 1; }
  std::optional<Mistake> check(const Statement&) override { return std::nullopt; }
  std::optional<Mistake> describe(std::string_view text, Described& to) override {
    if (text.find("nothing") != text.npos) return Mistake{"there is nothing", 3};
    to = {};
    to.is_readonly = true;
    to.parameters.push_back({"1", "text", true, "users", "state", ""});
    to.columns.push_back({"state", "text", false, "users", "state", ""});
    return std::nullopt;
  }
  std::optional<Mistake> set_type(std::string_view, std::string_view column, std::string_view) override {
    if (column == "state") return std::nullopt;
    return Mistake{"no such column", std::nullopt};
  }
};

constexpr std::string_view file = "db/queries.lock";
VerdictChecker asking(Verdicts& verdicts) {
  return {verdicts, std::make_unique<Server>(), std::string(file), "the command"};
}
VerdictChecker reading(Verdicts& verdicts) { return {verdicts, nullptr, std::string(file), "the command"}; }

TEST(Verdicts, are_what_the_server_has_said_once_they_are_written_and_read) {
  Verdicts asked;
  asked.migrations = {{"0001_users.sql", "abc"}};
  VerdictChecker server = asking(asked);
  Described said;
  ASSERT_FALSE(server.set_type("Users", "state", "shop::State"));
  ASSERT_FALSE(server.describe("select state from users where state = $1", said));
  EXPECT_EQ(said.columns[0].type, "shop::State") << "as its author says";

  auto read = Verdicts::read(asked.write());
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(read->write(), asked.write());
  EXPECT_EQ(asked.statements[0].columns[0].type, "text") << "as the server says";
  VerdictChecker file_only = reading(*read);
  Described known;
  ASSERT_FALSE(file_only.set_type("users", "State", "shop::State"));
  ASSERT_FALSE(file_only.describe("select state from users where state = $1", known));
  EXPECT_TRUE(known.is_readonly && known.parameters[0].is_nullable && !known.columns[0].is_nullable);
  EXPECT_EQ(known.columns[0].type, "shop::State");
  EXPECT_EQ(known.parameters[0].type, "shop::State");
  EXPECT_TRUE(file_only.unused().empty());
}

TEST(Verdicts, are_sorted_and_each_there_once) {
  Verdicts one;
  Verdicts other;
  VerdictChecker first = asking(one);
  VerdictChecker second = asking(other);
  Described ignored;
  for (const char* const text : {"select 2", "select 1", "select 2"}) ASSERT_FALSE(first.describe(text, ignored));
  for (const char* const text : {"select 1", "select 2"}) ASSERT_FALSE(second.describe(text, ignored));
  EXPECT_EQ(one.write(), other.write());
  EXPECT_LT(one.write().find("select 1"), one.write().find("select 2"));
}

TEST(Verdicts, that_are_missing_are_a_mistake_with_the_command_that_gets_them) {
  Verdicts none;
  VerdictChecker file_only = reading(none);
  Described ignored;
  EXPECT_EQ(file_only.describe("select 1", ignored)->text,
            "the statement is new or has changed, so db/queries.lock does not contain PostgreSQL's description of "
            "it: run "
            "the command");
  EXPECT_EQ(file_only.set_type("users", "state", "text")->text,
            "db/queries.lock does not contain PostgreSQL's description of the column users.state: run the command");

  Verdicts some;
  some.statements.push_back({"select 3", true, {}, {}});
  EXPECT_EQ(reading(some).unused(), std::vector<std::string>({"select 3"}));
  VerdictChecker server = asking(none);
  EXPECT_EQ(server.describe("select nothing", ignored)->text, "there is nothing");
  EXPECT_EQ(server.set_type("users", "none", "text")->text, "no such column");
}

TEST(Verdicts, count_only_for_the_same_migrations) {
  const db::testing::Folder folder;
  folder.write("0001_users.sql", "create table users (id int);");
  folder.write("0002_orders.sql", "create table orders (id int);");
  Verdicts verdicts;
  verdicts.migrations = checksums_of(folder.path()).value();
  const auto said = [&] {
    const auto compared = compare_migrations(verdicts, folder.path(), std::string(file), "the command");
    return compared ? std::string("same") : std::string(compared.error().message());
  };
  EXPECT_EQ(said(), "same");
  folder.write("0002_orders.sql", "create table orders (id bigint);");
  EXPECT_EQ(said(), "0002_orders.sql has changed since db/queries.lock was written: run the command");
  folder.write("0002_orders.sql", "create table orders (id int);");
  folder.write("0002_orders.sqlite.sql", "for another database");
  EXPECT_EQ(said(), "same");
  folder.write("0002_orders.postgres.sql", "create table orders (id int);");
  EXPECT_EQ(said(), "0002_orders.postgres.sql is new since db/queries.lock was written: run the command");
}

TEST(Verdicts, of_a_broken_file_or_another_version_are_none) {
  EXPECT_FALSE(Verdicts::read("{"));
  EXPECT_FALSE(Verdicts::read(R"({"database":"postgres"})"));
  Verdicts later;
  later.version = 2;
  EXPECT_EQ(Verdicts::read(later.write()).error().message(), "was written by another version of keel");
}

// What a build does for a service of that size.
TEST(Verdicts, of_100_queries_are_checked_in_a_second) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "-- name: query_" + std::to_string(i) + " :many Row" + std::to_string(i) +
            "\n-- param: least int64\nselect state from users where state = $state and 1 < " + std::to_string(i) +
            "\n  /*? least */ and 2 > $least\n;\n";
  }
  Verdicts verdicts;
  const auto generate = [&](VerdictChecker checker) {
    Problems problems;
    const Catalog catalog = make_catalog({problems.add_file("db/queries/all.sql", text)}, checker, problems);
    EXPECT_FALSE(problems.has_any()) << problems.describe();
    return write_queries(catalog, problems, "queries").size();
  };
  EXPECT_EQ(generate(asking(verdicts)), 3u);
  const std::string written = verdicts.write();
  const auto before = std::chrono::steady_clock::now();
  auto read = Verdicts::read(written);
  ASSERT_TRUE(read) << read.error().describe();
  EXPECT_EQ(read->statements.size(), 200u);
  EXPECT_EQ(generate(reading(*read)), 3u);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - before).count();
  std::printf("100 queries, 200 statements, checked without a database in %.0f ms\n", ms);
  EXPECT_LT(ms, 1000);
}

}  // namespace
}  // namespace keel::sql::sql_verdicts_test
