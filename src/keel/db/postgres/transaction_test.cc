#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/observe/log.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/task/event.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::transaction_test {
namespace {

class PostgresTransaction : public testing::RealDatabaseTest {
 protected:
  Database& open_accounts(DatabaseOptions options = {}) {
    open(std::move(options));
    script(
        "drop table if exists accounts; create table accounts (id bigint primary key, cents bigint not null check "
        "(cents >= 0)); insert into accounts values (1, 100), (2, 0)");
    return *database_;
  }
  std::int64_t cents() { return integer("select cents from accounts where id = 1"); }
};
INSTANTIATE_TEST_SUITE_P(, PostgresTransaction, testing::real_engines(), io::testing::name_of_engine);

Task<> transfer(Session& session, std::int64_t cents) {
  Transaction transaction = co_await session.begin();
  const Written taken =
      co_await transaction.execute("update accounts set cents = cents - $1 where id = 1 and cents >= $1", cents);
  if (taken.changes == 0) co_await fail(Code::Conflict, "not enough");
  co_await transaction.execute("update accounts set cents = cents + $1 where id = 2", cents);
  co_await transaction.commit();
}

TEST_P(PostgresTransaction, commits_or_leaves_nothing) {
  open_accounts();

  const auto first = run(transfer(*database_, 60));
  const auto second = run(transfer(*database_, 60));

  EXPECT_TRUE(first) << first.error().describe();
  EXPECT_EQ(second.error().code(), Code::Conflict);
  EXPECT_EQ(cents(), 40);
  EXPECT_EQ(integer("select cents from accounts where id = 2"), 60);
}

Task<> go_on_after_an_error(Session& session) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = 70 where id = 1");
  const Result<Written> bad = co_await attempt(transaction.execute("update accounts set cents = -1 where id = 1"));
  if (bad || bad.error().code() != Code::InvalidArgument) co_await fail(Code::Internal, "the check holds");
  const Result<Written> wrong = co_await attempt(transaction.execute("update accounts set nothing = -1"));
  if (wrong) co_await fail(Code::Internal, "there is no such column");
  co_await transaction.execute("update accounts set cents = cents + 1 where id = 1");
  co_await transaction.commit();
}

TEST_P(PostgresTransaction, goes_on_after_a_statement_that_fails) {
  open_accounts();

  const auto done = run(go_on_after_an_error(*database_));

  EXPECT_TRUE(done) << done.error().describe();
  EXPECT_EQ(cents(), 71);
}

Task<> commit_after_an_error(Session& session) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = 70 where id = 1");
  const Result<Written> bad = co_await attempt(transaction.execute("update accounts set cents = -1 where id = 1"));
  if (bad) co_await fail(Code::Internal, "the check holds");
  co_await transaction.commit();
}

TEST_P(PostgresTransaction, commits_what_was_done_before_a_statement_that_fails) {
  open_accounts();

  const auto done = run(commit_after_an_error(*database_));

  EXPECT_TRUE(done) << done.error().describe();
  EXPECT_EQ(cents(), 70);
}

Task<> use_savepoints(Session& session) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = 1 where id = 1");
  {
    Savepoint undone = co_await transaction.savepoint();
    co_await transaction.execute("update accounts set cents = 2 where id = 1");
    const Result<Written> bad = co_await attempt(transaction.execute("update accounts set cents = -1 where id = 1"));
    if (bad) co_await fail(Code::Internal, "the check holds");
  }
  Savepoint kept = co_await transaction.savepoint();
  co_await transaction.execute("update accounts set cents = cents + 10 where id = 1");
  co_await kept.release();
  const Result<> again = co_await attempt(kept.release());
  if (again || again.error().code() != Code::Conflict) co_await fail(Code::Internal, "it is over");
  co_await transaction.commit();
}

TEST_P(PostgresTransaction, undoes_to_a_savepoint) {
  open_accounts();

  const auto done = run(use_savepoints(*database_));

  EXPECT_TRUE(done) << done.error().describe();
  EXPECT_EQ(cents(), 11);
}

