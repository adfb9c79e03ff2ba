// The same code on SQLite and on PostgreSQL: what a handler writes to a db::Session does the same on both.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keel/data/decimal.h"
#include "keel/data/timestamp.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/testing/real_server.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/observe/metric.h"
#include "keel/task/event.h"
#include "keel/task/scope.h"

namespace keel::db::postgres::both_test {
namespace {

enum class State { Open, Closed };

struct Account {
  std::int64_t id;
  std::string owner;
  std::int64_t cents;
  State state;
  std::optional<std::string> note;
  Timestamp opened_at;
};
struct NewAccount {
  std::string owner;
  std::int64_t cents;
  State state = State::Open;
  std::optional<std::string> note;
  Timestamp opened_at;
};

class Both : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const bool is_postgres = GetParam();
    if (is_postgres && !testing::RealServer::is_installed()) GTEST_SKIP() << testing::RealServer::missing;
    const std::string id =
        is_postgres ? "id bigint generated always as identity primary key" : "id integer primary key";
    const std::string strict = is_postgres ? "" : " strict";
    const std::string time = is_postgres ? "timestamptz" : "text";
    folder_.write("0001_accounts.sql", "create table accounts (" + id + ", owner text not null unique, cents " +
                                           (is_postgres ? "bigint" : "integer") +
                                           " not null check (cents >= 0), state text not null, note text, opened_at " +
                                           time + " not null)" + strict + ";\ncreate table entries (account " +
                                           (is_postgres ? "bigint" : "integer") +
                                           " not null references accounts (id), text text not null)" + strict + ";\n");
    if (is_postgres) {
      empty_the_server();
      DatabaseOptions options;
      options.url = server().url();
      options.uses_environment = false;
      options.migrations = folder_.path();
      auto opened = Database::open(std::move(options));
      ASSERT_TRUE(opened) << opened.error().describe();
      database_ = *std::move(opened);
    } else {
      auto opened = sqlite::Database::open({.path = data_ / "app.db", .migrations = folder_.path()});
      ASSERT_TRUE(opened) << opened.error().describe();
      database_ = *std::move(opened);
    }
    loop_ = std::make_unique<db::testing::OwnLoop>();
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    database_->detach(loop_->loop);
    while (!database_->is_detached()) loop_->turn();
    loop_.reset();
    database_.reset();
  }
  static testing::RealServer& server() {
    static testing::RealServer one;
    return one;
  }
  // Of what another test has left.
  static void empty_the_server() {
    db::testing::OwnLoop loop;
    DatabaseOptions options;
    options.url = server().url();
    options.uses_environment = false;
    const auto database = Database::make(std::move(options)).value();
    EXPECT_TRUE(loop.run(database->run_script("drop schema public cascade; create schema public")));
    database->detach(loop.loop);
    while (!database->is_detached()) loop.turn();
  }
  template <class T>
  Result<T> run(Task<T>&& task) {
    return loop_->run(std::move(task));
  }
  void expect_success(Task<>&& task) {
    const Result<> done = run(std::move(task));
    EXPECT_TRUE(done) << done.error().describe();
  }

  db::testing::Folder folder_;
  db::testing::Folder data_;
  std::unique_ptr<db::Database> database_;
  std::unique_ptr<db::testing::OwnLoop> loop_;
};
INSTANTIATE_TEST_SUITE_P(, Both, ::testing::Bool(), [](const ::testing::TestParamInfo<bool>& which) {
  return which.param ? "postgres" : "sqlite";
});

Task<> expect(bool holds, const char* what) {
  if (!holds) co_await Error::text(Code::Internal, what);
}

Task<std::int64_t> add(Session& session, std::string owner, std::int64_t cents) {
  const NewAccount account{.owner = owner,
                           .cents = cents,
                           .note = std::nullopt,
                           .opened_at = Timestamp::parse("2026-11-28T10:00:00.25Z").value()};
  const Written written = co_await session.execute(
      "insert into accounts (owner, cents, state, note, opened_at) values ($owner, $cents, $state, $note, $opened_at) "
      "returning id",
      account);
  co_return written.last_insert_id;
}

