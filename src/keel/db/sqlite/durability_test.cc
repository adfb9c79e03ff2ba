// An acknowledged write is on disk: shown by the order of what reaches the WAL, and by disks that fail.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <latch>

#include "keel/base/host.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/db/testing/trace_vfs.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::db::sqlite::sqlite_durability_test {
namespace {

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

Code code_of(const auto& result) { return result ? Code::Internal : result.error().code(); }

class Durability : public ::testing::Test {
 protected:
  void open(Synchronous synchronous) {
    std::filesystem::create_directory(folder / "migrations");
    folder.write("migrations/0001_rows.sql", "create table rows (id integer primary key, token text not null)");
    options.path = folder / "app.db";
    options.migrations = folder / "migrations";
    options.synchronous = synchronous;
    options.vfs = vfs.name();
    auto opened = Database::open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().describe();
    database = *std::move(opened);
    vfs.clear();
  }
  void write(int clients, int rounds) {
    auto result = loop.run(write_all(*database, vfs, clients, rounds, acknowledged));
    EXPECT_TRUE(result.has_value()) << result.error().describe();
  }
  // What another process finds, without the database's help.
  std::vector<std::string> stored() {
    std::vector<std::string> tokens;
    auto keep = [&](const Row& row) { tokens.emplace_back(row.text(0)); };
    auto other = Connection::open({.path = folder / "app.db"}).value();
    EXPECT_TRUE(other->query("select token from rows order by id", keep).has_value());
    auto sound = [](const Row& row) { EXPECT_EQ(row.text(0), "ok"); };
    EXPECT_TRUE(other->query("select * from pragma_integrity_check", sound).has_value());
    return tokens;
  }
  // Through the database that has the fault.
  std::int64_t read_count() { return loop.run(database->query_one<std::int64_t>("select count(*) from rows")).value(); }
  // Waits for the writer's thread, which counts as in use until it waits for the first time and, after a write, until
  // it waits again.
  std::uint64_t in_use_soon() {
    for (int i = 0; i < 5'000 && database->pool().in_use != 0; ++i) Host::system().sleep(1_ms);
    return database->pool().in_use;
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
  DatabaseOptions options;
  std::unique_ptr<Database> database;
  std::vector<std::string> acknowledged;
};

TEST_F(Durability, every_acknowledged_write_was_synced_after_it_was_written) {
  open(Synchronous::Full);

  write(64, 6);

  EXPECT_EQ(acknowledged.size(), 384u);
  EXPECT_EQ(vfs.violations(), std::vector<std::string>());
  EXPECT_LT(database->stats().writer.groups, 100u) << "64 clients share their fsyncs";
  EXPECT_GE(vfs.syncs(), database->stats().writer.groups) << "one fsync a group";
  expect_all_acknowledged_stored();
}

// The checkpoint that a commit makes due is none of those who wait for the commit.
TEST_F(Durability, a_write_is_acknowledged_before_the_checkpoint_that_follows_it) {
  options.checkpoint_pages = 4;
  open(Synchronous::Full);
  vfs.hold_file(10_s);

  while (!vfs.is_file_awaited()) {
    write(1, 1);
    while (!database->is_idle() && !vfs.is_file_awaited()) Host::system().sleep(1_ms);
  }
  const std::uint64_t acknowledged_by_then = database->stats().writer.writes;

  EXPECT_TRUE(vfs.release_file()) << "a write waited for the checkpoint";
  EXPECT_EQ(acknowledged_by_then, acknowledged.size());
  EXPECT_EQ(vfs.violations(), std::vector<std::string>());
  write(4, 4);
  EXPECT_GT(database->stats().writer.checkpoints, 0u);
  expect_all_acknowledged_stored();
}

TEST_F(Durability, the_order_trace_is_red_without_syncs) {
  open(Synchronous::Off);

  write(64, 2);

  EXPECT_EQ(vfs.violations().size(), 128u);
}

TEST_F(Durability, the_order_trace_is_red_when_only_checkpoints_sync) {
  open(Synchronous::Normal);

  write(64, 2);

  EXPECT_EQ(vfs.violations().size(), 128u);
}

TEST_F(Durability, a_failing_sync_acknowledges_none_of_its_group) {
  for (int nth : {1, 2, 3}) {
    open(Synchronous::Full);
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
  open(Synchronous::Full);
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

TEST_F(Durability, a_failed_write_says_whether_it_took_effect) {
  open(Synchronous::Full);
  const auto insert = [&] {
    auto written = loop.run(database->execute("insert into rows (token) values ('x')"));
    return written ? std::string() : written.error().describe();
  };

  vfs.fill_disk(true);
  EXPECT_EQ(insert(), "the disk does not accept this write, which did not take effect");
  vfs.fill_disk(false);
  vfs.fail_sync(1);
  EXPECT_EQ(insert(), "the disk failed while this write was being committed: whether it took effect is unknown");
  EXPECT_EQ(insert(), "");
}

TEST_F(Durability, a_read_only_disk_refuses_writes_and_is_recovered_from) {
  open(Synchronous::Full);
  write(8, 2);

  vfs.refuse_writes(true);
  write(8, 2);
  EXPECT_EQ(acknowledged.size(), 16u);
  EXPECT_TRUE(database->stats().writer.disk_fails);
  EXPECT_EQ(read_count(), 16);
  vfs.refuse_writes(false);
  write(8, 2);

  EXPECT_EQ(acknowledged.size(), 32u);
  EXPECT_FALSE(database->stats().writer.disk_fails);
  expect_all_acknowledged_stored();
}

Task<> write_one(Database& database, Code& code) {
  const auto written = co_await attempt(database.execute("insert into rows (token) values ('never')"));
  code = written ? Code::NotFound : written.error().code();
}
Task<> lose_group(Database& database) {
  const auto lost = co_await attempt(database.execute("insert or rollback into rows (id) values (1)"));
  EXPECT_FALSE(lost.has_value());
}
// Three writes that wait for the writer and become one group, which the second one rolls back.
Task<> lose_group_of_three(Database& database, TraceVfs& vfs, std::vector<Code>& codes) {
  std::latch entered{1};
  std::latch released{1};
  auto block = [&](Connection&) -> Result<> {
    entered.count_down();
    released.wait();
    return {};
  };
  Scope scope;
  codes.resize(2);
  scope.spawn(database.transact(block));
  entered.wait();
  scope.spawn(write_one(database, codes[0]));
  scope.spawn(lose_group(database));
  scope.spawn(write_one(database, codes[1]));
  vfs.lack_memory(true);
  released.count_down();
  co_await scope.join();
  vfs.lack_memory(false);
}

TEST_F(Durability, a_commit_that_fails_when_a_write_of_a_lost_group_runs_alone_is_not_acknowledged) {
  open(Synchronous::Full);
  std::vector<Code> codes;

  ASSERT_TRUE(loop.run(lose_group_of_three(*database, vfs, codes)));

  EXPECT_EQ(codes, std::vector<Code>(2, Code::ResourceExhausted));
  EXPECT_EQ(read_count(), 0);
  write(1, 1);
  EXPECT_EQ(stored(), acknowledged);
}

TEST_F(Durability, try_write_tells_whether_the_disk_takes_writes) {
  open(Synchronous::Full);
  EXPECT_TRUE(loop.run(database->try_write()));

  vfs.fill_disk(true);
  EXPECT_EQ(code_of(loop.run(database->try_write())), Code::Unavailable);
  EXPECT_TRUE(database->stats().writer.disk_fails);
  vfs.fill_disk(false);

  EXPECT_TRUE(loop.run(database->try_write()));
  EXPECT_FALSE(database->stats().writer.disk_fails) << "without any other write";
}

Task<> read_on_after_an_error(Database& database, TraceVfs& vfs) {
  Transaction transaction = co_await database.begin({.read_only = true});
  EXPECT_EQ(co_await transaction.query_one<int>("select count(*) from rows"), 0);
  co_await database.execute("insert into rows (token) values ('later')");
  vfs.fail_read();
  const auto failed = co_await attempt(transaction.query_one<int>("select count(*) from others"));
  EXPECT_EQ(code_of(failed), Code::Unavailable);

  const auto again = co_await attempt(transaction.query_one<int>("select count(*) from rows"));
  EXPECT_EQ(code_of(again), Code::Conflict);
  const auto committed = co_await attempt(transaction.commit());
  EXPECT_EQ(code_of(committed), Code::Conflict);
}

TEST_F(Durability, a_read_only_transaction_that_has_lost_its_snapshot_has_ended) {
  open(Synchronous::Full);
  ASSERT_TRUE(loop.run(database->execute("create table others (id integer primary key)")));
  database.reset();  // Moves the WAL into the file, so that pages are read from there.
  open(Synchronous::Full);

  const auto done = loop.run(read_on_after_an_error(*database, vfs));

  EXPECT_TRUE(done) << done.error().describe();
  EXPECT_EQ(database->stats().read_transactions, 0u);
  EXPECT_EQ(in_use_soon(), 0u);
  EXPECT_EQ(read_count(), 1);
}

Task<> count_within(Database& database, Duration limit) {
  co_await with_timeout(limit, database.query_one<int>("select count(*) from rows"));
}

TEST_F(Durability, a_read_that_is_cancelled_while_its_connection_is_opened_leaves_none_in_use) {
  options.loop_steps_max = 0;
  open(Synchronous::Full);
  ASSERT_TRUE(database->attach(loop.loop));
  ASSERT_EQ(in_use_soon(), 0u);
  vfs.slow_open(200_ms);

  EXPECT_EQ(code_of(loop.run(count_within(*database, 20_ms))), Code::DeadlineExceeded);
  EXPECT_EQ(database->pool().in_use, 0u);

  vfs.slow_open(Duration());
  EXPECT_EQ(read_count(), 0);
  EXPECT_EQ(database->pool().in_use, 0u);
}

TEST_F(Durability, a_check_of_writes_is_no_disk_error_of_its_own) {
  open(Synchronous::Full);
  vfs.fill_disk(true);
  write(1, 1);
  const WriterStats before = database->stats().writer;
  EXPECT_EQ(before.disk_errors, 1u);
  EXPECT_EQ(before.failed, 1u);
  EXPECT_EQ(before.checks_failed, 0u);

  for (int i = 0; i < 3; ++i) EXPECT_EQ(code_of(loop.run(database->check_writes())), Code::Unavailable);

  EXPECT_EQ(database->stats().writer.disk_errors, 1u);
  EXPECT_EQ(database->stats().writer.failed, 1u);
  EXPECT_EQ(database->stats().writer.checks_failed, 3u);
  EXPECT_TRUE(database->stats().writer.disk_fails);
  write(1, 1);
  EXPECT_EQ(database->stats().writer.disk_errors, 2u) << "another write meets it";
  vfs.fill_disk(false);
  EXPECT_TRUE(loop.run(database->check_writes()));
  EXPECT_EQ(database->stats().writer.checks_failed, 3u);
}

TEST_F(Durability, the_log_says_once_that_the_disk_fails_and_once_that_it_works_again) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  log::Reader reader(false);
  open(Synchronous::Full);
  reader.drain([](const log::Record&) {});
  vfs.fill_disk(true);
  write(1, 3);
  vfs.fill_disk(false);
  write(1, 3);

  std::vector<std::string> lines;
  reader.drain([&](const log::Record& record) {
    if (record.component() == "db.writer") lines.emplace_back(record.message());
  });
  EXPECT_EQ(lines,
            (std::vector<std::string>{"the disk does not accept writes; writes fail until the disk accepts them again",
                                      "the disk accepts writes again"}));
}

// A disk of one megabyte that is really full.
class SmallDisk {
 public:
  explicit SmallDisk(std::string folder) : folder_(std::move(folder)) {
    // In a namespace of this thread and those that it starts: nothing is left mounted, whatever happens.
    is_mounted_ = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                  ::mount("keel-test", folder_.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  bool is_mounted() const { return is_mounted_; }
  void fill() const {
    std::ofstream file(folder_ + "/filler");
    const std::string block(512, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void empty() const { std::filesystem::remove(folder_ + "/filler"); }

 private:
  std::string folder_;
  bool is_mounted_ = false;
};

TEST(FullDisk, refuses_writes_while_reads_go_on_and_recovers_when_there_is_space) {
  testing::Folder folder;
  std::filesystem::create_directory(folder / "disk");
  const SmallDisk disk(folder / "disk");
  if (!disk.is_mounted()) GTEST_SKIP() << "mounting a small disk is not allowed here";
  std::filesystem::create_directory(folder / "migrations");
  folder.write("migrations/0001_rows.sql", "create table rows (id integer primary key, token text not null)");
  OwnLoop loop;
  auto database = Database::open({.path = folder / "disk/app.db", .migrations = folder / "migrations"}).value();
  const std::string text(2000, 'x');
  const auto write = [&] { return loop.run(database->execute("insert into rows (token) values ($1)", text)); };
  const auto count = [&] { return loop.run(database->query_one<std::int64_t>("select count(*) from rows")).value(); };
  EXPECT_TRUE(write());

  disk.fill();
  int before = 0;
  while (write() && before < 1000) ++before;
  ASSERT_LT(before, 1000) << "the pages that the WAL has already may be used";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(code_of(write()), Code::Unavailable);
  EXPECT_EQ(count(), before + 1);
  // A connection that is opened now, too, finds its way through the WAL.
  auto other = Connection::open({.path = folder / "disk/app.db", .access = Access::ReadOnly}).value();
  std::int64_t seen = 0;
  auto keep = [&seen](const Row& row) { seen = row.integer(0); };
  EXPECT_TRUE(other->query("select count(*) from rows", keep));
  EXPECT_EQ(seen, before + 1);
  EXPECT_TRUE(database->stats().writer.disk_fails);
  disk.empty();

  EXPECT_TRUE(write());
  EXPECT_EQ(count(), before + 2);
  EXPECT_FALSE(database->stats().writer.disk_fails);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_durability_test
