#include "keel/db/sqlite/database.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>

#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/exec/inline_executor.h"
#include "keel/observe/log.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/span.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::db::sqlite::sqlite_database_test {
namespace {

using testing::OwnLoop;

struct User {
  std::int64_t id;
  std::string name;
  static User from_row(const Row& row) { return {row.integer(0), std::string(row.text(1))}; }
};

Task<> add_user(Database& database, std::string name) {
  co_await database.execute("insert into users (name) values ($1)", name);
}
// Outcomes of many together: values[i] is Code + 1, or 0 for success.
Task<> add_into(Database& database, std::string name, int& outcome) {
  Result<Written> written = co_await attempt(database.execute("insert into users (name) values ($1)", name));
  outcome = written ? 0 : static_cast<int>(written.error().code()) + 1;
}
Task<> add_many(Database& database, std::vector<std::string> names, std::vector<int>& outcomes) {
  Scope scope;
  outcomes.assign(names.size(), -1);
  for (std::size_t i = 0; i < names.size(); ++i) scope.spawn(add_into(database, names[i], outcomes[i]));
  co_await scope.join();
}
constexpr int failed(Code code) { return static_cast<int>(code) + 1; }

std::vector<std::string> numbered(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("user " + std::to_string(i));
  return names;
}

#define LONG_COUNT \
  "with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000) select count(*) from n"
#define ENDLESS "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"

Task<> endless(Database& database, Duration limit) { co_await with_timeout(limit, database.query_one<int>(ENDLESS)); }

// Keeps the writer busy until it is told.
struct Blocker {
  std::latch entered{1};
  std::latch released{1};
  Result<> operator()(Connection&) {
    entered.count_down();
    released.wait();
    return {};
  }
};
Task<> block(Database& database, Blocker& blocker) { co_await database.transact(blocker); }
// Queues all of `names` while the writer is busy, so that they become one group.
Task<> add_as_group(Database& database, std::vector<std::string> names, std::vector<int>& outcomes) {
  Blocker blocker;
  Scope scope;
  outcomes.assign(names.size(), -1);
  scope.spawn(block(database, blocker));
  blocker.entered.wait();
  for (std::size_t i = 0; i < names.size(); ++i) scope.spawn(add_into(database, names[i], outcomes[i]));
  blocker.released.count_down();
  co_await scope.join();
}

class SqliteDatabase : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder / "migrations");
    folder.write("migrations/0001_users.sql",
                 "create table users (id integer primary key, name text not null unique);\n"
                 "create table pets (id integer primary key,"
                 " user integer references users deferrable initially deferred);\n");
    open();
  }
  void open() {
    options.path = folder / "app.db";
    options.migrations = folder / "migrations";
    auto opened = Database::open(options);
    ASSERT_TRUE(opened.has_value()) << opened.error().describe();
    database = *std::move(opened);
  }
  void reopen() {
    database.reset();
    open();
  }
  std::int64_t count() {
    std::int64_t found = -1;
    auto keep = [&](const Row& row) { found = row.integer(0); };
    EXPECT_TRUE(database->read_now("select count(*) from users", keep).has_value());
    return found;
  }
  // Another worker: a thread with a loop that runs `task` to its end.
  template <class F>
  void elsewhere(F make_task) {
    std::thread([&] {
      OwnLoop other;
      auto result = other.run(make_task());
      EXPECT_TRUE(result.has_value()) << result.error().describe();
    }).join();
  }

  testing::Folder folder;
  OwnLoop loop;
  DatabaseOptions options;
  std::unique_ptr<Database> database;
};

TEST_F(SqliteDatabase, writes_and_reads_typed_rows) {
  auto written = loop.run(database->execute("insert into users (name) values ($1)", "alice"));
  ASSERT_TRUE(written.has_value()) << written.error().describe();
  EXPECT_EQ(written->changes, 1);
  EXPECT_EQ(written->last_insert_id, 1);
  EXPECT_TRUE(loop.run(add_user(*database, "bob")).has_value());

  EXPECT_EQ(loop.run(database->query_one<User>("select id, name from users where id = $1", 2))->name, "bob");
  EXPECT_EQ(loop.run(database->query_one<User>("select id, name from users where id = $1", 3)).error().code(),
            Code::NotFound);
  EXPECT_FALSE(loop.run(database->query_optional<User>("select id, name from users where id = 3"))->has_value());
  EXPECT_EQ(loop.run(database->query_many<User>("select id, name from users order by id"))->size(), 2u);
  EXPECT_EQ(loop.run(database->query_one<std::int64_t>("select count(*) from users")).value(), 2);
  EXPECT_EQ(loop.run(database->execute("update users set name = name || '!'"))->changes, 2);
  EXPECT_EQ(loop.run(database->execute("update users set name = '' where id = 77"))->last_insert_id, 0);
}

