// A database without threads: its writer and its long reads are jobs of the simulation's pool, in virtual time.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::db::sqlite::sqlite_database_sim_test {
namespace {

class SimulatedDatabase : public ::testing::Test {
 protected:
  SimulatedDatabase() {
    host_before = Host::set_current(&simulation);
    open({});
  }
  ~SimulatedDatabase() override {
    EXPECT_TRUE(simulation.run_until([this] { return database->is_idle(); }, 10_s));
    other.reset();
    database.reset();
    Host::set_current(host_before);
  }

  void open(DatabaseOptions options) {
    database.reset();
    options.path = "/app.db";
    options.vfs = vfs.name();
    options.executor = &simulation.pool();
    options.writer.hold_max = 2_s;
    database = Database::open(options).value();
    run(create());
  }
  Task<> create() { co_await database->execute("create table if not exists rows (id integer primary key, n integer)"); }

  // Runs the task on the loop to its end.
  template <class T>
  Result<T> begin_and_wait(Task<T>&& task) {
    Start<T> start;
    {
      io::Loop::Entered entered(loop);
      start.begin(std::move(task), [](StartCore&) noexcept {});
    }
    EXPECT_TRUE(simulation.run_until([&] { return start.has_ended(); }, 60_s)) << simulation.replay();
    io::Loop::Entered entered(loop);
    return start.take();
  }
  void run(Task<>&& task) {
    Result<> result = begin_and_wait(std::move(task));
    EXPECT_TRUE(result.has_value()) << result.error().describe();
  }

  // What another process does with the file.
  void other_runs(const char* control) {
    if (other == nullptr) other = Connection::open({.path = "/app.db", .vfs = vfs.name()}).value();
    Result<> done = other->prepare_control(control).value().run();
    EXPECT_TRUE(done.has_value()) << done.error().describe();
  }

  Host* host_before;
  sim::Simulation simulation;
  io::Loop& loop = simulation.add_loop();
  sim::Disk disk{1};
  SimVfs vfs{disk, 1};
  std::unique_ptr<Database> database;
  std::unique_ptr<Connection> other;
};

Task<> insert(Database& database, int n) { co_await database.execute("insert into rows (n) values ($1)", n); }
Task<> insert_together(Database& database, int count) {
  Scope scope;
  for (int i = 0; i < count; ++i) scope.spawn(insert(database, i));
  co_await scope.join();
}
Task<std::int64_t> count(Database& database) {
  std::int64_t rows = 0;
  auto keep = [&](const Row& row) { rows = row.integer(0); };
  co_await database.query("select count(*) from rows", keep);
  co_return rows;
}

TEST_F(SimulatedDatabase, commits_what_waits_as_one_group) {
  const std::uint64_t groups = database->stats().writer.groups;

  run(insert_together(*database, 20));

  EXPECT_EQ(begin_and_wait(count(*database)).value(), 20);
  EXPECT_EQ(database->stats().writer.groups - groups, 1u);
  EXPECT_TRUE(database->is_idle());
}

TEST_F(SimulatedDatabase, is_not_idle_while_a_write_waits) {
  Start<void> start;
  {
    io::Loop::Entered entered(loop);
    start.begin(insert(*database, 1), [](StartCore&) noexcept {});
  }
  EXPECT_FALSE(database->is_idle());
  EXPECT_TRUE(simulation.run_until([&] { return start.has_ended(); }, 1_s));
  EXPECT_TRUE(database->is_idle());
}

TEST_F(SimulatedDatabase, reads_what_is_too_long_for_a_loop_on_the_executor) {
  open({.loop_steps_max = 0});
  run(insert(*database, 1));

  EXPECT_EQ(begin_and_wait(count(*database)).value(), 1);

  EXPECT_EQ(database->stats().pool_reads, 1u);
}

Task<> count_twice(Database& database) {
  Scope scope;
  scope.spawn(count(database));
  scope.spawn(count(database));
  co_await scope.join();
}
TEST_F(SimulatedDatabase, refuses_more_long_reads_than_may_wait) {
  open({.pool_queued_max = 1, .loop_steps_max = 0});

  EXPECT_EQ(begin_and_wait(count_twice(*database)).error().code(), Code::ResourceExhausted);
}

Task<> insert_in_transaction(Database& database, Duration pause) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("insert into rows (n) values ($1)", 1);
  co_await sleep_for(pause);
  co_await transaction.execute("insert into rows (n) values ($1)", 2);
  co_await transaction.commit();
}
Task<> insert_beside_a_transaction(Database& database, std::vector<std::string>& order) {
  co_await sleep_for(100_ms);
  co_await insert(database, 3);
  order.emplace_back("write");
}
Task<> both(Database& database, std::vector<std::string>& order) {
  Scope scope;
  scope.spawn(insert_beside_a_transaction(database, order));
  co_await insert_in_transaction(database, 500_ms);
  order.emplace_back("transaction");
  co_await scope.join();
}

