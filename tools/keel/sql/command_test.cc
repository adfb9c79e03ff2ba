// The program as its users meet it: exit codes, what it says, and where; and a CMake project that uses it.

#include "sql/command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "keel/db/postgres/testing/real_server.h"
#include "keel/db/testing/folder.h"
#include "testing.h"

namespace keel::sql::sql_command_test {
namespace {

using testing::Ran;
using testing::run;

class SqlCommand : public ::testing::Test {
 protected:
  SqlCommand() {
    std::filesystem::create_directory(folder_ / "migrations");
    folder_.write("migrations/0001_users.sql", "create table users (id integer primary key, name text not null);\n");
  }
  Ran check(const std::string& source) {
    folder_.write("users.cc", source);
    return run("cd " + folder_.path() + " && " KEEL_PROGRAM " sql check --migrations migrations users.cc");
  }

  db::testing::Folder folder_;
};

TEST_F(SqlCommand, good_statements_end_with_0_and_their_number) {
  const Ran ran =
      check("s.execute(\"delete from users\"); s.query_one<User>(\"select id from users where id = $1\", 1);");

  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "keel sql: 2 statements checked with 1 migration of migrations: 0 with mistakes, 0 not checked\n");
}

TEST_F(SqlCommand, a_mistake_ends_with_1_and_is_shown_in_its_place) {
  const Ran ran = check(
      "void f() {\n"
      "  s.query(\"select id, nmae \"\n"
      "          \"from users\", add);\n"
      "  s.query(R\"(\n"
      "    select 'é', id\n"
      "    form users)\", add);\n"
      "  s.execute(text);\n"
      "}\n");

  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out,
            "users.cc:2:23: error: no such column: nmae; did you mean name?\n"
            "  select id, nmae from users\n"
            "             ^\n"
            "users.cc:6:10: error: near \"users\": syntax error\n"
            "      form users\n"
            "           ^\n"
            "users.cc:7:13: note: not checked: text is neither a literal nor a constant of these files\n"
            "keel sql: 2 statements checked with 1 migration of migrations: 2 with mistakes, 1 not checked\n");
}

TEST_F(SqlCommand, a_caret_stands_below_its_character) {
  const Ran ran = check("s.query(\"select 'é',\\tnmae from users\", add);");

  EXPECT_EQ(ran.out.substr(0, ran.out.find("keel sql")),
            "users.cc:1:24: error: no such column: nmae; did you mean name?\n"
            "  select 'é',\tnmae from users\n"
            "             \t^\n");
}

TEST_F(SqlCommand, sources_without_a_statement_end_with_1) {
  const Ran ran = check("int main() {}");

  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.out.starts_with("keel sql: no statement was found in 1 file")) << ran.out;
}

TEST_F(SqlCommand, wrong_use_ends_with_2_and_one_line) {
  const auto expect = [](const std::string& arguments, std::string_view line) {
    const Ran ran = run(KEEL_PROGRAM " sql " + arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(ran.out.starts_with(line)) << ran.out;
    EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1) << ran.out;
  };
  expect("", "keel sql: expected: keel sql check");
  expect("chekc", "keel sql: expected: keel sql check");
  expect("check a.cc", "keel sql: --migrations DIR is missing: ");
  expect("check --migrations", "keel sql: --migrations: needs a value");
  expect("check --migrations " + folder_ / "migrations", "keel sql: no FILE is named");
  expect("check --migrations m --database oracle a.cc", "keel sql: --database oracle: expected sqlite, postgres, or");
  expect("check --migrations m --lock l a.cc",
         "keel sql: keel sql prepare and --lock are only for --database postgres");
  expect("prepare --migrations m --database sqlite a.cc", "keel sql: keel sql prepare and --lock are only for");
  expect("check --migrations m --check a.cc", "keel sql: --check: there is no such option");
  expect("check --frob a.cc", "keel sql: --frob: there is no such option");
  expect("check --migrations m /no/such/file.cc", "keel sql: /no/such/file.cc: ");
  folder_.write("a.cc", "s.execute(\"select 1\");");
  expect("check --migrations " + folder_ / "none" + " " + folder_ / "a.cc",
         "keel sql: migrations: " + folder_ / "none");
  folder_.write("migrations/0002_broken.sql", "create tabel a (b);\n");
  expect("check --migrations " + folder_ / "migrations" + " " + folder_ / "a.cc",
         "keel sql: migrations: 0002_broken.sql:1: near \"tabel\"");
}