TEST_F(SqliteDatabase, a_value_that_does_not_fit_is_an_error_of_every_query) {
  EXPECT_EQ(loop.run(database->query_one<int>("select 4294967297")).error().message(),
            "column '4294967297': 4294967297 does not fit into int");
  EXPECT_EQ(loop.run(database->query_optional<std::uint8_t>("select -1")).error().code(), Code::Internal);
  EXPECT_EQ(loop.run(database->query_many<std::int16_t>("values (1), (65536)")).error().code(), Code::Internal);
  auto read = [](const Row& row) { static_cast<void>(row.get<int>(0)); };
  EXPECT_EQ(database->read_now("select 4294967297", read).error().code(), Code::Internal);
  EXPECT_EQ(
      loop.run(database->query("insert into users (id, name) values (5e9, 'x') returning id", read)).error().code(),
      Code::Internal);
  EXPECT_EQ(loop.run(database->query_one<int>("select 1")).value(), 1);
}

Task<> insert_nobody(Session& session) { co_await session.execute("insert into users (name) values (null)"); }
constexpr unsigned insert_nobody_at = __LINE__ - 1;
Task<> update_nothing_that_is(Session& session) { co_await session.execute("update nothing set a = 1"); }

TEST_F(SqliteDatabase, an_error_of_a_statement_is_of_the_environment_and_names_statement_and_place) {
  const Error error = loop.run(insert_nobody(*database)).error().clone();
  EXPECT_EQ(error.code(), Code::InvalidArgument);
  EXPECT_EQ(error.message(), "NOT NULL constraint failed: users.name");
  EXPECT_TRUE(error.is_from_environment());
  EXPECT_EQ(error.statement(), "insert into users (name) values (null)");
  EXPECT_EQ(error.describe_places(), "database_test.cc:" + std::to_string(insert_nobody_at));

  EXPECT_EQ(loop.run(update_nothing_that_is(*database)).error().statement(), "update nothing set a = 1");
  EXPECT_TRUE(loop.run(add_user(*database, "alice")).has_value());
  EXPECT_TRUE(loop.run(add_user(*database, "alice")).error().is_from_environment());
  const auto misread = loop.run(database->query_one<int>("select name from users"));
  EXPECT_EQ(misread.error().message(), "column 'name' is text, but is read as an integer");
  EXPECT_EQ(misread.error().statement(), "select name from users");
  auto nothing = [](const Row&) {};
  const auto now = database->read_now("select a from nothing", nothing);
  EXPECT_EQ(now.error().statement(), "select a from nothing");
  EXPECT_NE(now.error().place().line(), 0u);
}

TEST_F(SqliteDatabase, a_row_that_is_not_there_is_no_error_of_the_environment) {
  const auto result = loop.run(database->query_one<std::int64_t>("select id from users where id = 1"));

  EXPECT_EQ(result.error().code(), Code::NotFound);
  EXPECT_FALSE(result.error().is_from_environment());
  EXPECT_EQ(result.error().message(), "not found");
  EXPECT_EQ(result.error().statement(), "select id from users where id = 1");
  EXPECT_NE(result.error().place().line(), 0u);
}

TEST_F(SqliteDatabase, what_a_body_fails_with_is_its_own) {
  auto sold_out = [](Connection&) -> Result<> { return fail(Code::Conflict, "sold out"); };
  EXPECT_FALSE(loop.run(database->transact(sold_out)).error().is_from_environment());
  auto wrong = [](Connection& connection) { return connection.run("insert into users (name) values (null)"); };
  const auto result = loop.run(database->transact(wrong));
  EXPECT_TRUE(result.error().is_from_environment());
  EXPECT_EQ(result.error().statement(), "insert into users (name) values (null)");
  auto beyond = [](Connection& connection) -> Result<> {
    auto read = [](const Row& row) { (void)row.integer(4); };
    KEEL_TRY_VOID(connection.query("select 1, 2", read));
    return {};
  };
  EXPECT_TRUE(loop.run(database->transact(beyond)).error().is_bug());
  EXPECT_TRUE(loop.run(add_user(*database, "alice")).has_value()) << "the writer goes on";
}

Task<> read_beyond(Session& session) {
  auto beyond = [](const Row& row) { (void)row.integer(4); };
  co_await session.query("select id, name from users", beyond);
}
Task<> use_what_was_moved(Session& session) {
  Transaction transaction = co_await session.begin();
  const Transaction other(std::move(transaction));
  co_await transaction.execute("delete from users");
}

