// The same code on SQLite and on PostgreSQL: what a handler writes to a db::Session does the same on both.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keel/data/timestamp.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/testing/real_server.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"

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
      server_ = std::make_unique<testing::RealServer>();
      DatabaseOptions options;
      options.url = server_->url();
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
  std::unique_ptr<testing::RealServer> server_;
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

}  // namespace
}  // namespace keel::db::postgres::both_test