Task<> use_after_the_end(Session& session, Result<>& used) {
  Transaction transaction = co_await session.begin();
  co_await transaction.commit();
  Result<Written> written = co_await attempt(transaction.execute("update accounts set cents = 3"));
  if (!written) used = std::move(written).error();
}

TEST_P(PostgresTransaction, is_over_after_its_commit) {
  open_accounts();
  Result<> used;

  ASSERT_TRUE(run(use_after_the_end(*database_, used)));

  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code(), Code::Conflict);
  EXPECT_EQ(cents(), 100);
}

// Until it is over: hold_max is long enough for a statement on a busy machine.
Task<> hold_for_long(Database& database, Result<>& used) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("update accounts set cents = 3 where id = 1");
  while (database.stats().expired == 0) co_await sleep_for(10_ms);
  Result<Written> written = co_await attempt(transaction.execute("update accounts set cents = 4 where id = 1"));
  if (!written) used = std::move(written).error();
}

TEST_P(PostgresTransaction, is_rolled_back_when_it_takes_too_long) {
  DatabaseOptions options;
  options.hold_max = 600_ms;
  options.connections = 1;
  open_accounts(std::move(options));
  Result<> used;

  ASSERT_TRUE(run(hold_for_long(*database_, used)));

  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(cents(), 100);
  EXPECT_EQ(database_->stats().expired, 1u);
}

TEST_P(PostgresTransaction, that_is_held_for_long_is_logged_with_the_call_that_began_it) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  DatabaseOptions options;
  options.hold_max = 600_ms;
  options.held_warning = 50_ms;
  open_accounts(std::move(options));
  log::Reader reader(false);
  reader.drain([](const log::Record&) {});
  Result<> used;

  ASSERT_TRUE(run(hold_for_long(*database_, used)));

  std::vector<std::string> places;
  reader.drain([&](const log::Record& record) {
    if (record.component() != "db" || record.level() != Level::Warn) return;
    record.for_each([&](const log::FieldView& field) { places.emplace_back(field.text); });
  });
  ASSERT_EQ(places.size(), 2u);  // Open for long, and rolled back.
  EXPECT_EQ(places[0], places[1]);
  EXPECT_NE(places[0].find("transaction_test.cc:"), std::string::npos) << places[0];
}

Task<> sleep_in_it(Session& session, Result<>& used) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = 3 where id = 1");
  auto ignore = [](const Row&) {};
  Result<std::size_t> slept = co_await attempt(with_timeout(100_ms, transaction.query("select pg_sleep(20)", ignore)));
  if (!slept) used = std::move(slept).error();
  co_await transaction.execute("update accounts set cents = cents + 2 where id = 1");
  co_await transaction.commit();
}

TEST_P(PostgresTransaction, goes_on_after_a_statement_that_was_cancelled) {
  open_accounts();
  Result<> used;

  const auto done = run(sleep_in_it(*database_, used));

  EXPECT_TRUE(done) << done.error().describe();
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code(), Code::DeadlineExceeded) << used.error().describe();
  EXPECT_EQ(cents(), 5);
}