TEST_F(SqliteDatabase, a_bug_in_a_callback_or_with_a_transaction_ends_that_task_alone) {
  EXPECT_TRUE(loop.run(add_user(*database, "alice")).has_value());
  const Error beyond = loop.run(read_beyond(*database)).error().clone();
  EXPECT_TRUE(beyond.is_bug());
  EXPECT_EQ(beyond.message(), "column 4 is read from a row with 2 columns (id, name); columns are counted from 0");

  const Error moved = loop.run(use_what_was_moved(*database)).error().clone();
  EXPECT_TRUE(moved.is_bug());
  EXPECT_EQ(moved.message(), "a Transaction is used after it was moved from");
  EXPECT_TRUE(loop.run(add_user(*database, "bob")).has_value());
  EXPECT_EQ(count(), 2);
}

TEST_F(SqliteDatabase, rows_of_a_write_come_back_from_the_writer) {
  auto user = loop.run(database->query_one<User>("insert into users (name) values ($1) returning id, name", "carol"));

  ASSERT_TRUE(user.has_value()) << user.error().describe();
  EXPECT_EQ(user->name, "carol");
  EXPECT_EQ(database->stats().writer.writes, 1u);
}

TEST_F(SqliteDatabase, errors_of_statements_reach_the_task) {
  EXPECT_TRUE(loop.run(add_user(*database, "alice")).has_value());

  EXPECT_EQ(loop.run(add_user(*database, "alice")).error().code(), Code::AlreadyExists);
  auto nothing = [](const Row&) {};
  EXPECT_EQ(loop.run(database->query("select nonsense", nothing)).error().code(), Code::Internal);
  EXPECT_EQ(database->read_now("select nonsense", nothing).error().code(), Code::Internal);
  EXPECT_EQ(database->read_now("delete from users", nothing).error().code(), Code::InvalidArgument);
  EXPECT_EQ(loop.run(database->execute("pragma synchronous=off")).error().code(), Code::Internal);
}

TEST_F(SqliteDatabase, reads_of_one_turn_share_a_snapshot_that_ends_with_it) {
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(database->stats().snapshots, 1u);

  loop.turn();
  EXPECT_EQ(count(), 0);

  EXPECT_EQ(database->stats().snapshots, 2u);
  EXPECT_EQ(database->stats().snapshots_renewed, 0u);
}

TEST_F(SqliteDatabase, the_budget_is_that_of_one_read_however_many_there_are) {
  options.loop_steps_max = 500;
  reopen();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(count(), 0);
    loop.loop.turn(Instant());
  }

  EXPECT_EQ(database->stats().snapshots, 2000u);
  EXPECT_EQ(database->stats().budget_exceeded, 0u);
}

TEST_F(SqliteDatabase, an_acknowledged_write_is_seen_by_the_next_read_of_a_turn_that_has_read_before) {
  EXPECT_EQ(count(), 0);
  elsewhere([&] { return add_user(*database, "alice"); });

  EXPECT_EQ(count(), 1);
  EXPECT_EQ(database->stats().snapshots_renewed, 1u);
}

TEST_F(SqliteDatabase, no_snapshot_stays_open_after_its_turn) {
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(loop.run(add_user(*database, "alice")).has_value());
  EXPECT_EQ(count(), 1);
  auto other = Connection::open({.path = options.path, .busy_timeout = 1_ms}).value();
  // The write above is in the WAL, and the snapshot after it needs none of what is in the file.
  elsewhere([&] { return add_user(*database, "bob"); });
  EXPECT_FALSE(other->checkpoint().has_value());

  loop.turn();

  EXPECT_TRUE(other->checkpoint().has_value());
}

TEST_F(SqliteDatabase, a_read_within_a_row_of_another_is_fine) {
  EXPECT_TRUE(loop.run(add_user(*database, "alice")).has_value());
  std::string found;
  auto inner = [&](const Row& row) { found += row.text(0); };
  auto outer = [&](const Row&) { EXPECT_TRUE(database->read_now("select name from users", inner).has_value()); };

  EXPECT_TRUE(database->read_now("select name from users", outer).has_value());

  EXPECT_EQ(found, "alice");
}

TEST_F(SqliteDatabase, a_long_read_moves_to_the_pool_and_after_twice_goes_there_at_once) {
  for (int i = 0; i < 4; ++i) {
    int rows = 0;
    auto keep = [&](const Row& row) {
      ++rows;
      EXPECT_EQ(row.integer(0), 300000);
      EXPECT_EQ(row.name(0), "count(*)");
    };
    EXPECT_EQ(loop.run(database->query(LONG_COUNT, keep)).value(), 1u);
    EXPECT_EQ(rows, 1);
  }
  const DatabaseStats stats = database->stats();
  EXPECT_EQ(stats.budget_exceeded, 2u);
  EXPECT_EQ(stats.known_long, 2u);
  EXPECT_EQ(stats.pool_reads, 4u);
  auto nothing = [](const Row&) {};
  EXPECT_EQ(database->read_now(LONG_COUNT, nothing).error().code(), Code::Unavailable);
  EXPECT_EQ(count(), 0);
}