TEST_F(SimulatedDatabase, an_interactive_transaction_has_the_writer_alone) {
  std::vector<std::string> order;

  run(both(*database, order));

  EXPECT_EQ(order, (std::vector<std::string>{"transaction", "write"}));
  EXPECT_EQ(begin_and_wait(count(*database)).value(), 3);
}

TEST_F(SimulatedDatabase, a_transaction_that_holds_the_writer_for_too_long_is_rolled_back_in_virtual_time) {
  const Instant begun = simulation.now();

  const Result<> result = begin_and_wait(insert_in_transaction(*database, 10_s));

  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::DeadlineExceeded);
  EXPECT_GE(simulation.now() - begun, 10_s);
  EXPECT_EQ(database->stats().writer.expired, 1u);
  EXPECT_EQ(begin_and_wait(count(*database)).value(), 0);
  run(insert(*database, 1));
}

Task<> leave_transaction(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("insert into rows (n) values ($1)", 1);
}
TEST_F(SimulatedDatabase, a_transaction_that_is_left_is_rolled_back_at_once) {
  run(leave_transaction(*database));
  const Instant left = simulation.now();

  run(insert(*database, 1));

  EXPECT_LT(simulation.now() - left, 1_s);
  EXPECT_EQ(database->stats().writer.expired, 0u);
  EXPECT_EQ(begin_and_wait(count(*database)).value(), 1);
}

// How a write ended, and how long after its call.
struct Ended {
  Code code = Code::NotFound;
  Duration after;
};
Task<> insert_timed(Database& database, Duration delay, Duration limit, Ended& ended) {
  co_await sleep_for(delay);
  const Instant called = Host::current().now();
  const auto written = co_await attempt(with_timeout(limit, insert(database, 1)));
  if (!written) ended.code = written.error().code();
  ended.after = Host::current().now() - called;
}
Task<> insert_three(Database& database, Duration limit, std::vector<Ended>& ended) {
  Scope scope;
  ended.resize(3);
  for (std::size_t i = 0; i < 3; ++i) {
    scope.spawn(insert_timed(database, Duration::milliseconds(1700) * static_cast<int>(i), limit, ended[i]));
  }
  co_await scope.join();
}

TEST_F(SimulatedDatabase, a_write_waits_for_the_lock_of_another_process_from_its_call_on) {
  open({.busy_timeout = 5_s});
  other_runs("begin immediate");
  std::vector<Ended> ended;

  run(insert_three(*database, 1_h, ended));

  for (const Ended& each : ended) {
    EXPECT_EQ(each.code, Code::Unavailable);
    EXPECT_GE(each.after, 4900_ms);
    EXPECT_LE(each.after, 5100_ms);
  }
  other_runs("rollback");
  EXPECT_EQ(begin_and_wait(count(*database)).value(), 0);
}

TEST_F(SimulatedDatabase, a_write_that_waits_for_the_lock_of_another_process_can_be_taken_back) {
  open({.busy_timeout = 5_s});
  other_runs("begin immediate");
  std::vector<Ended> ended;

  run(insert_three(*database, 2_s, ended));

  for (const Ended& each : ended) {
    EXPECT_EQ(each.code, Code::DeadlineExceeded);
    EXPECT_LE(each.after, 2100_ms);
  }
  EXPECT_EQ(database->stats().writer.queued, 0u);
  other_runs("rollback");
  run(insert(*database, 1));
  EXPECT_EQ(begin_and_wait(count(*database)).value(), 1);
}

TEST_F(SimulatedDatabase, writes_are_committed_soon_after_the_other_process_has_given_up_its_lock) {
  open({.busy_timeout = 5_s});
  other_runs("begin immediate");
  std::vector<Ended> ended;
  Start<void> start;
  {
    io::Loop::Entered entered(loop);
    start.begin(insert_three(*database, 1_h, ended), [](StartCore&) noexcept {});
  }
  simulation.run_until([] { return false; }, 3_s);
  other_runs("commit");

  EXPECT_TRUE(simulation.run_until([&] { return start.has_ended(); }, 10_s)) << simulation.replay();

  EXPECT_LE(ended[0].after, 3100_ms);
  EXPECT_LE(ended[1].after, 1400_ms);
  EXPECT_LE(ended[2].after, 100_ms);
  EXPECT_EQ(begin_and_wait(count(*database)).value(), 3);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_database_sim_test
