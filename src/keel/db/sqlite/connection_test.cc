#include "keel/db/sqlite/connection.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "keel/db/testing/folder.h"

namespace keel::db::sqlite::sqlite_connection_test {
namespace {

class SqliteConnection : public ::testing::Test {
 protected:
  SqliteConnection() {
    run("create table parents (id integer primary key)");
    run("create table t (a text, b integer unique, c integer not null default 1 check (c > 0),"
        " parent integer references parents)");
  }
  void run(const char* text) { ASSERT_TRUE(connection->run_script(text).has_value()) << text; }
  template <class... A>
  Code code(SqlFor<sizeof...(A)> sql, const A&... arguments) {
    auto result = connection->run(sql, arguments...);
    if (result) ADD_FAILURE() << "no error: " << sql.text();
    return result ? Code::Unavailable : result.error().code();
  }

  testing::Folder folder;
  std::unique_ptr<Connection> connection = Connection::open({.path = folder / "app.db"}).value();
};

// What others may do with a file of this name; 0 when it is not there.
int mode_of(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<int>(facts.st_mode & 0777) : 0;
}

TEST_F(SqliteConnection, makes_a_database_that_nobody_else_can_read) {
  const mode_t before = ::umask(022);
  auto made = Connection::open({.path = folder / "private.db"});
  ::umask(before);
  ASSERT_TRUE(made.has_value());
  ASSERT_TRUE((*made)->run_script("create table t (a)").has_value());

  EXPECT_EQ(mode_of(folder / "private.db"), 0600);
  EXPECT_EQ(mode_of(folder / "private.db-wal"), 0600);
  EXPECT_EQ(mode_of(folder / "private.db-shm"), 0600);
}

TEST_F(SqliteConnection, makes_the_target_of_a_link_that_nobody_else_can_read) {
  std::filesystem::create_directory(std::string(folder / "volume"));
  std::filesystem::create_symlink("volume/data.db", std::string(folder / "link.db"));
  const mode_t before = ::umask(022);
  auto made = Connection::open({.path = folder / "link.db"});
  ::umask(before);
  ASSERT_TRUE(made.has_value());

  EXPECT_EQ(mode_of(folder / "volume/data.db"), 0600);
}

TEST_F(SqliteConnection, leaves_the_mode_of_a_database_that_is_there) {
  const std::string path = folder / "shared.db";
  ASSERT_TRUE(Connection::open({.path = path}).has_value());
  ASSERT_EQ(::chmod(path.c_str(), 0660), 0);

  auto opened = Connection::open({.path = path});
  ASSERT_TRUE(opened.has_value());
  ASSERT_TRUE((*opened)->run_script("create table t (a)").has_value());

  EXPECT_EQ(mode_of(path), 0660);
  EXPECT_EQ(mode_of(path + "-wal"), 0660);
}

TEST_F(SqliteConnection, binds_by_number_in_any_order) {
  ASSERT_TRUE(connection->run("insert into t (a, b) values ($2, $1)", 5, "five").has_value());
  int rows = 0;
  auto count = [&](const Row&) { ++rows; };

  ASSERT_TRUE(connection->query("select 1 from t where b = $2 and a = $1", count, "five", 5).has_value());
  ASSERT_TRUE(connection->query("select '$9' from t where b = $1 and $1 < 6 -- $7", count, 5).has_value());

  EXPECT_EQ(rows, 2);
}

TEST_F(SqliteConnection, a_text_is_as_long_as_it_is) {
  const std::string text("a\0b", 3);
  ASSERT_TRUE(connection->run("insert into t (a, b) values ($1, 1)", text).has_value());
  std::string read;

  ASSERT_TRUE(connection->query("select a from t where a = $1", [&](const Row& row) { read = row.text(0); }, text));

  EXPECT_EQ(read, text);
}

TEST_F(SqliteConnection, gives_back_every_kind_of_value_that_it_was_given) {
  const std::array<std::byte, 3> blob = {std::byte{0}, std::byte{255}, std::byte{7}};
  int rows = 0;
  auto check = [&](const Row& row) {
    ++rows;
    EXPECT_EQ(row.columns(), 9);
    EXPECT_EQ(row.integer(0), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(row.real(1), 0.25);
    EXPECT_EQ(row.text(2), "text \xc3\xa9");
    EXPECT_EQ(row.blob(3).size(), 3u);
    EXPECT_EQ(row.blob(3)[1], std::byte{255});
    EXPECT_TRUE(row.is_null(4));
    EXPECT_TRUE(row.boolean(5));
    EXPECT_TRUE(row.is_null(6));
    EXPECT_EQ(row.get<std::optional<int>>(7), 5);
    EXPECT_EQ(row.kind(8), ValueKind::Text);
    EXPECT_EQ(row.text(8), "");
  };

  auto count =
      connection->query("select $1, $2, $3, $4, $5, $6, $7, $8, $9", check, std::numeric_limits<std::int64_t>::min(),
                        0.25, std::string("text \xc3\xa9"), std::span<const std::byte>(blob), nullptr, true,
                        std::optional<int>(), std::optional<int>(5), "");

  ASSERT_TRUE(count.has_value()) << count.error().describe();
  EXPECT_EQ(rows, 1);
}

TEST_F(SqliteConnection, names_the_columns_of_a_row) {
  std::string names;
  auto check = [&](const Row& row) {
    for (int i = 0; i < row.columns(); ++i) names += std::string(row.name(i)) + " ";
  };

  EXPECT_TRUE(connection->query("select 1 as one, 2 as \"the second\", 3 as x", check).has_value());

  EXPECT_EQ(names, "one the second x ");
}

TEST_F(SqliteConnection, names_the_columns_as_they_are_after_a_change_of_the_schema) {
  ASSERT_TRUE(connection->run("insert into t (b) values (1)"));
  std::string name;
  auto keep = [&](const Row& row) { name = row.name(0); };
  const auto ask = [&] { return connection->query("select * from t", keep); };
  ASSERT_TRUE(ask());
  ASSERT_TRUE(ask());
  EXPECT_EQ(name, "a");

  ASSERT_TRUE(connection->run_script("alter table t rename column a to renamed"));

  ASSERT_TRUE(ask());
  EXPECT_EQ(name, "renamed");
}

TEST_F(SqliteConnection, keeps_thousands_of_rows_with_text_in_order) {
  std::int64_t expected = 0;
  auto check = [&](const Row& row) {
    EXPECT_EQ(row.integer(0), ++expected);
    EXPECT_EQ(row.text(1), std::string(static_cast<std::size_t>(expected % 37), 'x'));
  };

  auto count = connection->query(
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) "
      "select i, substr('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 1, i % 37) from n",
      check);

  EXPECT_EQ(count.value(), 5000u);
}

TEST_F(SqliteConnection, constraint_errors_say_what_to_do_next) {
  ASSERT_TRUE(connection->run("insert into t (b) values (1)").has_value());

  EXPECT_EQ(code("insert into t (b) values (1)"), Code::AlreadyExists);
  EXPECT_EQ(code("insert into t (c) values (null)"), Code::InvalidArgument);
  EXPECT_EQ(code("insert into t (c) values (0)"), Code::InvalidArgument);
  EXPECT_EQ(code("insert into t (parent) values ($1)", 9), Code::Conflict);
  EXPECT_EQ(code("insert into parents values ('text')"), Code::InvalidArgument);
  EXPECT_EQ(connection->run("insert into t (b) values (1)").error().message(), "UNIQUE constraint failed: t.b");
  EXPECT_TRUE(connection->run("insert into parents values (1)").has_value());
  EXPECT_EQ(code("insert into parents values (1)"), Code::AlreadyExists);
}

TEST_F(SqliteConnection, wrong_text_is_an_invalid_argument) {
  for (const char* text : {"selec 1",
                           "select nothing from t",
                           "",
                           "  -- only a comment",
                           "select 1; select 2",
                           "select $2",
                           "select $name, $1",
                           "select $1a",
                           "select $",
                           "select ?1",
                           "select :name",
                           "begin",
                           "BEGIN immediate",
                           "/* x */ commit",
                           "pragma user_version",
                           "attach 'x' as y",
                           "vacuum",
                           "savepoint x",
                           "rollback;",
                           "end"}) {
    auto statement = connection->prepare(text);
    ASSERT_FALSE(statement.has_value()) << text;
    EXPECT_EQ(statement.error().code(), Code::InvalidArgument) << text;
  }
  EXPECT_TRUE(connection->prepare("select 1 ; -- the end\n ").has_value());
  EXPECT_EQ(connection->prepare("select $name, $other, $name").value().parameters(), 2);
  EXPECT_TRUE(connection->prepare("/* first */ select 1").has_value());
}

// A client who is told 400 for it can change nothing, and nobody looks at what is logged as his mistake.
TEST_F(SqliteConnection, wrong_text_of_the_program_is_internal) {
  ASSERT_EQ(code("insert into t (c) values (0)"), Code::InvalidArgument);
  EXPECT_EQ(code("select nothing from t"), Code::Internal);
  EXPECT_EQ(code("select * from nowhere"), Code::Internal);
  EXPECT_EQ(code("select abs($1)", std::numeric_limits<std::int64_t>::min()), Code::InvalidArgument) << "of the value";

  ASSERT_TRUE(connection->run("select a, b from t").has_value());
  ASSERT_TRUE(connection->run_script("alter table t rename to u").has_value());

  EXPECT_EQ(code("select a, b from t"), Code::Internal) << "prepared when there was such a table";
  EXPECT_EQ(code("insert into t (c) values (0)"), Code::Internal);
}

TEST_F(SqliteConnection, values_and_parameters_are_as_many) {
  auto statement = connection->prepare("select $1, $2").value();
  const Value one[] = {Value(1)};

  EXPECT_EQ(statement.run(one).error().code(), Code::InvalidArgument);
}

TEST_F(SqliteConnection, a_reader_cannot_write) {
  auto reader = Connection::open({.path = folder / "app.db", .access = Access::ReadOnly}).value();

  EXPECT_EQ(reader->run("insert into t (b) values (7)").error().code(), Code::Unavailable);
  EXPECT_TRUE(reader->run("select * from t").has_value());
}

TEST_F(SqliteConnection, a_missing_folder_names_the_path) {
  auto opened = Connection::open({.path = folder / "nowhere/app.db"});

  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code(), Code::Unavailable);
  EXPECT_NE(opened.error().message().find("nowhere/app.db"), std::string::npos);
}

TEST_F(SqliteConnection, a_file_that_is_none_of_ours_is_data_loss) {
  folder.write("text.db", std::string(4096, 'x'));

  EXPECT_EQ(Connection::open({.path = folder / "text.db"}).error().code(), Code::DataLoss);
}

TEST_F(SqliteConnection, a_lock_of_another_is_unavailable_after_the_timeout) {
  auto other = Connection::open({.path = folder / "app.db", .busy_timeout = 10_ms}).value();
  run("begin immediate");

  EXPECT_EQ(other->run("insert into t (b) values (7)").error().code(), Code::Unavailable);
  run("commit");
}

TEST_F(SqliteConnection, a_result_beyond_its_limit_is_refused) {
  auto statement = connection->prepare("select zeroblob(100000)").value();
  Rows rows;

  EXPECT_EQ(statement.run({}, rows, 1000).error().code(), Code::ResourceExhausted);
  EXPECT_TRUE(statement.run({}).has_value());
}

TEST_F(SqliteConnection, a_limit_in_steps_interrupts_and_can_be_used_again) {
  auto lengthy = connection
                     ->prepare(
                         "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) "
                         "select count(*) from n")
                     .value();
  auto brief = connection->prepare("select 1").value();
  connection->limit_steps(2000);

  for (int i = 0; i < 3; ++i) {
    connection->start_steps(lengthy);
    EXPECT_FALSE(lengthy.run({}).has_value());
    EXPECT_TRUE(connection->step_limit_met());
    connection->stop_steps();
    for (int j = 0; j < 1000; ++j) {
      connection->start_steps(brief);
      ASSERT_TRUE(brief.run({}).has_value());
      ASSERT_FALSE(connection->step_limit_met());
    }
  }
  connection->limit_steps(0);
  EXPECT_TRUE(lengthy.run({}).has_value());
}

TEST_F(SqliteConnection, deferred_violations_are_seen_before_the_commit) {
  run("create table child (parent integer references parents deferrable initially deferred)");
  run("begin");
  EXPECT_TRUE(connection->run("insert into child values (77)").has_value());

  EXPECT_TRUE(connection->has_deferred_violations());
  run("insert into parents values (77)");
  EXPECT_FALSE(connection->has_deferred_violations());
  run("commit");
}

TEST(StatementCache, prepares_once_and_forgets_the_least_recently_used) {
  testing::Folder folder;
  auto connection = Connection::open({.path = folder / "app.db", .statements_max = 2}).value();
  StatementCache& cache = connection->statements();

  auto* one = cache.find(Sql("select 1")).value();
  EXPECT_EQ(cache.find(std::string_view("select 1")).value(), one);
  EXPECT_EQ(cache.prepared(), 1u);
  EXPECT_TRUE(cache.find(std::string_view("select 2")).has_value());
  EXPECT_EQ(cache.find(std::string_view("select 1")).value(), one);
  EXPECT_TRUE(cache.find(std::string_view("select 3")).has_value());
  EXPECT_EQ(cache.size(), 2);
  EXPECT_EQ(cache.find(std::string_view("select 1")).value(), one);
  EXPECT_EQ(cache.prepared(), 3u);
  EXPECT_TRUE(cache.find(std::string_view("select 2")).has_value());
  EXPECT_EQ(cache.prepared(), 4u);
}

TEST(StatementCache, one_that_was_found_by_its_address_was_used) {
  testing::Folder folder;
  auto connection = Connection::open({.path = folder / "app.db", .statements_max = 2}).value();
  StatementCache& cache = connection->statements();
  const Sql one("select 1");
  ASSERT_TRUE(cache.find(one).has_value());
  ASSERT_TRUE(cache.find(Sql("select 2")).has_value());
  ASSERT_TRUE(cache.find(one).has_value());  // By its text, where the other's address had taken its place.
  ASSERT_TRUE(cache.find(one).has_value());

  ASSERT_TRUE(cache.find(Sql("select 3")).has_value());

  ASSERT_TRUE(cache.find(one).has_value());
  EXPECT_EQ(cache.prepared(), 3u) << "the second one had to go";
}

TEST(StatementCache, finds_everything_after_many_evictions) {
  testing::Folder folder;
  auto connection = Connection::open({.path = folder / "app.db", .statements_max = 16}).value();
  StatementCache& cache = connection->statements();

  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 23; ++i) {
      const std::string text = "select " + std::to_string(i * (1 + round % 3));
      auto* entry = cache.find(text).value();
      ASSERT_EQ(entry->text, text);
      ASSERT_EQ(cache.find(text).value(), entry);
    }
  }
  EXPECT_EQ(cache.size(), 16);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_connection_test
