// An acknowledged write is on disk: shown by the order of what reaches the WAL, and by disks that fail.

#include <gtest/gtest.h>

#include <algorithm>

#include "keel/db/sqlite/database.h"
#include "keel/db/sqlite/trace_vfs.h"
#include "keel/db/testing.h"
#include "keel/task/scope.h"

namespace keel::db {
namespace {

using sqlite::TraceVfs;
using testing::OwnLoop;

// One client: a write, and the mark as soon as the task knows that it succeeded.
Task<> write_rows(Database& database, TraceVfs& vfs, int client, int rounds, std::vector<std::string>& acknowledged) {
  for (int i = 0; i < rounds; ++i) {
    const std::string token = "<client " + std::to_string(client) + " row " + std::to_string(i) + ">";
    Result<Written> written = co_await attempt(database.execute("insert into rows (token) values ($1)", token));
    if (!written) {
      EXPECT_EQ(written.error().code(), Code::Unavailable) << written.error().describe();
      continue;
    }
    vfs.mark(token);
    acknowledged.push_back(token);
  }
}
Task<> write_all(Database& database, TraceVfs& vfs, int clients, int rounds, std::vector<std::string>& acknowledged) {
  Scope scope;
  for (int i = 0; i < clients; ++i) scope.spawn(write_rows(database, vfs, i, rounds, acknowledged));
  co_await scope.join();
}

class Durability : public ::testing::Test {
 protected:
  void open(sqlite::Synchronous synchronous) {
    std::filesystem::create_directory(folder / "migrations");
    folder.write("migrations/0001_rows.sql", "create table rows (id integer primary key, token text not null)");
    auto opened = Database::open({.path = folder / "app.db",
                                  .migrations = folder / "migrations",
                                  .synchronous = synchronous,
                                  .vfs = vfs.name()});
    ASSERT_TRUE(opened.has_value()) << opened.error().describe();
    database = *std::move(opened);
    vfs.clear();
  }
  void write(int clients, int rounds) {
    auto result = loop.run(write_all(*database, vfs, clients, rounds, acknowledged));
    EXPECT_TRUE(result.has_value()) << result.error().describe();
  }
  // What another process finds, without the data base's help.
  std::vector<std::string> stored() {
    std::vector<std::string> tokens;
    auto keep = [&](const Row& row) { tokens.emplace_back(row.text(0)); };
    auto other = sqlite::Connection::open({.path = folder / "app.db"}).value();
    EXPECT_TRUE(other->query("select token from rows order by id", keep).has_value());
    auto sound = [](const Row& row) { EXPECT_EQ(row.text(0), "ok"); };
    EXPECT_TRUE(other->query("select * from pragma_integrity_check", sound).has_value());
    return tokens;
  }
  void expect_all_acknowledged_stored() {
    std::vector<std::string> tokens = stored();
    std::sort(tokens.begin(), tokens.end());
    for (const std::string& token : acknowledged) {
      EXPECT_TRUE(std::binary_search(tokens.begin(), tokens.end(), token))
          << token << " was acknowledged and is not there";
    }
  }

  testing::Folder folder;
  TraceVfs vfs;
  OwnLoop loop;
  std::unique_ptr<Database> database;
  std::vector<std::string> acknowledged;
};

TEST_F(Durability, every_acknowledged_write_was_synced_after_it_was_written) {
  open(sqlite::Synchronous::Full);

  write(64, 6);

  EXPECT_EQ(acknowledged.size(), 384u);
  EXPECT_EQ(vfs.violations(), std::vector<std::string>());
  EXPECT_LT(database->stats().writer.groups, 100u) << "64 clients share their fsyncs";
  EXPECT_GE(vfs.syncs(), database->stats().writer.groups) << "one fsync a group";
  expect_all_acknowledged_stored();
}

TEST_F(Durability, the_order_trace_is_red_without_syncs) {
  open(sqlite::Synchronous::Off);

  write(64, 2);

  EXPECT_EQ(vfs.violations().size(), 128u);
}

TEST_F(Durability, the_order_trace_is_red_when_only_checkpoints_sync) {
  open(sqlite::Synchronous::Normal);

  write(64, 2);

  EXPECT_EQ(vfs.violations().size(), 128u);
}

TEST_F(Durability, a_failing_sync_acknowledges_none_of_its_group) {
  for (int nth : {1, 2, 3}) {
    open(sqlite::Synchronous::Full);
    acknowledged.clear();
    vfs.fail_sync(nth);

    write(32, 4);

    EXPECT_LT(acknowledged.size(), 128u);
    EXPECT_GE(acknowledged.size(), 96u) << "one group fails and no other";
    EXPECT_EQ(database->stats().writer.disk_errors, 1u);
    EXPECT_EQ(vfs.violations(), std::vector<std::string>());
    expect_all_acknowledged_stored();
    database.reset();
  }
}

TEST_F(Durability, a_full_disk_acknowledges_nothing_and_is_recovered_from) {
  open(sqlite::Synchronous::Full);
  write(8, 2);
  const std::size_t before = acknowledged.size();
  EXPECT_EQ(before, 16u);

  vfs.fill_disk(true);
  write(8, 2);
  EXPECT_EQ(acknowledged.size(), before);
  EXPECT_GE(database->stats().writer.disk_errors, 1u);
  EXPECT_EQ(stored().size(), before);
  vfs.fill_disk(false);
  write(8, 2);

  EXPECT_EQ(acknowledged.size(), before + 16);
  EXPECT_EQ(vfs.violations(), std::vector<std::string>());
  expect_all_acknowledged_stored();
}

}  // namespace
}  // namespace keel::db
