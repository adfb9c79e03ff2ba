// SQLite itself on the simulated disk: locks, shared memory, and what is left after a power loss at every moment.

#include "keel/db/testing/sim_vfs.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/db/sqlite/connection.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"

namespace keel::db::sqlite::sim_vfs_test {
namespace {

enum class Journal { Wal, Delete };

Result<std::unique_ptr<Connection>> open(const SimVfs& vfs, Journal journal = Journal::Wal,
                                         Synchronous synchronous = Synchronous::Full) {
  KEEL_TRY(std::unique_ptr<Connection> connection,
           Connection::open({.path = "/app.db", .synchronous = synchronous, .checkpoint_pages = 8, .vfs = vfs.name()}));
  if (journal == Journal::Delete) {
    // EXTRA syncs the folder after the journal was removed: with FULL the last transaction may be rolled back.
    KEEL_TRY_VOID(connection->run_script("pragma journal_mode=delete"));
    if (synchronous != Synchronous::Off) KEEL_TRY_VOID(connection->run_script("pragma synchronous=extra"));
  }
  return connection;
}

template <class... A>
std::string text_of(Connection& connection, SqlFor<sizeof...(A)> sql, const A&... arguments) {
  std::string text;
  auto keep = [&](const Row& row) { text += row.text(0); };
  const auto rows = connection.query(sql, keep, arguments...);
  return rows ? text : rows.error().describe();
}

class SimVfsTest : public ::testing::Test {
 protected:
  sim::Disk disk{1};
  SimVfs vfs{disk, 1};
};

TEST_F(SimVfsTest, a_reader_keeps_its_snapshot_while_a_writer_commits) {
  auto writer = open(vfs).value();
  auto reader = open(vfs).value();
  ASSERT_TRUE(writer->run_script("create table t (a text); insert into t values ('old')"));
  ASSERT_TRUE(reader->run_script("begin"));
  ASSERT_EQ(text_of(*reader, "select a from t"), "old");

  ASSERT_TRUE(writer->run_script("update t set a = 'new'"));

  EXPECT_EQ(text_of(*reader, "select a from t"), "old");
  ASSERT_TRUE(reader->run_script("commit"));
  EXPECT_EQ(text_of(*reader, "select a from t"), "new");
  EXPECT_EQ(text_of(*reader, "select journal_mode from pragma_journal_mode"), "wal");
}

TEST_F(SimVfsTest, a_second_writer_is_busy_until_the_first_has_committed) {
  for (const Journal journal : {Journal::Wal, Journal::Delete}) {
    auto first = open(vfs, journal).value();
    auto second = open(vfs, journal).value();
    ASSERT_TRUE(first->run_script("create table if not exists t (a text); begin immediate; insert into t values (1)"));

    EXPECT_EQ(second->run_script("begin immediate").error().code(), Code::Unavailable);

    ASSERT_TRUE(first->run_script("commit"));
    EXPECT_TRUE(second->run_script("begin immediate; insert into t values (2); commit"));
  }
}

TEST_F(SimVfsTest, without_a_wal_a_commit_waits_for_readers_and_keeps_new_ones_out) {
  auto writer = open(vfs, Journal::Delete).value();
  auto reader = open(vfs, Journal::Delete).value();
  auto late = open(vfs, Journal::Delete).value();
  ASSERT_TRUE(writer->run_script("create table t (a text); insert into t values ('old')"));
  ASSERT_TRUE(reader->run_script("begin"));
  ASSERT_EQ(text_of(*reader, "select a from t"), "old");
  ASSERT_TRUE(writer->run_script("begin immediate; update t set a = 'new'"));
  ASSERT_EQ(text_of(*late, "select a from t"), "old");

  EXPECT_EQ(writer->run_script("commit").error().code(), Code::Unavailable) << "a reader is in";
  EXPECT_NE(text_of(*late, "select a from t"), "old") << "none comes in while a commit waits";

  ASSERT_TRUE(reader->run_script("commit"));
  EXPECT_TRUE(writer->run_script("commit"));
  EXPECT_EQ(text_of(*late, "select a from t"), "new");
}

TEST_F(SimVfsTest, a_checkpoint_moves_the_wal_into_the_file_and_the_last_connection_removes_it) {
  auto connection = open(vfs).value();
  ASSERT_TRUE(connection->run_script("create table t (a text); insert into t values ('kept')"));
  EXPECT_GT(disk.find("/app.db-wal"), 0);

  ASSERT_TRUE(connection->checkpoint());

  EXPECT_EQ(disk.find("/app.db-wal"), 0);
  connection.reset();
  EXPECT_LT(disk.find("/app.db-wal"), 0);
  EXPECT_EQ(vfs.open_files(), 0);
  EXPECT_EQ(text_of(*open(vfs).value(), "select a from t"), "kept");
}

TEST_F(SimVfsTest, time_and_randomness_are_those_of_the_simulation) {
  sim::Simulation simulation;
  Host* before = Host::set_current(&simulation);
  auto connection = open(vfs).value();
  EXPECT_EQ(text_of(*connection, "select strftime('%Y-%m-%d %H:%M', 'now')"), "2026-01-01 00:00");
  const std::string drawn = text_of(*connection, "select hex(randomblob(16))");
  Host::set_current(before);

  connection.reset();
  EXPECT_EQ(drawn.size(), 32u);
}

TEST(SimVfs, sqlites_own_randomness_follows_from_the_seed) {
  const auto draw = [](std::uint64_t seed) {
    sim::Disk disk(1);
    SimVfs vfs(disk, seed);
    return text_of(*open(vfs).value(), "select hex(randomblob(16))");
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST_F(SimVfsTest, errors_of_the_disk_become_errors_of_the_statement) {
  auto connection = open(vfs).value();
  ASSERT_TRUE(connection->run_script("create table t (a text)"));
  disk.set_faults({.write_error = 1});
  EXPECT_EQ(connection->run_script("insert into t values (1)").error().code(), Code::Unavailable);
  disk.set_faults({.sync_error = 1});
  EXPECT_EQ(connection->run_script("insert into t values (1)").error().code(), Code::Unavailable);
  disk.set_faults({.capacity_bytes = 1});
  EXPECT_EQ(connection->run_script("insert into t values (zeroblob(50000))").error().code(), Code::ResourceExhausted);
  disk.set_faults({});
  EXPECT_TRUE(connection->run_script("insert into t values (1)"));
  EXPECT_EQ(text_of(*connection, "select cast(count(*) as text) from t"), "1");
}

// The system takes the pages of a sync that failed for written. Who starts again finds the commit in the WAL, and would
// put the next ones behind what the disk does not have.
TEST_F(SimVfsTest, what_is_committed_after_a_start_does_not_rest_on_a_sync_that_failed) {
  const auto insert = [](Connection& to, int value) { return to.run("insert into t values ($1)", value); };
  auto connection = open(vfs).value();
  ASSERT_TRUE(connection->run_script("create table t (a integer)"));
  ASSERT_TRUE(insert(*connection, 1));
  disk.set_faults({.sync_error = 1});
  ASSERT_FALSE(insert(*connection, 2));
  connection.reset();
  disk.set_faults({});

  connection = open(vfs).value();
  ASSERT_TRUE(insert(*connection, 3));
  disk.power_off();
  connection.reset();
  disk.power_on();

  EXPECT_EQ(text_of(*open(vfs).value(), "select group_concat(a) from t where a <> 2"), "1,3");
}

// Nor when somebody who reads has found it first, and is still reading.
TEST_F(SimVfsTest, nor_beside_a_reader_that_was_there_first) {
  auto connection = open(vfs).value();
  ASSERT_TRUE(connection->run_script("create table t (a integer); insert into t values (1)"));
  disk.set_faults({.sync_error = 1});
  ASSERT_FALSE(connection->run_script("insert into t values (2)"));
  connection.reset();
  disk.set_faults({});

  auto reader = Connection::open({.path = "/app.db", .access = Access::ReadOnly, .vfs = vfs.name()}).value();
  ASSERT_TRUE(reader->run_script("begin; select * from t"));
  connection = open(vfs).value();
  ASSERT_TRUE(connection->run_script("insert into t values (3)"));
  EXPECT_EQ(text_of(*reader, "select cast(count(*) as text) from t where a = 3"), "0");
  disk.power_off();
  connection.reset();
  reader.reset();
  disk.power_on();

  EXPECT_EQ(text_of(*open(vfs).value(), "select group_concat(a) from t where a <> 2"), "1,3");
}

TEST_F(SimVfsTest, a_start_beside_a_process_that_writes_waits_for_its_commit_and_goes_on) {
  auto first = open(vfs).value();
  ASSERT_TRUE(first->run_script("create table t (a integer); begin immediate; insert into t values (1)"));
  auto second = open(vfs);
  ASSERT_TRUE(second) << second.error().describe();
  ASSERT_TRUE(first->run_script("commit"));
  ASSERT_TRUE((*second)->run_script("insert into t values (2)"));
  EXPECT_EQ(text_of(*first, "select cast(count(*) as text) from t"), "2");
}

TEST_F(SimVfsTest, a_wal_that_cannot_be_synced_is_an_error_of_the_start_and_one_on_a_full_disk_is_none) {
  auto connection = open(vfs).value();
  ASSERT_TRUE(connection->run_script("create table t (a integer); insert into t values (1)"));
  disk.set_faults({.sync_error = 1});
  connection.reset();
  const auto opened = open(vfs);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::Unavailable) << opened.error().describe();
  EXPECT_NE(opened.error().describe().find("its WAL: disk I/O error"), std::string::npos) << opened.error().describe();

  disk.set_faults({.capacity_bytes = 1});
  EXPECT_EQ(text_of(*open(vfs).value(), "select cast(count(*) as text) from t"), "1");
}

// A commit, one of several pages whose sync fails, and a start within whose change `at` the power goes (0: never).
std::string lose_power_in_start(std::uint64_t seed, std::uint64_t at, std::uint64_t& changes) {
  sim::Disk disk(seed);
  SimVfs vfs(disk, seed);
  auto connection = open(vfs).value();
  EXPECT_TRUE(
      connection->run_script("create table rows (pad blob); create table total (n integer);"
                             "insert into total values (0); create index by_pad on rows (pad)"));
  const auto insert = [&](int count) {
    std::string text = "begin; update total set n = n + " + std::to_string(count) + ";";
    for (int i = 0; i < count; ++i) text += "insert into rows values (randomblob(900));";
    return connection->run_script(text + "commit");
  };
  EXPECT_TRUE(insert(6));
  EXPECT_TRUE(connection->checkpoint());
  EXPECT_TRUE(insert(1));
  disk.set_faults({.sync_error = 1});
  EXPECT_FALSE(insert(6));
  connection.reset();
  disk.set_faults({});

  const std::uint64_t before = disk.changes();
  disk.power_off_after(at);
  auto started = open(vfs);
  if (started && disk.is_on()) static_cast<void>((*started)->checkpoint().is_ok());
  changes = disk.changes() - before;
  if (disk.is_on()) disk.power_off();
  if (started) started->reset();
  disk.power_on();

  const auto opened = open(vfs);
  if (!opened) return opened.error().describe();
  if (text_of(**opened, "select integrity_check from pragma_integrity_check limit 1") != "ok") return "corrupt";
  const std::string rows = text_of(**opened, "select cast(count(*) as text) from rows");
  if (text_of(**opened, "select cast(n as text) from total") != rows) return "half a transaction";
  return rows == "7" || rows == "13" ? "" : rows + " rows";
}

TEST(SimVfs, a_start_after_a_sync_that_failed_may_be_cut_at_any_moment) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::uint64_t changes = 0;
    ASSERT_EQ(lose_power_in_start(seed, 0, changes), "") << "seed " << seed;
    EXPECT_GT(changes, 4u);
    std::uint64_t ignored = 0;
    for (std::uint64_t at = 1; at <= changes; ++at) {
      ASSERT_EQ(lose_power_in_start(seed, at, ignored), "") << "seed " << seed << ", change " << at;
    }
  }
}

// --- What a power loss leaves.

constexpr int transactions = 12;

struct Found {
  std::string complaint;
  std::uint64_t changes = 0;
  std::uint64_t hash = 0;
};

// Runs transactions of several pages, in which `total` always says how many rows there are, until the power goes within
// change `at` (0: at the end), and looks at what is left.
Found lose_power_at(std::uint64_t seed, std::uint64_t at, Journal journal, Synchronous synchronous,
                    const sim::DiskFaults& faults) {
  sim::Disk disk(seed);
  SimVfs vfs(disk, seed);
  int acknowledged = 0;
  {
    auto connection = open(vfs, journal, synchronous).value();
    EXPECT_TRUE(
        connection->run_script("create table rows (id integer primary key, pad blob);"
                               "create table total (n integer); insert into total values (0);"
                               "create table transactions (n integer); insert into transactions values (0)"));
    disk.set_faults(faults);
    const std::uint64_t before = disk.changes();
    disk.power_off_after(at);
    for (int i = 1; i <= transactions && disk.is_on(); ++i) {
      Result<> done = connection->run_script("begin immediate");
      if (done) done = connection->run("update total set n = n + $1", i % 4 + 1);
      for (int row = 0; done && row < i % 4 + 1; ++row) {
        done = connection->run("insert into rows (pad) values (zeroblob($1))", 700 * (i % 7));
      }
      if (done) done = connection->run("update transactions set n = $1", i);
      if (done) done = connection->run_script("commit");
      if (done) acknowledged = i;
      if (!connection->is_autocommit()) (void)connection->run_script("rollback").is_ok();
    }
    disk.set_faults({});
    if (disk.is_on()) disk.power_off();
    Found found;
    found.changes = disk.changes() - before;
    connection.reset();
    disk.power_on();
    if (at == 0) return found;
  }
  Found found;
  auto opened = open(vfs, journal, synchronous);
  if (!opened) {
    found.complaint = opened.error().describe();
  } else {
    Connection& connection = **opened;
    const std::string last = text_of(connection, "select cast(n as text) from transactions");
    if (text_of(connection, "select integrity_check from pragma_integrity_check") != "ok") {
      found.complaint = "corrupt";
    } else if (text_of(connection, "select iif(n = (select count(*) from rows), 'whole', 'half') from total") !=
               "whole") {
      found.complaint = "half a transaction";
    } else if (last.empty() || std::stoi(last) < acknowledged) {
      found.complaint = "an acknowledged transaction is lost";
    }
  }
  found.hash = disk.trace_hash();
  return found;
}

// The first complaint over every moment at which the power may go.
std::string lose_power_everywhere(std::uint64_t seed, Journal journal, Synchronous synchronous,
                                  const sim::DiskFaults& faults = {}) {
  const std::uint64_t changes = lose_power_at(seed, 0, journal, synchronous, faults).changes;
  EXPECT_GT(changes, 60u);
  for (std::uint64_t at = 1; at <= changes; ++at) {
    const Found found = lose_power_at(seed, at, journal, synchronous, faults);
    if (!found.complaint.empty()) {
      return found.complaint + ": seed " + std::to_string(seed) + ", change " + std::to_string(at);
    }
  }
  return "";
}

class PowerLoss : public ::testing::TestWithParam<Journal> {};
INSTANTIATE_TEST_SUITE_P(, PowerLoss, ::testing::Values(Journal::Wal, Journal::Delete), [](const auto& param) {
  return param.param == Journal::Wal ? "with_a_wal" : "with_a_rollback_journal";
});

TEST_P(PowerLoss, at_any_moment_leaves_every_acknowledged_transaction_whole) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ASSERT_EQ(lose_power_everywhere(seed, GetParam(), Synchronous::Full), "");
  }
}

