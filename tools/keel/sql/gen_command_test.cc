// The generator as its users meet it: exit codes, what it says and writes; and a CMake project that uses it.

#include "sql/gen_command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "keel/db/postgres/testing/real_server.h"
#include "keel/db/testing/folder.h"

namespace keel::sql::sql_gen_command_test {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int code = -1;
  std::string out;  // Both streams.
};

Ran run(const std::string& command) {
  Ran ran;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) ran.out.append(part, size);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

class GenSql : public ::testing::Test {
 protected:
  GenSql() {
    fs::create_directories(folder_ / "db/migrations");
    fs::create_directories(folder_ / "db/queries");
    folder_.write("db/migrations/0001_users.sql",
                  "create table users (id integer primary key, name text not null) strict;\n");
    folder_.write("db/queries/users.sql", "-- name: find_user :one\nselect id, name from users where id = $id;\n");
  }
  Ran generate(const std::string& arguments = "--migrations db/migrations --out out db/queries/users.sql") {
    return run("cd " + folder_.path() + " && " KEEL_GEN_SQL " " + arguments);
  }
  std::string text_of(const std::string& name) {
    std::ifstream in(folder_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  db::testing::Folder folder_;
};

TEST_F(GenSql, writes_files_and_only_those_that_change) {
  const Ran first = generate();
  EXPECT_EQ(first.code, 0) << first.out;
  EXPECT_EQ(first.out, "");
  EXPECT_TRUE(text_of("out/queries/users.h").find("find_user(keel::db::Queries& db, std::int64_t id);") !=
              std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "out/queries/users.cc") && fs::exists(folder_ / "out/queries/rows.h"));

  const auto before = fs::last_write_time(folder_ / "out/queries/rows.h");
  folder_.write("db/queries/users.sql",
                "-- name: find_user :one\nselect id, name from users where id = $id;\n"
                "-- name: count_users :one\nselect count(*) from users;\n");
  EXPECT_EQ(generate().code, 0);
  EXPECT_EQ(fs::last_write_time(folder_ / "out/queries/rows.h"), before);
  EXPECT_TRUE(text_of("out/queries/users.h").find("count_users") != std::string::npos);
}

TEST_F(GenSql, removes_what_is_left_over_and_nothing_else) {
  ASSERT_EQ(generate().code, 0);
  folder_.write("out/queries/mine.h", "// mine\n");
  folder_.write("db/queries/people.sql", "-- name: find_user :one\nselect id, name from users where id = $id;\n");

  EXPECT_EQ(generate("--migrations db/migrations --out out db/queries/people.sql").code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "out/queries/users.h"));
  EXPECT_TRUE(fs::exists(folder_ / "out/queries/people.h"));
  EXPECT_TRUE(fs::exists(folder_ / "out/queries/mine.h"));
}

TEST_F(GenSql, check_writes_nothing_and_says_what_differs) {
  const std::string check = "--migrations db/migrations --out out --check db/queries/users.sql";
  const Ran none = generate(check);
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.out.find("keel gen: out/queries/users.h is not as the queries say"), std::string::npos) << none.out;
  EXPECT_FALSE(fs::exists(folder_ / "out"));

  ASSERT_EQ(generate().code, 0);
  EXPECT_EQ(generate(check).code, 0);
  folder_.write("db/migrations/0002_more.sql", "alter table users rename column name to full_name;\n");
  const Ran broken = generate(check);
  EXPECT_EQ(broken.code, 1);
  EXPECT_EQ(broken.out,
            "db/queries/users.sql:2:12: error: no such column: name; the columns are id, full_name\n"
            "  select id, name from users where id = $id;\n"
            "             ^\n");
}

TEST_F(GenSql, wrong_use_ends_with_2_and_one_line) {
  const auto expect = [&](const std::string& arguments, std::string_view line) {
    const Ran ran = generate(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(ran.out.starts_with(line)) << ran.out;
    EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1) << ran.out;
  };
  expect("--out out a.sql", "keel gen: --migrations DIR is missing");
  expect("--migrations db/migrations a.sql", "keel gen: --out FOLDER is missing");
  expect("--migrations db/migrations --out", "keel gen: --out: needs a value");
  expect("--migrations db/migrations --out out", "keel gen: no FILE is named");
  expect("--migrations db/migrations --out out none.sql", "keel gen: none.sql cannot be read");
  expect("--migrations none --out out db/queries/users.sql", "keel gen: migrations: none: No such file");
  expect("--migrations db/migrations --out out --frob a.sql", "keel gen: --frob: there is no such option");
  expect("--migrations m --out out --namespace 1x a.sql", "keel gen: --namespace 1x: expected names");
  expect("--migrations m --out out --database oracle a.sql", "keel gen: --database oracle: expected sqlite");
  expect("--migrations m --out out --prepare a.sql", "keel gen: --prepare and --lock are only for --database postgres");
  EXPECT_EQ(generate("--help").code, 0);
}

