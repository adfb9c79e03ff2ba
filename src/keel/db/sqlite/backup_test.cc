// Copies of a database that is written to meanwhile: whole, of one moment, or not there at all.

#include "keel/db/sqlite/backup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "keel/db/sqlite/connection.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/loop_test.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/scope.h"

namespace keel::db::sqlite::backup_test {
namespace {

std::int64_t number(const std::string& path, SqlOf<> sql) {
  auto connection = Connection::open({.path = path}).value();
  std::int64_t value = -1;
  auto keep = [&](const Row& row) { value = row.integer(0); };
  EXPECT_TRUE(connection->query(sql, keep));
  return value;
}

class Backups : public ::testing::Test {
 protected:
  Backups() {
    auto made = Connection::open({.path = source});
    connection = *std::move(made);
    EXPECT_TRUE(
        connection->run_script("create table t (id integer primary key, text text) strict;"
                               "with recursive n (i) as (values (1) union all select i + 1 from n where i < 2000) "
                               "insert into t select i, hex(randomblob(200)) from n;"));
  }
  static std::string said(const Error& error) { return error.describe(); }
  bool has_part() const { return std::filesystem::exists(target + ".part"); }

  db::testing::Folder folder;
  std::string source = folder / "app.db";
  std::string target = folder / "copy.db";
  std::unique_ptr<Connection> connection;
};

TEST_F(Backups, are_of_one_moment_while_writers_go_on) {
  auto backup = Backup::begin({.source = source, .target = target, .pages = 16}).value();
  int steps = 0;
  bool is_done = false;
  while (!is_done) {
    ASSERT_TRUE(connection->run("insert into t (text) values ('later')")) << "a writer waits for nothing";
    const auto stepped = backup->step();
    ASSERT_TRUE(stepped) << said(stepped.error());
    is_done = *stepped;
    ++steps;
    EXPECT_EQ(std::filesystem::exists(target), is_done);
  }

  EXPECT_EQ(steps, static_cast<int>((backup->pages() + 15) / 16) + (backup->pages() % 16 == 0 ? 1 : 0))
      << "it never began anew";
  EXPECT_EQ(number(target, "select count(*) from t"), 2000);
  EXPECT_EQ(number(target, "select count(*) from pragma_integrity_check where integrity_check = 'ok'"), 1);
  EXPECT_FALSE(has_part());
  struct stat facts{};
  ASSERT_EQ(::stat(target.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(Backups, replace_an_older_one_when_they_are_whole_and_leave_it_otherwise) {
  folder.write("copy.db", "the older one");
  {
    auto half = Backup::begin({.source = source, .target = target, .pages = 1}).value();
    EXPECT_FALSE(half->step().value());
    EXPECT_TRUE(has_part());
  }
  EXPECT_FALSE(has_part());
  EXPECT_EQ(std::filesystem::file_size(target), 13u);

  auto whole = Backup::begin({.source = source, .target = target, .pages = 1'000'000}).value();
  EXPECT_TRUE(whole->step().value());
  EXPECT_EQ(number(target, "select count(*) from t"), 2000);
}

TEST_F(Backups, to_one_target_are_made_one_at_a_time) {
  auto first = Backup::begin({.source = source, .target = target, .pages = 1}).value();
  EXPECT_FALSE(first->step().value());

  for (int i = 0; i < 2; ++i) {
    const auto second = Backup::begin({.source = source, .target = target});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), Code::Unavailable);
    EXPECT_EQ(said(second.error()), "backup to '" + target + "': another copy to this target is being made");
  }
  EXPECT_TRUE(Backup::begin({.source = source, .target = folder / "other.db"}));
  bool is_done = false;
  while (!is_done) {
    const auto stepped = first->step();
    ASSERT_TRUE(stepped) << said(stepped.error());
    is_done = *stepped;
  }
  EXPECT_EQ(number(target, "select count(*) from t"), 2000);
  EXPECT_EQ(number(target, "select count(*) from pragma_integrity_check where integrity_check = 'ok'"), 1);
  EXPECT_FALSE(has_part());
  EXPECT_FALSE(std::filesystem::exists(target + ".part.lock"));
  EXPECT_TRUE(Backup::begin({.source = source, .target = target}));
}

TEST_F(Backups, say_what_is_wrong) {
  const auto none = Backup::begin({.source = folder / "none.db", .target = target});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::NotFound);
  EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
  EXPECT_EQ(Backup::begin({.source = source, .target = source}).error().code(), Code::InvalidArgument);
  EXPECT_EQ(Backup::begin({.source = source, .target = folder / "./app.db"}).error().code(), Code::InvalidArgument);
  EXPECT_EQ(Backup::begin({.source = source, .target = ""}).error().code(), Code::InvalidArgument);
  const auto nowhere = Backup::begin({.source = source, .target = folder / "none/copy.db"});
  ASSERT_FALSE(nowhere);
  EXPECT_NE(said(nowhere.error()).find("none/copy.db"), std::string::npos) << said(nowhere.error());
  EXPECT_EQ(number(source, "select count(*) from t"), 2000);
}

class DatabaseBackup : public io::testing::LoopTest {};

TEST_P(DatabaseBackup, is_made_while_tasks_write) {
  db::testing::Folder folder;
  auto database = Database::open({.path = folder / "app.db"}).value();
  const auto copy_while_writing = [&]() -> Task<> {
    co_await database->execute("create table t (id integer primary key, text text) strict");
    for (int i = 0; i < 200; ++i) co_await database->execute("insert into t (text) values (hex(randomblob(4000)))");
    Scope scope;
    Result<> copied;
    bool is_over = false;
    const auto copy = [&]() -> Task<> {
      copied = co_await attempt(database->backup(folder / "copy.db"));
      is_over = true;
    };
    scope.spawn(copy());
    while (!is_over) co_await database->execute("insert into t (text) values ('later')");
    co_await scope.join();
    co_await std::move(copied);
  };
  const auto done = run(copy_while_writing());
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_GE(number(folder / "copy.db", "select count(*) from t"), 200);
  EXPECT_EQ(database->stats().backups, 1u);
  database->detach(loop());
  database.reset();
}

// The simulation is below.
INSTANTIATE_TEST_SUITE_P(, DatabaseBackup, ::testing::Values(io::testing::Which::Uring, io::testing::Which::Epoll),
                         io::testing::name_of_engine);

TEST(DatabaseBackupInSimulation, is_made_on_the_simulated_disk_or_fails_with_it) {
  sim::Simulation simulation;
  Host* const before = Host::set_current(&simulation);
  {
    sim::Disk disk{1};
    SimVfs vfs{disk, 1};
    auto connection = Connection::open({.path = "/app.db", .vfs = vfs.name()}).value();
    ASSERT_TRUE(connection->run_script("create table t (id integer primary key); insert into t values (1), (2)"));
    auto backup = Backup::begin({.source = "/app.db", .target = "/copy.db", .vfs = vfs.name()}).value();
    EXPECT_TRUE(backup->step().value());
    auto copy = Connection::open({.path = "/copy.db", .vfs = vfs.name()}).value();
    std::int64_t count = 0;
    auto keep = [&](const Row& row) { count = row.integer(0); };
    EXPECT_TRUE(copy->query("select count(*) from t", keep));
    EXPECT_EQ(count, 2);

    disk.set_faults({.capacity_bytes = 20'000});
    auto full = Backup::begin({.source = "/app.db", .target = "/other.db", .vfs = vfs.name()});
    const Result<bool> refused = full ? (*full)->step() : Result<bool>(std::move(full).error());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::ResourceExhausted) << refused.error().describe();
  }
  Host::set_current(before);
}

}  // namespace
}  // namespace keel::db::sqlite::backup_test