TEST_P(PowerLoss, on_a_disk_that_fails_now_and_then_does_so_too) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const sim::DiskFaults faults{.read_error = 0.002,
                                 .write_error = 0.01,
                                 .sync_error = 0.03,
                                 .short_read = 0.2,
                                 .short_write = 0.2,
                                 .write_back = 0.3};
    ASSERT_EQ(lose_power_everywhere(seed, GetParam(), Synchronous::Full, faults), "");
  }
}

TEST_P(PowerLoss, is_the_same_twice) {
  for (std::uint64_t at = 1; at < 60; at += 7) {
    const Found first = lose_power_at(9, at, GetParam(), Synchronous::Full, sim::DiskFaults::faulty(9));
    const Found second = lose_power_at(9, at, GetParam(), Synchronous::Full, sim::DiskFaults::faulty(9));
    ASSERT_EQ(first.hash, second.hash);
  }
}

// The checker itself: what is wrong does not pass.
TEST_P(PowerLoss, is_noticed_when_nothing_is_synced) {
  EXPECT_NE(lose_power_everywhere(1, GetParam(), Synchronous::Off), "");
}
TEST_P(PowerLoss, is_noticed_on_a_disk_that_lies) {
  EXPECT_NE(lose_power_everywhere(1, GetParam(), Synchronous::Full, {.syncs = false}), "");
}

}  // namespace
}  // namespace keel::db::sqlite::sim_vfs_test