Task<> add_while_busy(Database& database) {
  Blocker blocker;
  Scope scope;
  scope.spawn(block(database, blocker));
  blocker.entered.wait();
  scope.spawn(add_user(database, "late"));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // Here, for the time of a turn may be older.
  blocker.released.count_down();
  co_await scope.join();
}
TEST_F(SqliteDatabase, a_measured_request_knows_how_long_it_waited_and_how_long_statements_took) {
  const auto measure = [&](Task<> task) {
    StageClock clock;
    const Span span{{1, 2}, &clock};
    Start<void> start;
    const auto done = [](StartCore&) noexcept { io::Loop::current()->stop(); };
    if (!start.begin(std::move(task), done, {.span = &span})) loop.loop.run();
    EXPECT_TRUE(start.take().has_value());
    return clock;
  };
  EXPECT_GE(measure(add_while_busy(*database)).of(Stage::DatabaseWait), 10_ms) << "behind another write";

  const auto read = [](Database& from, int count) -> Task<> {
    co_await from.query_one<int>(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < $1) "
        "select count(*) from n",
        count);
  };
  const StageClock here = measure(read(*database, 10));
  EXPECT_GT(here.of(Stage::Database), Duration());
  EXPECT_EQ(here.of(Stage::DatabaseWait), Duration()) << "on the loop, at once";
  const StageClock pool = measure(read(*database, 300'000));
  EXPECT_GT(pool.of(Stage::Database), here.of(Stage::Database));
  EXPECT_GT(pool.of(Stage::DatabaseWait), Duration());
}

TEST_F(SqliteDatabase, rows_of_an_interrupted_read_are_given_once) {
  std::vector<std::int64_t> rows;
  auto keep = [&](const Row& row) { rows.push_back(row.integer(0)); };

  auto count = loop.run(database->query(
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select i from n", keep));

  EXPECT_EQ(count.value(), 20000u);
  ASSERT_EQ(rows.size(), 20000u);
  EXPECT_EQ(rows.front(), 1);
  EXPECT_EQ(rows.back(), 20000);
  EXPECT_EQ(database->stats().pool_reads, 1u);
}

TEST_F(SqliteDatabase, a_result_beyond_the_limit_is_an_error) {
  options.rows_bytes_max = 100'000;
  options.loop_rows_bytes_max = 10'000;
  reopen();
  auto nothing = [](const Row&) {};

  EXPECT_TRUE(loop.run(database->query("select zeroblob(50000)", nothing)).has_value());
  EXPECT_EQ(database->stats().pool_reads, 1u);
  EXPECT_EQ(loop.run(database->query("select zeroblob(200000)", nothing)).error().code(), Code::ResourceExhausted);
}

Task<> read_in_transaction(Database& database, int bytes) {
  auto nothing = [](const Row&) {};
  Transaction transaction = co_await database.begin();
  co_await transaction.query("select zeroblob($1)", nothing, bytes);
}

TEST_F(SqliteDatabase, the_limit_of_a_result_holds_for_transactions_and_for_rows_that_a_write_returns) {
  options.rows_bytes_max = 100'000;
  reopen();
  auto nothing = [](const Row&) {};

  EXPECT_TRUE(loop.run(read_in_transaction(*database, 50'000)).has_value());
  const auto read = loop.run(read_in_transaction(*database, 200'000));
  EXPECT_EQ(read ? Code::NotFound : read.error().code(), Code::ResourceExhausted);
  const auto written =
      loop.run(database->query("insert into users (name) values (zeroblob(200000)) returning name", nothing));
  EXPECT_EQ(written ? Code::NotFound : written.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(count(), 0);
}

Task<> commit_after_a_result_too_large(Database& database) {
  auto nothing = [](const Row&) {};
  Transaction transaction = co_await database.begin();
  const auto read = co_await attempt(transaction.query("select zeroblob(200000)", nothing));
  EXPECT_EQ(read ? Code::NotFound : read.error().code(), Code::ResourceExhausted);
  co_await transaction.execute("insert into users (name) values ('after a read')");
  const auto written =
      co_await attempt(transaction.query("insert into users (name) values (zeroblob(200000)) returning name", nothing));
  EXPECT_EQ(written ? Code::NotFound : written.error().code(), Code::ResourceExhausted);
  const auto committed = co_await attempt(transaction.commit());
  EXPECT_EQ(committed ? Code::NotFound : committed.error().code(), Code::Conflict);
}

TEST_F(SqliteDatabase, a_write_whose_rows_are_too_large_ends_its_transaction) {
  options.rows_bytes_max = 100'000;
  reopen();

  ASSERT_TRUE(loop.run(commit_after_a_result_too_large(*database)).has_value());
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(loop.run(add_user(*database, "the next write")).has_value());
  EXPECT_EQ(count(), 1);
}

TEST_F(SqliteDatabase, wrong_sql_of_a_stream_is_a_mistake_of_the_program_as_in_a_query) {
  auto ignore = [](std::span<const User>) -> Task<> { co_return; };

  const auto streamed = loop.run(database->stream<User>("select id, name from no_such_table", ignore));
  const auto asked = loop.run(database->query_many<User>("select id, name from no_such_table"));

  ASSERT_FALSE(streamed);
  ASSERT_FALSE(asked);
  EXPECT_EQ(streamed.error().code(), Code::Internal);
  EXPECT_EQ(streamed.error().message(), asked.error().message());
}

TEST_F(SqliteDatabase, without_a_budget_all_reads_run_on_the_pool) {
  options.loop_steps_max = 0;
  reopen();

  EXPECT_EQ(loop.run(database->query_one<int>("select 7")).value(), 7);
  EXPECT_EQ(database->stats().pool_reads, 1u);
  EXPECT_EQ(database->stats().loop_reads, 0u);
  EXPECT_EQ(loop.run(database->query_one<int>("insert into users (name) values ('x') returning id")).value(), 1);
}

TEST_F(SqliteDatabase, a_full_pool_refuses) {
  options.pool_size = 1;
  options.pool_queued_max = 0;
  reopen();
  auto nothing = [](const Row&) {};

  EXPECT_EQ(loop.run(database->query(LONG_COUNT, nothing)).error().code(), Code::ResourceExhausted);
  EXPECT_EQ(database->stats().pool_refused, 1u);
}

TEST_F(SqliteDatabase, a_read_on_the_pool_ends_with_its_deadline) {
  auto nothing = [](const Row&) {};

  EXPECT_EQ(loop.run(endless(*database, 30_ms)).error().code(), Code::DeadlineExceeded);
  EXPECT_TRUE(loop.run(database->query("select 1", nothing)).has_value());
}

TEST_F(SqliteDatabase, what_waits_is_committed_as_one_group) {
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(add_as_group(*database, numbered(64), outcomes)).has_value());

  EXPECT_EQ(outcomes, std::vector<int>(64, 0));
  const WriterStats stats = database->stats().writer;
  EXPECT_EQ(stats.groups, 2u);  // That of the blocker, and all others.
  EXPECT_EQ(stats.group_max, 64u);
  EXPECT_EQ(stats.writes, 65u);
  EXPECT_EQ(count(), 64);
}

TEST_F(SqliteDatabase, a_group_is_bounded) {
  options.writer.group_max = 10;
  reopen();
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(add_as_group(*database, numbered(64), outcomes)).has_value());

  EXPECT_EQ(database->stats().writer.group_max, 10u);
  EXPECT_EQ(database->stats().writer.groups, 8u);
}

TEST_F(SqliteDatabase, a_failing_write_of_a_group_fails_alone) {
  std::vector<std::string> names = numbered(9);
  names[4] = names[3];
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(add_as_group(*database, names, outcomes)).has_value());

  std::vector<int> expected(9, 0);
  expected[4] = failed(Code::AlreadyExists);
  EXPECT_EQ(outcomes, expected);
  EXPECT_EQ(count(), 8);
  EXPECT_EQ(database->stats().writer.groups, 2u);
}

Task<> orphan(Database& database, int& outcome) {
  Result<Written> written = co_await attempt(database.execute("insert into pets (user) values (777)"));
  outcome = written ? 0 : failed(written.error().code());
}
Task<> group_around_an_orphan(Database& database, std::vector<int>& outcomes) {
  Blocker blocker;
  Scope scope;
  outcomes.assign(3, -1);
  scope.spawn(block(database, blocker));
  blocker.entered.wait();
  scope.spawn(add_into(database, "first", outcomes[0]));
  scope.spawn(orphan(database, outcomes[1]));
  scope.spawn(add_into(database, "last", outcomes[2]));
  blocker.released.count_down();
  co_await scope.join();
}

TEST_F(SqliteDatabase, a_deferred_foreign_key_that_is_violated_fails_its_write_alone) {
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(group_around_an_orphan(*database, outcomes)).has_value());

  EXPECT_EQ(outcomes, (std::vector<int>{0, failed(Code::Conflict), 0}));
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(database->stats().writer.groups_lost, 1u);  // Until then nobody knew that it needs a savepoint.
}

Task<> clear(Database& database) { co_await database.execute("delete from users"); }

TEST_F(SqliteDatabase, a_statement_that_needed_a_savepoint_once_has_one_from_then_on) {
  std::vector<int> outcomes;
  ASSERT_TRUE(loop.run(group_around_an_orphan(*database, outcomes)).has_value());
  ASSERT_TRUE(loop.run(clear(*database)).has_value());

  ASSERT_TRUE(loop.run(group_around_an_orphan(*database, outcomes)).has_value());

  EXPECT_EQ(outcomes, (std::vector<int>{0, failed(Code::Conflict), 0}));
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(database->stats().writer.groups_lost, 1u);
}

Task<> add_half(Database& database, int& outcome) {
  // The second row is taken already; `or fail` keeps the first one.
  Result<Written> written =
      co_await attempt(database.execute("insert or fail into users (name) select 'half' union all select 'a'"));
  outcome = written ? 0 : failed(written.error().code());
}
Task<> group_around_a_half(Database& database, std::vector<int>& outcomes) {
  Blocker blocker;
  Scope scope;
  outcomes.assign(3, -1);
  scope.spawn(block(database, blocker));
  blocker.entered.wait();
  scope.spawn(add_into(database, "a", outcomes[0]));
  scope.spawn(add_half(database, outcomes[1]));
  scope.spawn(add_into(database, "b", outcomes[2]));
  blocker.released.count_down();
  co_await scope.join();
}

TEST_F(SqliteDatabase, a_statement_that_fails_half_way_leaves_nothing) {
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(group_around_a_half(*database, outcomes)).has_value());

  EXPECT_EQ(outcomes, (std::vector<int>{0, failed(Code::AlreadyExists), 0}));
  EXPECT_EQ(count(), 2);  // a and b, and no half.
}

Task<> add_or_roll_back(Database& database, std::string name, int& outcome) {
  Result<Written> written =
      co_await attempt(database.execute("insert or rollback into users (name) values ($1)", name));
  outcome = written ? 0 : failed(written.error().code());
}
Task<> lose_a_group(Database& database, std::vector<int>& outcomes) {
  Blocker blocker;
  Scope scope;
  outcomes.assign(5, -1);
  scope.spawn(block(database, blocker));
  blocker.entered.wait();
  scope.spawn(add_into(database, "a", outcomes[0]));
  scope.spawn(add_into(database, "a", outcomes[1]));
  scope.spawn(add_or_roll_back(database, "a", outcomes[2]));  // Takes the whole transaction with it.
  scope.spawn(add_into(database, "b", outcomes[3]));
  scope.spawn(add_into(database, "b", outcomes[4]));
  blocker.released.count_down();
  co_await scope.join();
}

TEST_F(SqliteDatabase, a_lost_group_runs_again_one_by_one) {
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(lose_a_group(*database, outcomes)).has_value());

  EXPECT_EQ(outcomes, (std::vector<int>{0, failed(Code::AlreadyExists), failed(Code::AlreadyExists), 0,
                                        failed(Code::AlreadyExists)}));
  EXPECT_EQ(count(), 2);
  EXPECT_EQ(database->stats().writer.groups_lost, 1u);
}

TEST_F(SqliteDatabase, a_full_queue_refuses) {
  options.writer.queued_max = 4;
  reopen();
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(add_as_group(*database, numbered(6), outcomes)).has_value());

  const int refused = failed(Code::ResourceExhausted);
  EXPECT_EQ(outcomes, (std::vector<int>{0, 0, 0, 0, refused, refused}));
  EXPECT_EQ(database->stats().writer.refused, 2u);
}

Task<> stop_while_waiting(Database& database, std::vector<int>& outcomes) {
  Blocker blocker;
  Scope first;
  first.spawn(block(database, blocker));
  blocker.entered.wait();
  outcomes.assign(2, -1);
  Scope second;
  second.spawn(add_into(database, "never", outcomes[0]));
  second.stop();
  second.spawn(add_into(database, "refused", outcomes[1]));
  (void)(co_await attempt(second.join())).is_ok();
  blocker.released.count_down();
  co_await first.join();
}

TEST_F(SqliteDatabase, a_write_that_waits_can_be_cancelled_and_did_not_happen) {
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(stop_while_waiting(*database, outcomes)).has_value());

  EXPECT_EQ(outcomes, std::vector<int>(2, failed(Code::Cancelled)));
  EXPECT_EQ(database->stats().writer.queued, 0u);
  EXPECT_EQ(count(), 0);
}

Task<> stop_while_running(Database& database) {
  Blocker blocker;
  Scope scope;
  scope.spawn(block(database, blocker));
  blocker.entered.wait();
  scope.stop();
  blocker.released.count_down();
  (void)(co_await attempt(scope.join())).is_ok();
}

TEST_F(SqliteDatabase, a_write_that_has_begun_is_finished_when_its_task_is_stopped) {
  ASSERT_TRUE(loop.run(stop_while_running(*database)).has_value());

  EXPECT_EQ(database->stats().writer.writes, 1u);
}

TEST_F(SqliteDatabase, closing_commits_what_is_queued_and_refuses_the_rest) {
  std::vector<int> outcomes;
  Start<void> start;
  ASSERT_FALSE(start.begin(add_many(*database, numbered(200), outcomes),
                           [](StartCore&) noexcept { io::Loop::current()->stop(); }));
  database->close();
  loop.loop.run();
  EXPECT_TRUE(start.take().has_value());

  EXPECT_EQ(outcomes, std::vector<int>(200, 0));
  EXPECT_EQ(loop.run(add_user(*database, "late")).error().code(), Code::Unavailable);
  EXPECT_EQ(std::filesystem::exists(options.path + "-wal") && std::filesystem::file_size(options.path + "-wal") > 0,
            false);
  reopen();
  EXPECT_EQ(count(), 200);
}

constexpr auto add_two = [](Connection& connection) -> Result<> {
  KEEL_TRY_VOID(connection.run("insert into users (name) values ('one')"));
  return connection.run("insert into users (name) values ('two')");
};
constexpr auto add_two_and_fail = [](Connection& connection) -> Result<> {
  KEEL_TRY_VOID(add_two(connection));
  return fail(Code::FailedPrecondition, "changed its mind");
};

TEST_F(SqliteDatabase, several_statements_are_one_write) {
  EXPECT_EQ(loop.run(database->transact(add_two_and_fail)).error().code(), Code::FailedPrecondition);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(loop.run(database->transact(add_two)).has_value());
  EXPECT_EQ(count(), 2);
}

constexpr auto add_two_and_throw = [](Connection& connection) -> Result<> {
  KEEL_TRY_VOID(add_two(connection));
  throw std::runtime_error("what nobody expected");
};

TEST_F(SqliteDatabase, an_exception_rolls_its_write_back_and_no_other) {
  const Result<> thrown = loop.run(database->transact(add_two_and_throw));
  ASSERT_FALSE(thrown.has_value());
  EXPECT_EQ(thrown.error().code(), Code::Internal);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(loop.run(database->transact(add_two)).has_value());
  EXPECT_EQ(count(), 2);
}

Task<std::int64_t> interactive(Database& database, bool commits) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("insert into users (name) values ($1)", "alice");
  std::int64_t inside = 0;
  auto keep = [&](const Row& row) { inside = row.integer(0); };
  co_await transaction.query("select count(*) from users", keep);
  if (commits) co_await transaction.commit();
  co_return inside;
}