TEST_F(SqlCommand, statements_of_one_database_are_not_checked_by_the_other) {
  const Ran ran = check(
      "s.copy_out<User>(\"select 'a'::text\", write);\n"
      "s.execute(\"vacuum (analyze) users\");  // keel sql: postgres\n"
      "s.stream<User>(\"select nmae from users\", write);\n");

  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out,
            "users.cc:1:19: note: not checked: copy_out() is for postgres here, and --database names sqlite\n"
            "users.cc:2:12: note: not checked: execute() is for postgres here, and --database names sqlite\n"
            "users.cc:3:24: error: no such column: nmae; did you mean name?\n"
            "  select nmae from users\n"
            "         ^\n"
            "keel sql: 1 statement checked with 1 migration of migrations: 1 with mistakes, 2 not checked\n");
}

// One server is asked for all of it, and the rest needs none.
TEST_F(SqlCommand, keeps_what_postgres_says_in_a_file_and_knows_when_it_is_old) {
  const auto keel = [&](const std::string& arguments) {
    return run("cd " + folder_.path() + " && " KEEL_PROGRAM " sql " + arguments);
  };
  const std::string command = "keel sql prepare --migrations migrations --lock statements.lock users.cc\n";
  const std::string both = "check --migrations migrations --database sqlite,postgres users.cc";
  const std::string one = "check --migrations migrations --database postgres users.cc";
  folder_.write("users.cc", "s.execute(\"select 1\");  // keel sql: sqlite\n");
  EXPECT_EQ(keel(both).code, 0) << "nothing of it is for PostgreSQL";
  folder_.write("users.cc",
                "s.query_one<User>(\"select id, name from users where name = $name and id <> $id\", user);\n"
                "s.copy_out<User>(\"select id, name from users\", write);\n");
  const Ran none = keel(both);
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(
      none.out,
      "keel sql: statements.lock is missing; it records what PostgreSQL says about the statements: run " + command);
  const Ran nowhere = keel("prepare --migrations migrations --server postgres://keel@127.0.0.1:1/x users.cc");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.out.find("127.0.0.1:1"), std::string::npos) << nowhere.out;

  if (!db::postgres::testing::RealServer::is_installed()) GTEST_SKIP() << db::postgres::testing::RealServer::missing;
  const db::postgres::testing::RealServer server;
  const std::string prepare = "prepare --migrations migrations --server '" + server.url() + "' users.cc";
  const Ran prepared = keel(prepare);
  ASSERT_EQ(prepared.code, 0) << prepared.out;
  EXPECT_EQ(prepared.out,
            "keel sql: 2 statements checked with 1 migration of migrations: 0 with mistakes, 0 not checked\n");
  EXPECT_EQ(keel(prepare + " --check").code, 0);
  for (const std::string& check : {one, both}) {
    const Ran good = keel(check);
    EXPECT_EQ(good.code, 0) << good.out;
    EXPECT_NE(good.out.find("2 statements checked with 1 migration"), std::string::npos) << good.out;
  }

  folder_.write("users.cc", "s.execute(\"delete from users where $name = name\", user);\n");
  const Ran changed = keel(one);
  EXPECT_EQ(changed.code, 1);
  EXPECT_TRUE(
      changed.out.starts_with("users.cc:1:12: error: the statement is new or has changed, so statements.lock does "
                              "not contain PostgreSQL's description of it: run " +
                              command))
      << changed.out;
  EXPECT_NE(changed.out.find("has a statement that no source contains any more: select id, name from users"),
            std::string::npos)
      << changed.out;
  EXPECT_EQ(keel(prepare + " --check").code, 1);
  ASSERT_EQ(keel(prepare).code, 0);
  EXPECT_EQ(keel(one).out,
            "keel sql: 1 statement checked with 1 migration of migrations: 0 with mistakes, 0 not checked\n");

  folder_.write("users.cc",
                "s.stream<User>(\"select $name::text, nmae from users where $id = id\", write, user);\n"
                "s.query(\"delete from users\", add);\n"
                "s.query_one<int>(\"select id, name from users where id = $1\", 1);\n"
                "s.execute(\"  commit\");\n");
  const Ran wrong = keel(prepare);
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(wrong.out.starts_with("users.cc:1:37: error: column \"nmae\" does not exist")) << wrong.out;
  EXPECT_NE(wrong.out.find("users.cc:2:10: error: query() reads rows, but the statement returns none"),
            std::string::npos)
      << wrong.out;
  EXPECT_NE(wrong.out.find("users.cc:3:19: error: query_one<int> reads one column"), std::string::npos) << wrong.out;
  EXPECT_NE(wrong.out.find("users.cc:4:14: error: a statement cannot begin or end a transaction"), std::string::npos)
      << wrong.out;

  folder_.write("users.cc", "s.execute(\"delete from users where $name = name\", user);\n");
  folder_.write("migrations/0002_more.sql", "alter table users add column age integer;\n");
  const Ran migrated = keel(one);
  EXPECT_EQ(migrated.code, 1);
  EXPECT_EQ(migrated.out, "keel sql: 0002_more.sql is new since statements.lock was written: run " + command);
}

