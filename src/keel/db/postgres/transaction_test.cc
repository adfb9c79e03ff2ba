#include <gtest/gtest.h>

#include <string>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"
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

Task<> hold_for_long(Session& session, Result<>& used) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = 3 where id = 1");
  co_await sleep_for(400_ms);
  Result<Written> written = co_await attempt(transaction.execute("update accounts set cents = 4 where id = 1"));
  if (!written) used = std::move(written).error();
}

TEST_P(PostgresTransaction, is_rolled_back_when_it_takes_too_long) {
  DatabaseOptions options;
  options.hold_max = 100_ms;
  options.connections = 1;
  open_accounts(std::move(options));
  Result<> used;

  ASSERT_TRUE(run(hold_for_long(*database_, used)));

  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(cents(), 100);
  EXPECT_EQ(database_->stats().expired, 1u);
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

}  // namespace
}  // namespace keel::db::postgres::transaction_test