TEST_F(SqliteDatabase, an_interactive_transaction_is_committed_or_rolled_back) {
  EXPECT_EQ(loop.run(interactive(*database, false)).value(), 1);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(loop.run(interactive(*database, true)).value(), 1);
  EXPECT_EQ(count(), 1);
  EXPECT_TRUE(loop.run(add_user(*database, "bob")).has_value());
  EXPECT_EQ(database->stats().writer.transactions, 1u);
}

TEST_F(SqliteDatabase, a_committed_transaction_is_seen_by_the_next_read_of_a_turn_that_has_read_before) {
  EXPECT_EQ(count(), 0);
  elsewhere([&] { return interactive(*database, true); });

  EXPECT_EQ(count(), 1);
}

Task<> roll_back_and_go_on(Database& database, std::vector<Code>& codes) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("insert into users (name) values ('never')");
  transaction.roll_back();
  const auto written = co_await attempt(transaction.execute("insert into users (name) values ('never')"));
  codes.push_back(written ? Code::Internal : written.error().code());
  const auto committed = co_await attempt(transaction.commit());
  codes.push_back(committed ? Code::Internal : committed.error().code());
}

TEST_F(SqliteDatabase, a_transaction_that_was_rolled_back_takes_nothing_more) {
  std::vector<Code> codes;

  EXPECT_TRUE(loop.run(roll_back_and_go_on(*database, codes)));

  EXPECT_EQ(codes, std::vector<Code>({Code::Conflict, Code::Conflict}));
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(loop.run(add_user(*database, "next")).has_value());
}