Task<> read_back(Session& session) {
  const std::int64_t id = co_await add(session, "ada", 100);
  const Account ada = co_await session.query_one<Account>(
      "select id, owner, cents, state, note, opened_at from accounts where id = $1", id);
  co_await expect(ada.owner == "ada" && ada.cents == 100 && ada.state == State::Open && !ada.note, "the row is whole");
  co_await expect(ada.opened_at == Timestamp::parse("2026-11-28T10:00:00.25Z").value(), "the time is the same");
  const Written none = co_await session.execute("update accounts set cents = 1 where owner = $1", "nobody");
  co_await expect(none.changes == 0, "nothing has changed");
  const Written one = co_await session.execute("update accounts set state = $1, note = $2", State::Closed, "a note");
  co_await expect(one.changes == 1, "one has changed");
  const auto all = co_await session.query_many<Account>("select * from accounts order by id");
  co_await expect(all.size() == 1 && all[0].state == State::Closed && all[0].note == "a note", "it has changed");
}
TEST_P(Both, read_what_was_written) { expect_success(read_back(*database_)); }

Task<> violate(Session& session) {
  co_await add(session, "ada", 100);
  const Result<std::int64_t> twice = co_await attempt(add(session, "ada", 1));
  co_await expect(!twice && twice.error().code() == Code::AlreadyExists, "a unique key");
  const Result<std::int64_t> check = co_await attempt(add(session, "bob", -1));
  co_await expect(!check && check.error().code() == Code::InvalidArgument, "a check");
  const Result<Written> key = co_await attempt(session.execute("insert into entries values (77, 'x')"));
  co_await expect(!key && key.error().code() == Code::Conflict, "a foreign key");
  const Result<Written> null = co_await attempt(session.execute("insert into entries values (1, null)"));
  co_await expect(!null && null.error().code() == Code::InvalidArgument, "a null");
  const Result<Written> wrong = co_await attempt(session.execute("insert into nowhere values (1)"));
  co_await expect(!wrong && wrong.error().code() == Code::Internal, "wrong SQL");
}
Task<> keep_amounts(Session& session, bool is_postgres) {
  struct Amount {
    Decimal amount;
    std::optional<Decimal> fee;
  };
  // The type is a part of the statement, which is constant text.
  if (is_postgres) {
    co_await session.execute("create table amounts (id bigint, amount numeric not null, fee numeric)");
  } else {
    co_await session.execute("create table amounts (id integer, amount text not null, fee text) strict");
  }
  const std::string digits(36, '9');
  std::int64_t id = 0;
  for (const std::string& text :
       {std::string("19.90"), std::string("-0.001"), digits, "-0." + digits, std::string("0.00")}) {
    const Decimal amount = Decimal::parse(text).value();
    co_await session.execute("insert into amounts values ($1, $2, $3)", ++id, amount, std::optional<Decimal>(-amount));
    const auto back = co_await session.query_one<Amount>("select amount, fee from amounts where id = $1", id);
    EXPECT_EQ(back.amount.text(), text);
    EXPECT_EQ(back.fee, -amount);
  }
  co_await session.execute("update amounts set fee = null");
  const auto none = co_await session.query_many<std::optional<Decimal>>("select fee from amounts");
  EXPECT_EQ(none.size(), 5u);
  EXPECT_FALSE(none[0]);
  const Decimal total = co_await session.query_one<Decimal>("select count(*) from amounts");
  EXPECT_EQ(total, 5);
  if (is_postgres) {
    const auto sum = co_await session.query_one<Decimal>("select sum(amount) from amounts where id < $1", 3);
    EXPECT_EQ(sum.text(), "19.899");
    const Result<Decimal> nan = co_await attempt(session.query_one<Decimal>("select 'NaN'::numeric as total"));
    EXPECT_EQ(nan.error().message(), "column 'total': expected a decimal number such as 19.90, of at most 36 digits");
  }
}
TEST_P(Both, keep_each_digit_of_a_decimal) { expect_success(keep_amounts(*database_, GetParam())); }

TEST_P(Both, have_the_same_codes_for_errors) { expect_success(violate(*database_)); }

Task<std::int64_t> sum(Session& session) {
  co_return co_await session.query_one<std::int64_t>("select cast(sum(cents) as bigint) from accounts");
}

Task<> leave(Session& session) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = 0");
}