// Deadlines that pass while rows come. The server may have sent them all by then, so one of the statements never ends.
struct Haste {
  int wrong = 0;
  int late = 0;
};
Task<> query_in_haste(Transaction& transaction, SqlFor<0> sql, Duration limit, Haste& haste) {
  std::size_t rows = 0;
  auto count = [&rows](const Row&) { ++rows; };
  const auto found = co_await attempt(with_timeout(limit, transaction.query(sql, count)));
  if (rows != (found ? 20'000u : 0u) || (found && *found != rows)) ++haste.wrong;
  if (!found && found.error().code() != Code::DeadlineExceeded) ++haste.wrong;
  if (!found) ++haste.late;
}
Task<> query_again_in_haste(Session& session, Haste& haste) {
  Transaction transaction = co_await session.begin();
  for (int i = 1; i <= 40; ++i) {
    const Duration limit = Duration::microseconds(i * 250);
    co_await query_in_haste(transaction, "select generate_series(1, 20000)", limit, haste);
    if (i % 10 != 0) continue;
    co_await query_in_haste(transaction,
                            "select n from generate_series(1, 20000) n union all select pg_sleep(20)::text::int", limit,
                            haste);
  }
}

TEST_P(PostgresTransaction, gives_all_rows_or_an_error_when_the_deadline_passes_while_they_come) {
  open_accounts();
  Haste haste;

  const auto done = run(query_again_in_haste(*database_, haste));

  EXPECT_TRUE(done) << done.error().describe();
  EXPECT_EQ(haste.wrong, 0);
  EXPECT_GE(haste.late, 4);
}

// Two tasks that each lock what the other one wants, once each has the first of its own.
struct Locked {
  int calls = 0;
  int firsts = 0;
  Event both = {};
};
Task<> lock_both(Session& session, std::int64_t first, std::int64_t second, Locked& locked) {
  auto body = [&](Transaction& transaction) -> Task<> {
    ++locked.calls;
    co_await transaction.execute("update accounts set cents = cents + 1 where id = $1", first);
    if (++locked.firsts == 2) locked.both.set();
    co_await locked.both.wait();
    co_await transaction.execute("update accounts set cents = cents + 1 where id = $1", second);
  };
  co_await session.transact(body);
}
Task<> deadlock(Session& session, Locked& locked) {
  Scope scope;
  scope.spawn(lock_both(session, 1, 2, locked));
  scope.spawn(lock_both(session, 2, 1, locked));
  co_await scope.join();
}

TEST_P(PostgresTransaction, is_run_again_after_a_deadlock) {
  DatabaseOptions options;
  options.connections = 3;
  options.url = testing::shared_server().url("&options=-cdeadlock_timeout%3D50ms");
  open_accounts(std::move(options));
  Locked locked;

  const auto done = run(deadlock(*database_, locked));

  EXPECT_TRUE(done) << done.error().describe();
  EXPECT_GE(locked.calls, 3);
  EXPECT_EQ(cents(), 102);
  EXPECT_EQ(integer("select cents from accounts where id = 2"), 2);
}

Task<> conflict_always(Database& database, int& calls) {
  auto body = [&](Transaction& transaction) -> Task<> {
    ++calls;
    co_await transaction.query_one<std::int64_t>("select cents from accounts where id = 1");
    co_await database.execute("update accounts set cents = cents + 1 where id = 1");
    co_await transaction.execute("update accounts set cents = 0 where id = 1");
  };
  co_await database.transact({.isolation = Isolation::RepeatableRead}, body,
                             {.attempts_max = 3, .pause_min = 1_ms, .pause_max = 2_ms});
}

TEST_P(PostgresTransaction, is_run_again_a_bounded_number_of_times) {
  open_accounts();
  int calls = 0;

  const auto done = run(conflict_always(*database_, calls));

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::Conflict);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(cents(), 103);
}

Task<std::string> level(Session& session, TransactionOptions options) {
  Transaction transaction = co_await session.begin(options);
  co_return co_await transaction.query_one<std::string>(
      "select current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only') || ' ' || "
      "current_setting('transaction_deferrable')");
}

TEST_P(PostgresTransaction, has_the_options_that_it_was_begun_with) {
  open_accounts();

  EXPECT_EQ(run(level(*database_, {})).value(), "read committed off off");
  EXPECT_EQ(run(level(*database_, {.isolation = Isolation::RepeatableRead})).value(), "repeatable read off off");
  EXPECT_EQ(run(level(*database_, {.read_only = true})).value(), "read committed on off");
  EXPECT_EQ(
      run(level(*database_, {.isolation = Isolation::Serializable, .read_only = true, .deferrable = true})).value(),
      "serializable on on");
}

}  // namespace
}  // namespace keel::db::postgres::transaction_test
