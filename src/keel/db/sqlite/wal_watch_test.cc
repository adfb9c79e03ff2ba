#include "keel/db/sqlite/wal_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/db/sqlite/backup.h"
#include "keel/db/sqlite/connection.h"
#include "keel/db/testing/folder.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"

namespace keel::db::sqlite::wal_watch_test {
namespace {

constexpr int pages = 4;
constexpr std::uint64_t long_pages = pages * WalWatch::long_factor;

class WalWatches : public ::testing::Test {
 protected:
  WalWatches() {
    auto opened = Connection::open({.path = folder / "app.db", .checkpoint_pages = pages});
    connection = *std::move(opened);
    EXPECT_TRUE(connection->run_script("create table t (text text) strict"));
  }
  void write() {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(connection->run("insert into t (text) values (hex(randomblob(2000)))"));
  }
  std::vector<std::string> logged() {
    std::vector<std::string> lines;
    reader.drain([&](const log::Record& record) {
      if (record.component() == "db") lines.emplace_back(record.message().substr(0, 31));
    });
    return lines;
  }

  static std::vector<std::string> said(const char* line) {
    return log::is_recorded ? std::vector<std::string>{line} : std::vector<std::string>();
  }

  log::Reader reader{false};
  db::testing::Folder folder;
  std::unique_ptr<Connection> connection;
};

TEST_F(WalWatches, move_the_log_into_the_file_as_commits_fill_it) {
  write();
  EXPECT_GT(connection->wal().checkpoints(), 10u);
  EXPECT_LT(connection->wal().pages(), long_pages);
  EXPECT_TRUE(logged().empty());
}

// A snapshot that is held keeps what it may still read.
TEST_F(WalWatches, say_when_it_becomes_long_and_when_it_is_short_again) {
  write();
  const std::uint64_t before = connection->wal().checkpoints();
  {
    const auto backup = Backup::begin({.source = folder / "app.db", .target = folder / "copy.db"}).value();
    write();
    EXPECT_EQ(connection->wal().checkpoints(), before);
    EXPECT_GT(connection->wal().pages(), long_pages);
    EXPECT_EQ(logged(), said("the write-ahead log is long: an"));
  }
  write();
  EXPECT_GT(connection->wal().checkpoints(), before);
  EXPECT_LT(connection->wal().pages(), long_pages);
  EXPECT_EQ(logged(), said("the write-ahead log is short ag"));
}

TEST_F(WalWatches, wait_to_be_told_where_they_are_deferred) {
  auto deferred = Connection::open({.path = folder / "other.db", .checkpoint_pages = pages}).value();
  deferred->wal().defer();
  ASSERT_TRUE(deferred->run_script("create table t (text text) strict"));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(deferred->run("insert into t (text) values (hex(randomblob(2000)))"));
  EXPECT_EQ(deferred->wal().checkpoints(), 0u);
  EXPECT_EQ(logged(), said("the write-ahead log is long: an"));

  deferred->wal().checkpoint_if_due();
  EXPECT_EQ(deferred->wal().checkpoints(), 1u);
  deferred->wal().checkpoint_if_due();
  EXPECT_EQ(deferred->wal().checkpoints(), 1u) << "there was no commit since";
}

TEST_F(WalWatches, leave_the_log_alone_without_a_number_of_pages) {
  auto never = Connection::open({.path = folder / "other.db", .checkpoint_pages = 0}).value();
  ASSERT_TRUE(never->run_script("create table t (text text) strict"));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(never->run("insert into t (text) values (hex(randomblob(2000)))"));
  EXPECT_EQ(never->wal().checkpoints(), 0u);
  EXPECT_GT(never->wal().pages(), long_pages);
  EXPECT_TRUE(logged().empty());
}

}  // namespace
}  // namespace keel::db::sqlite::wal_watch_test