Task<> transact(Session& session) {
  co_await add(session, "ada", 100);
  co_await leave(session);
  const std::int64_t kept = co_await sum(session);
  co_await expect(kept == 100, "what was not committed is undone");

  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = cents + 1");
  const Result<Written> bad = co_await attempt(transaction.execute("update accounts set cents = -1"));
  co_await expect(!bad, "the check holds");
  {
    Savepoint undone = co_await transaction.savepoint();
    co_await transaction.execute("update accounts set cents = cents + 10");
  }
  Savepoint point = co_await transaction.savepoint();
  co_await transaction.execute("update accounts set cents = cents + 100");
  co_await point.release();
  co_await transaction.commit();
  const std::int64_t after = co_await sum(session);
  co_await expect(after == 201, "the transaction went on after an error, and without what was undone");

  const Result<Written> over = co_await attempt(transaction.execute("update accounts set cents = 5"));
  co_await expect(!over && over.error().code() == Code::Conflict, "it is over");
}
TEST_P(Both, undo_and_commit_alike) { expect_success(transact(*database_)); }

Task<> report(Session& session) {
  co_await add(session, "ada", 100);
  Transaction transaction = co_await session.begin({.isolation = Isolation::RepeatableRead, .read_only = true});
  const auto before = co_await transaction.query_one<std::int64_t>("select cast(sum(cents) as bigint) from accounts");
  co_await session.execute("update accounts set cents = 7");
  const auto after = co_await transaction.query_one<std::int64_t>("select cast(sum(cents) as bigint) from accounts");
  co_await expect(before == 100 && after == 100, "all queries have one snapshot");
  const Result<Written> written = co_await attempt(transaction.execute("update accounts set cents = 8"));
  co_await expect(!written && written.error().code() == Code::FailedPrecondition, "it changes nothing");
  {
    Savepoint point = co_await transaction.savepoint();
    const auto rows = co_await transaction.query_many<std::int64_t>("select cents from accounts");
    co_await expect(rows.size() == 1, "and goes on");
    co_await point.release();
    const Result<> again = co_await attempt(point.release());
    co_await expect(!again && again.error().code() == Code::Conflict, "a savepoint ends once");
  }
  co_await transaction.commit();
  const Result<> twice = co_await attempt(transaction.commit());
  co_await expect(!twice && twice.error().code() == Code::Conflict, "so does a transaction");
  const auto over = co_await attempt(transaction.query_many<std::int64_t>("select cents from accounts"));
  co_await expect(!over && over.error().code() == Code::Conflict, "and its statements");
  const std::int64_t now = co_await sum(session);
  co_await expect(now == 7, "others have written meanwhile");
}
TEST_P(Both, have_one_snapshot_in_a_transaction_that_reads) { expect_success(report(*database_)); }

Task<> every_level(Session& session) {
  co_await add(session, "ada", 0);
  for (const Isolation isolation :
       {Isolation::Default, Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable}) {
    for (const bool deferrable : {false, true}) {
      Transaction transaction = co_await session.begin({.isolation = isolation, .deferrable = deferrable});
      co_await transaction.execute("update accounts set cents = cents + 1");
      co_await transaction.commit();
      Transaction reading =
          co_await session.begin({.isolation = isolation, .read_only = true, .deferrable = deferrable});
      co_await reading.query_one<std::int64_t>("select cents from accounts");
    }
  }
  const std::int64_t after = co_await sum(session);
  co_await expect(after == 8, "each has written");
}
TEST_P(Both, take_each_isolation) { expect_success(every_level(*database_)); }