Task<Code> write_after_commit(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await transaction.commit();
  const auto written = co_await attempt(transaction.execute("insert into users (name) values ('late')"));
  co_return written ? Code::Internal : written.error().code();
}

TEST_F(SqliteDatabase, a_statement_after_the_commit_of_its_transaction_is_refused) {
  EXPECT_EQ(loop.run(write_after_commit(*database)).value(), Code::Conflict);
  EXPECT_EQ(count(), 0);
}

Task<> hold_for(Database& database, Duration time) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("insert into users (name) values ('slow')");
  co_await sleep_for(time);
  co_await transaction.commit();
}

TEST_F(SqliteDatabase, a_transaction_that_holds_the_writer_for_too_long_is_rolled_back) {
  options.writer.hold_max = 30_ms;
  reopen();

  EXPECT_EQ(loop.run(hold_for(*database, 100_ms)).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(loop.run(add_user(*database, "next")).has_value());
  EXPECT_EQ(database->stats().writer.expired, 1u);
}

Task<> hold_while_others_write(Database& database, std::vector<int>& outcomes) {
  Scope scope;
  outcomes.assign(2, -1);
  {
    Transaction transaction = co_await database.begin();
    scope.spawn(add_into(database, "alice", outcomes[0]));
    co_await transaction.execute("insert into users (name) values ('alice')");
    co_await transaction.commit();
    scope.spawn(add_into(database, "bob", outcomes[1]));
  }
  co_await scope.join();
}

TEST_F(SqliteDatabase, others_write_after_an_interactive_transaction) {
  std::vector<int> outcomes;

  ASSERT_TRUE(loop.run(hold_while_others_write(*database, outcomes)).has_value());

  EXPECT_EQ(outcomes, (std::vector<int>{failed(Code::AlreadyExists), 0}));
}

Task<> broken_transaction(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("insert into pets (user) values (777)");
  co_await transaction.commit();
}

TEST_F(SqliteDatabase, an_interactive_transaction_that_violates_a_deferred_key_is_a_conflict) {
  EXPECT_EQ(loop.run(broken_transaction(*database)).error().code(), Code::Conflict);
  EXPECT_TRUE(loop.run(add_user(*database, "next")).has_value());
}

TEST_F(SqliteDatabase, attached_loops_have_their_connection_before_they_read) {
  EXPECT_TRUE(database->attach(loop.loop).has_value());
  EXPECT_EQ(database->stats().readers, 1);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(database->stats().readers, 1);
}

TEST_F(SqliteDatabase, a_path_that_cannot_be_opened_and_a_bad_migration_are_said_by_open) {
  EXPECT_EQ(Database::open({.path = ":memory:"}).error().code(), Code::InvalidArgument);
  EXPECT_EQ(Database::open({.path = folder / "no/such/app.db"}).error().code(), Code::Unavailable);
  folder.write("migrations/0002_bad.sql", "creat table x (id)");
  EXPECT_EQ(Database::open(options).error().describe(), "migrations: 0002_bad.sql:1: near \"creat\": syntax error");
}

// A writer and a reader per thread: what a thread has been told is written it reads back, with everybody writing.
Task<> write_and_read_back(Database& database, std::string prefix, int rounds, int& wrong) {
  for (int i = 0; i < rounds; ++i) {
    const std::string name = prefix + std::to_string(i);
    auto written = co_await database.execute("insert into users (name) values ($1)", name);
    auto found =
        co_await database.query_optional<std::string>("select name from users where id = $1", written.last_insert_id);
    if (found != name) ++wrong;
  }
}
Task<> many_writers(Database& database, std::string prefix, int& wrong) {
  Scope scope;
  for (int i = 0; i < 8; ++i) {
    scope.spawn(write_and_read_back(database, prefix + std::to_string(i) + "-", 10, wrong));
  }
  co_await scope.join();
}

TEST_F(SqliteDatabase, every_loop_reads_its_own_writes_while_all_write) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(3, 0);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([this, i, &wrong] {
      OwnLoop other;
      auto result = other.run(
          many_writers(*database, std::string(1, static_cast<char>('a' + i)), wrong[static_cast<std::size_t>(i)]));
      EXPECT_TRUE(result.has_value()) << result.error().describe();
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(wrong, std::vector<int>(3, 0));
  EXPECT_EQ(count(), 240);
}

TEST_F(SqliteDatabase, that_others_may_read_is_a_warning_and_a_new_one_is_none) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  log::Reader reader(false);
  const auto warnings = [&reader] {
    std::vector<std::string> files;
    reader.drain([&](const log::Record& record) {
      if (record.component() != "db" || record.level() != Level::Warn) return;
      record.for_each([&](const log::FieldView& field) { files.emplace_back(field.text); });
    });
    return files;
  };
  database.reset();
  const mode_t before = ::umask(022);
  options.path = folder / "new.db";
  ASSERT_TRUE(Database::open(options));
  ::umask(before);
  EXPECT_EQ(warnings(), std::vector<std::string>());

  ASSERT_EQ(::chmod(options.path.c_str(), 0644), 0);
  ASSERT_TRUE(Database::open(options));

  EXPECT_EQ(warnings(), (std::vector<std::string>{options.path, "0644", options.path + "-wal", "0644",
                                                  options.path + "-shm", "0644"}));
}

TEST_F(SqliteDatabase, does_not_open_on_an_executor_that_runs_jobs_inside_the_call) {
  InlineExecutor here;
  const auto opened = Database::open({.path = folder / "inline.db", .executor = &here});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::InvalidArgument);
  EXPECT_NE(opened.error().describe().find("app::TestApp"), std::string::npos);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_database_test
