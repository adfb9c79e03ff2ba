#include "keel/db/sqlite/migrations.h"

#include <gtest/gtest.h>

#include "keel/db/sqlite/connection.h"
#include "keel/db/testing/folder.h"

namespace keel::db::sqlite::sqlite_migrations_test {
namespace {

class Migrations : public ::testing::Test {
 protected:
  Migrations() { std::filesystem::create_directory(folder / "migrations"); }
  void file(std::string_view name, std::string_view text) { folder.write("migrations/" + std::string(name), text); }
  void drop(std::string_view name) { std::filesystem::remove(folder / ("migrations/" + std::string(name))); }
  std::unique_ptr<Connection> open() { return Connection::open({.path = folder / "app.db"}).value(); }
  Result<Migrated> apply() { return migrate(*open(), folder / "migrations"); }
  std::string error() {
    auto migrated = apply();
    return migrated ? std::string("none") : migrated.error().describe();
  }
  std::int64_t count(const char* table) {
    std::int64_t rows = -1;
    auto connection = open();
    auto statement = connection->prepare("select count(*) from " + std::string(table));
    Rows found;
    if (!statement || !statement->run({}, found)) return -1;
    auto keep = [&](const Row& row) { rows = row.integer(0); };
    if (!found.for_each(keep)) return -1;
    return rows;
  }