// One server is asked for all of it, and the rest needs none.
TEST_F(GenSql, keeps_what_postgres_says_in_a_file_and_knows_when_it_is_old) {
  const std::string postgres = "--migrations db/migrations --database sqlite,postgres ";
  const std::string build = postgres + "--out out db/queries/users.sql";
  const std::string command =
      "keel gen sql --prepare --database sqlite,postgres --migrations db/migrations --lock db/queries.lock "
      "db/queries/users.sql\n";
  const Ran none = generate(build);
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.out,
            "keel gen: db/queries.lock is missing; it records what PostgreSQL says about the queries: run " + command);
  const Ran nowhere = generate(postgres + "--prepare --server postgres://keel@127.0.0.1:1/x db/queries/users.sql");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_NE(nowhere.out.find("127.0.0.1:1"), std::string::npos) << nowhere.out;

  if (!db::postgres::testing::RealServer::is_installed()) GTEST_SKIP() << db::postgres::testing::RealServer::missing;
  const db::postgres::testing::RealServer server;
  const std::string prepare = postgres + "--prepare --server '" + server.url() + "' db/queries/users.sql";
  folder_.write("db/migrations/0001_users.postgres.sql",
                "create table users (id bigint generated always as identity primary key, name text not null);\n");
  const Ran prepared = generate(prepare);
  ASSERT_EQ(prepared.code, 0) << prepared.out;
  const std::string lock = text_of("db/queries.lock");
  EXPECT_NE(lock.find("\"text\": \"select id, name from users where id = $1\""), std::string::npos) << lock;
  const Ran built = generate(build);
  EXPECT_EQ(built.code, 0) << built.out;
  EXPECT_EQ(generate(build + " --check").code, 0);
  EXPECT_EQ(generate(prepare + " --check").code, 0);

  folder_.write("db/queries/users.sql", "-- name: find_user :one\nselect name, id from users where id = $id;\n");
  const Ran changed = generate(build);
  EXPECT_EQ(changed.code, 1);
  EXPECT_EQ(changed.out,
            "db/queries/users.sql:2:1: error: PostgreSQL: the statement is new or has changed, so db/queries.lock "
            "does not contain PostgreSQL's description of it: run " +
                command + "  select name, id from users where id = $id;\n  ^\n");
  EXPECT_EQ(generate(prepare + " --check").code, 1);
  EXPECT_EQ(text_of("db/queries.lock"), lock) << "--check writes nothing";
  ASSERT_EQ(generate(prepare).code, 0);
  EXPECT_EQ(generate(build).code, 0);

  folder_.write("db/migrations/0001_users.postgres.sql",
                "create table users (id bigint generated always as identity primary key, name text);\n");
  const Ran migrated = generate(build);
  EXPECT_EQ(migrated.code, 1);
  EXPECT_EQ(migrated.out,
            "keel gen: 0001_users.postgres.sql has changed since db/queries.lock was written: run " + command);
  ASSERT_EQ(generate(prepare).code, 0);
  ASSERT_EQ(generate(build).code, 0);
  EXPECT_NE(text_of("out/queries/rows.h").find("std::optional<std::string> name"), std::string::npos)
      << "as one of them has it";

  folder_.write("db/queries/users.sql",
                "-- name: find_user :one\nselect name, id from users where id = $id;\n"
                "-- name: count_users :one\n-- database: postgres\nselect count(*)::bigint as n from users;\n");
  ASSERT_EQ(generate(prepare).code, 0) << "SQLite is not asked for it";
  EXPECT_EQ(generate(build).code, 0);
  EXPECT_EQ(generate("--migrations db/migrations --out out db/queries/users.sql").out,
            "db/queries/users.sql:4:14: error: -- database: postgres is not among the databases that are checked\n"
            "  -- database: postgres\n               ^\n");

  folder_.write("db/queries.lock", "{}");
  EXPECT_NE(generate(build).out.find("db/queries.lock cannot be read ("), std::string::npos);
  folder_.write("db/queries/users.sql", "-- name: find_user :one\nselect nam, id from users where id = $id;\n");
  const Ran wrong = generate("--migrations db/migrations --database postgres --prepare --server '" + server.url() +
                             "' db/queries/users.sql");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_TRUE(wrong.out.starts_with("db/queries/users.sql:2:8: error: column \"nam\" does not exist")) << wrong.out;
}

// keel_sql(… QUERIES …) of cmake/KeelSql.cmake, in a project that has nothing else of Keel.
TEST_F(GenSql, in_a_project_runs_when_a_query_or_a_migration_has_changed) {
  folder_.write("CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.25)\n"
                "project(shop LANGUAGES CXX)\n"
                "add_executable(keel_gen_sql_alone IMPORTED)\n"
                "set_target_properties(keel_gen_sql_alone PROPERTIES IMPORTED_LOCATION " KEEL_GEN_SQL
                ")\n"
                "add_library(keel_db INTERFACE)\n"
                "add_library(keel::db ALIAS keel_db)\n"
                "include(" KEEL_SQL_CMAKE
                ")\n"
                "add_library(shop STATIC)\n"
                "keel_sql(shop MIGRATIONS db/migrations QUERIES db/queries/users.sql NAMESPACE shop::queries)\n");
  const Ran made = run("cmake -S " + folder_.path() + " -B " + folder_ / "build");
  ASSERT_EQ(made.code, 0) << made.out;
  const auto build = [&] { return run("cmake --build " + folder_ / "build --target shop_queries"); };

  const Ran first = build();
  EXPECT_EQ(first.code, 0) << first.out;
  EXPECT_TRUE(text_of("build/shop_sql/queries/users.cc").find("#line 1 \"db/queries/users.sql\"") != std::string::npos);
  EXPECT_EQ(build().out.find("Generating"), std::string::npos) << "nothing has changed";

  folder_.write("db/migrations/0002_more.sql", "alter table users rename column name to full_name;\n");
  const Ran broken = build();
  EXPECT_NE(broken.code, 0);
  EXPECT_NE(broken.out.find("db/queries/users.sql:2:12: error: no such column: name"), std::string::npos) << broken.out;
  folder_.write("db/queries/users.sql", "-- name: find_user :one\nselect id, full_name from users where id = $id;\n");
  EXPECT_EQ(build().code, 0);
  EXPECT_TRUE(text_of("build/shop_sql/queries/rows.h").find("std::string full_name;") != std::string::npos);
}

}  // namespace
}  // namespace keel::sql::sql_gen_command_test