TEST_F(SqlCommand, helps_itself) {
  const Ran ran = run(KEEL_PROGRAM " sql --help");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("--migrations DIR"), std::string::npos);
}

// keel_sql() of cmake/KeelSql.cmake, in a project that has nothing else of Keel.
class SqlProject : public SqlCommand {
 protected:
  SqlProject() {
    folder_.write("CMakeLists.txt",
                  "cmake_minimum_required(VERSION 3.25)\n"
                  "project(shop LANGUAGES CXX)\n"
                  "enable_testing()\n"
                  "add_executable(keel::keel IMPORTED)\n"
                  "set_target_properties(keel::keel PROPERTIES IMPORTED_LOCATION " KEEL_PROGRAM
                  ")\n"
                  "include(" KEEL_SQL_CMAKE
                  ")\n"
                  "add_library(shop STATIC shop.cc)\n"
                  "keel_sql(shop MIGRATIONS migrations ${shop_databases})\n");
  }
  void statement(const std::string& sql) {
    folder_.write("shop.cc",
                  "struct Session { void execute(const char*) {} };\n"
                  "void clear(Session& session) { session.execute(\"" +
                      sql + "\"); }\n");
  }
  Ran build() { return run("cmake --build " + folder_ / "build"); }
};

TEST_F(SqlProject, for_postgres_has_a_target_that_asks_a_server) {
  statement("delete from users");
  ASSERT_EQ(run("cmake -S " + folder_.path() + " -B " + folder_ / "build \"-Dshop_databases=DATABASE;postgres\"").code,
            0);
  const Ran none = build();
  EXPECT_NE(none.code, 0);
  EXPECT_NE(none.out.find("keel sql: statements.lock is missing; it records what PostgreSQL says about the statements: "
                          "run cmake --build " +
                          folder_ / "build --target shop_sql_prepare"),
            std::string::npos)
      << none.out;

  if (!db::postgres::testing::RealServer::is_installed()) GTEST_SKIP() << db::postgres::testing::RealServer::missing;
  const db::postgres::testing::RealServer server;
  const Ran prepared = run("KEEL_SCRATCH_POSTGRES_URL='" + server.url() + "' cmake --build " + folder_ / "build" +
                           " --target shop_sql_prepare");
  ASSERT_EQ(prepared.code, 0) << prepared.out;
  ASSERT_TRUE(std::filesystem::exists(folder_ / "statements.lock")) << prepared.out;
  const Ran built = build();
  EXPECT_EQ(built.code, 0) << built.out;
  const Ran test = run("ctest --test-dir " + folder_ / "build");
  EXPECT_EQ(test.code, 0) << test.out;
  statement("delete from users where id = 1");
  EXPECT_NE(build().out.find("the statement is new or has changed"), std::string::npos);
}

TEST_F(SqlProject, with_a_mistake_does_not_build) {
  statement("delete from user");
  ASSERT_EQ(run("cmake -S " + folder_.path() + " -B " + folder_ / "build").code, 0);

  const Ran wrong = build();
  EXPECT_NE(wrong.code, 0);
  EXPECT_NE(wrong.out.find("shop.cc:2:61: error: no such table: user; did you mean users?"), std::string::npos)
      << wrong.out;
  EXPECT_EQ(wrong.out.find("shop.cc.o"), std::string::npos)
      << "what has a mistake is not compiled before: " << wrong.out;

  statement("delete from users");
  const Ran right = build();
  EXPECT_EQ(right.code, 0) << right.out;
  EXPECT_NE(right.out.find("1 statement checked"), std::string::npos) << right.out;
  EXPECT_EQ(build().out.find("checked with"), std::string::npos) << "nothing has changed";
  const Ran test = run("ctest --test-dir " + folder_ / "build");
  EXPECT_EQ(test.code, 0) << test.out;
  EXPECT_NE(test.out.find("shop_sql"), std::string::npos) << test.out;

  folder_.write("migrations/0002_drop.sql", "alter table users rename to people;\n");
  const Ran migrated = build();
  EXPECT_NE(migrated.code, 0) << "a new migration is a change too";
  EXPECT_NE(migrated.out.find("no such table: users; the tables are people"), std::string::npos) << migrated.out;
}

}  // namespace
}  // namespace keel::sql::sql_command_test