  testing::Folder folder;
};

TEST_F(Migrations, are_applied_in_order_and_once) {
  file("0002_orders.sql",
       "create table orders (id integer primary key, user integer references users);\n"
       "insert into orders values (1, 1);");
  file("0001_users.sql", "create table users (id integer primary key);\ninsert into users values (1);\n-- the end\n");

  auto first = apply();
  auto second = apply();

  ASSERT_TRUE(first.has_value()) << first.error().describe();
  EXPECT_EQ(first->applied, 2);
  EXPECT_EQ(first->version, 2);
  EXPECT_EQ(second->applied, 0);
  EXPECT_EQ(second->version, 2);
  EXPECT_EQ(count("orders"), 1);
  EXPECT_EQ(count("keel_migrations"), 2);
}

TEST_F(Migrations, leave_foreign_keys_on) {
  file("0001_users.sql",
       "create table users (id integer primary key);\n"
       "create table orders (id integer primary key, user integer references users);");
  const auto connection = open();
  ASSERT_TRUE(migrate(*connection, folder / "migrations"));

  EXPECT_EQ(connection->run("insert into orders values (1, 77)").error().code(), Code::Conflict);
}

TEST_F(Migrations, a_later_file_is_applied_to_what_is_there) {
  file("0001_users.sql", "create table users (id integer primary key)");
  ASSERT_TRUE(apply().has_value());
  file("0002_more.sql", "alter table users add column name text");

  EXPECT_EQ(apply()->applied, 1);
}

TEST_F(Migrations, a_mistake_names_file_and_line_and_leaves_nothing_of_its_file) {
  file("0001_users.sql", "create table users (id integer primary key)");
  file("0002_bad.sql", "create table orders (id integer primary key);\n\ninsert into orders\nvalues (1, 2, 3);\n");

  EXPECT_EQ(error(), "migrations: 0002_bad.sql:3: table orders has 1 columns but 3 values were supplied");
  EXPECT_EQ(count("users"), 0);
  EXPECT_EQ(count("orders"), -1);
}

TEST_F(Migrations, a_syntax_error_names_its_own_line) {
  file("0001_bad.sql", "create table users (\n  id integer primary key,\n  name txet not nul\n);\n");

  EXPECT_EQ(error(), "migrations: 0001_bad.sql:3: near \"nul\": syntax error");
}

TEST_F(Migrations, a_failing_statement_names_its_line) {
  file("0001_bad.sql",
       "create table t (id integer primary key);\ninsert into t values (1);\ninsert into t values (1);");

  EXPECT_EQ(error(), "migrations: 0001_bad.sql:3: UNIQUE constraint failed: t.id");
}

// SQLite's text ends at its first NUL: the rest would be left out, and never applied.
TEST_F(Migrations, a_file_with_a_nul_byte_is_refused_with_its_line) {
  using namespace std::string_view_literals;
  file("0001_users.sql", "create table users (id integer);\n\0create table lost (id integer);\n"sv);

  EXPECT_EQ(error(), "migrations: 0001_users.sql:2: the SQL text contains a NUL byte");
  EXPECT_EQ(count("users"), -1);
}

TEST_F(Migrations, a_file_that_cannot_be_read_is_named_with_the_reason) {
  std::filesystem::create_directory(folder / "migrations/0001_users.sql");

  EXPECT_EQ(error(), "migrations: " + (folder / "migrations/0001_users.sql") + ": read: Is a directory");

  drop("0001_users.sql");
  std::filesystem::create_symlink("nowhere", folder / "migrations/0001_users.sql");
  EXPECT_EQ(error(), "migrations: " + (folder / "migrations/0001_users.sql") + ": open: No such file or directory");
}

TEST_F(Migrations, a_changed_file_is_refused_by_name) {
  file("0001_users.sql", "create table users (id integer primary key)");
  ASSERT_TRUE(apply().has_value());
  file("0001_users.sql", "create table users (id integer primary key, name text)");

  EXPECT_EQ(apply().error().code(), Code::FailedPrecondition);
  EXPECT_NE(error().find("0001_users.sql has changed since it was applied"), std::string::npos) << error();
}

TEST_F(Migrations, a_missing_or_renamed_file_is_refused_by_name) {
  file("0001_users.sql", "create table users (id integer primary key)");
  file("0002_more.sql", "create table more (id integer primary key)");
  ASSERT_TRUE(apply().has_value());
  drop("0002_more.sql");
  EXPECT_NE(error().find("0002_more.sql was applied to this database, but its file is missing"), std::string::npos);

  file("0002_other.sql", "create table more (id integer primary key)");
  EXPECT_NE(error().find("0002_more.sql was applied"), std::string::npos);
}

TEST_F(Migrations, gaps_duplicates_and_other_names_are_refused) {
  file("0001_a.sql", "select 1");
  file("0003_c.sql", "select 1");
  EXPECT_EQ(error(),
            "migrations: 0003_c.sql follows number 0001, so 0002 is missing: files must be numbered without "
            "gaps");

  drop("0003_c.sql");
  file("0001_b.sql", "select 1");
  EXPECT_EQ(error(),
            "migrations: 0001_a.sql and 0001_b.sql have the same number: give the later one the next free number: mv " +
                folder / "migrations/0001_b.sql" + " " + folder / "migrations/0002_b.sql");

  drop("0001_b.sql");
  file("readme.txt", "hello");
  EXPECT_NE(error().find("files must be named NNNN_name.sql"), std::string::npos);
}

TEST_F(Migrations, transaction_control_inside_is_refused) {
  file("0001_a.sql", "create table a (id integer);\ncommit;\ncreate table b (id integer);\n");

  EXPECT_EQ(error(),
            "migrations: 0001_a.sql:2: this SQL text must not contain a statement that changes transactions, "
            "settings or files");
  EXPECT_EQ(count("a"), -1);
}

// SQLite reads over a byte order mark, and over a vertical tab behind other white space: so does who looks for control.
TEST_F(Migrations, transaction_control_behind_any_white_space_is_refused) {
  for (const std::string_view blank : {"\xef\xbb\xbf", " \v", "\f\r\n", "/**/", "-- x\n", "; ;"}) {
    file("0001_a.sql", "create table a (id integer);" + std::string(blank) + "commit;\ncreate table b (id integer);\n");

    EXPECT_NE(error().find("this SQL text must not contain a statement that changes transactions, settings or "
                           "files"),
              std::string::npos)
        << error();
    EXPECT_EQ(count("a"), -1);
  }
  file("0001_a.sql", std::string("\xef\xbb\xbf") + "create table a (id integer);\n");
  EXPECT_EQ(error(), "none");
  EXPECT_EQ(count("a"), 0);
}

TEST_F(Migrations, rows_that_refer_to_nothing_are_refused) {
  file("0001_a.sql",
       "create table a (id integer primary key); create table b (a integer references a);\n"
       "insert into b values (7);");

  EXPECT_EQ(error(), "migrations: 0001_a.sql: leaves rows in b that refer to no row of a");
}

TEST_F(Migrations, a_table_that_others_refer_to_can_be_rebuilt) {
  file("0001_a.sql",
       "create table a (id integer primary key); create table b (a integer references a);\n"
       "insert into a values (7); insert into b values (7);");
  file("0002_rebuild.sql",
       "create table a_new (id integer primary key, name text);\ninsert into a_new (id) select id from a;\n"
       "drop table a;\nalter table a_new rename to a;\n");

  EXPECT_EQ(error(), "none");
  EXPECT_EQ(count("b"), 1);
}

TEST_F(Migrations, a_missing_folder_is_not_found) {
  EXPECT_EQ(migrate(*open(), folder / "nowhere").error().code(), Code::NotFound);
}

TEST_F(Migrations, of_an_earlier_version_get_a_checksum_of_today_once) {
  const std::string text = "create table users (id integer primary key)";
  file("0001_users.sql", text);
  ASSERT_TRUE(apply());
  const auto checksum = [this] {
    std::string found;
    auto keep = [&](const Row& row) { found = row.text(0); };
    EXPECT_TRUE(open()->query("select checksum from keel_migrations where version = 1", keep));
    return found;
  };
  const std::string today = checksum();
  EXPECT_EQ(today.size(), 64u);
  ASSERT_TRUE(open()->run("update keel_migrations set checksum = $1", "1d26967d4a3d2676"));

  ASSERT_TRUE(apply());
  EXPECT_EQ(checksum(), today);

  ASSERT_TRUE(open()->run("update keel_migrations set checksum = $1", "1d26967d4a3d2676"));
  file("0001_users.sql", text + " strict");
  EXPECT_NE(error().find("0001_users.sql has changed since it was applied"), std::string::npos);
  EXPECT_EQ(checksum(), "1d26967d4a3d2676");
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_migrations_test