// Each adds what it has read: without isolation one of two is lost.
struct Increments {
  int calls = 0;
  bool is_beside = false;  // Two transactions run at the same time: the first two read before either writes.
  Event have_read;
  int readers = 0;
};
Task<> increment(Session& session, Increments& all) {
  auto body = [&](Transaction& transaction) -> Task<std::int64_t> {
    ++all.calls;
    const auto cents = co_await transaction.query_one<std::int64_t>("select cents from accounts");
    if (++all.readers == 2 || !all.is_beside) all.have_read.set();
    co_await all.have_read.wait();
    co_await transaction.execute("update accounts set cents = $1", cents + 1);
    co_return cents;
  };
  co_await session.transact({.isolation = Isolation::Serializable}, body, {.attempts_max = 100});
}
Task<> increment_all(Session& session, Increments& all) {
  co_await add(session, "ada", 0);
  Scope scope;
  for (int i = 0; i < 20; ++i) scope.spawn(increment(session, all));
  co_await scope.join();
  const std::int64_t after = co_await sum(session);
  co_await expect(after == 20, "no increment is lost");
}
TEST_P(Both, run_a_transaction_again_that_met_another_one) {
  Increments all;
  all.is_beside = GetParam();

  expect_success(increment_all(*database_, all));

  const PoolStats pool = database_->pool();
  EXPECT_GT(pool.connections, 1u);
  EXPECT_GT(pool.waits, 0u);
  EXPECT_GT(pool.wait_time, Duration());
  EXPECT_EQ(pool.waiting, 0u);
  EXPECT_EQ(pool.timeouts, 0u);
  if (GetParam()) {
    EXPECT_GT(all.calls, 20);
  } else {
    EXPECT_EQ(all.calls, 20);
  }
}

Task<> fail_in_it(Session& session) {
  co_await add(session, "ada", 5);
  auto body = [](Transaction& transaction) -> Task<> {
    co_await transaction.execute("update accounts set cents = 6");
    co_await fail(Code::OutOfRange, "no");
  };
  const Result<> failed = co_await attempt(session.transact(body));
  co_await expect(!failed && failed.error().code() == Code::OutOfRange, "the error is the body's");
  const std::int64_t after = co_await sum(session);
  co_await expect(after == 5, "and what it did is undone");
}
TEST_P(Both, roll_back_a_transaction_whose_body_fails) { expect_success(fail_in_it(*database_)); }

Task<> stream_all(Session& session) {
  for (int i = 0; i < 40; ++i) {
    const std::string owner = "owner " + std::to_string(i);
    co_await add(session, owner, i);
  }
  std::int64_t next = 10;
  auto on_rows = [&](std::span<const Account> accounts) -> Task<> {
    for (const Account& account : accounts) co_await expect(account.cents == next++, "in order");
  };
  const std::size_t count =
      co_await session.stream<Account>("select * from accounts where cents >= $1 order by cents", on_rows, 10);
  co_await expect(count == 30 && next == 40, "all rows");
  const auto written = co_await attempt(session.stream<Account>("delete from accounts returning *", on_rows));
  co_await expect(!written && written.error().code() == Code::InvalidArgument, "no writes");
  const auto wrong = co_await attempt(session.stream<Account>("select * from no_such_table", on_rows));
  co_await expect(!wrong && wrong.error().code() == Code::Internal, "the program's own mistake");
}

Task<> control(Session& session) {
  const auto begun = co_await attempt(session.execute("begin"));
  co_await expect(!begun && begun.error().code() == Code::Internal, "no statement begins a transaction");
  co_await add(session, "ada", 100);
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("update accounts set cents = 7");
  const auto ended = co_await attempt(transaction.execute("commit"));
  co_await expect(!ended && ended.error().code() == Code::Internal, "and none ends it");
  const auto point = co_await attempt(transaction.execute("savepoint a"));
  co_await expect(!point && point.error().code() == Code::Internal, "or sets a savepoint");
  transaction.roll_back();
  const std::int64_t after = co_await sum(session);
  co_await expect(after == 100, "it was rolled back as a whole");
}
TEST_P(Both, take_no_statement_that_controls_transactions) { expect_success(control(*database_)); }

TEST_P(Both, have_the_same_metrics_of_their_connections) {
  metrics::Registry registry;
  const auto exposed = database_->expose(registry);
  std::set<std::string> names;
  metrics::Reading reading;
  auto keep = [&](std::span<const metrics::Family> families) {
    for (const metrics::Family& family : families) names.insert(family.name);
  };
  registry.read(reading, keep);

  for (const char* name : {"db_connections", "db_connections_in_use", "db_waiting", "db_waits_total",
                           "db_wait_seconds_total", "db_wait_timeouts_total", "db_connections_max",
                           "db_wait_max_seconds", "db_connection_age_seconds", "db_transactions_expired_total"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_P(Both, stream_rows) { expect_success(stream_all(*database_)); }

}  // namespace
}  // namespace keel::db::postgres::both_test
