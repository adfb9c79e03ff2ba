// Against a server that is none, on every engine; cuts_test.cc ends its connections at any byte.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/fake_table_test.h"
#include "keel/db/postgres/testing/fake_listener.h"
#include "keel/io/testing/loop_test.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::database_fake_test {
namespace {

using testing::Counted;
using testing::FakeError;
using testing::FakeListener;
using testing::FakeOptions;
using testing::Fault;
using testing::insert;
using testing::insert_in_group;
using testing::insert_twice;
using testing::read_back;
using testing::Table;

class FakeDatabaseTest : public io::testing::LoopTest {
 protected:
  void TearDown() override {
    close();
    end_server();
    LoopTest::TearDown();
  }
  void begin_server(FakeOptions fake, std::uint16_t port = 0) {
    listener_ = std::make_unique<FakeListener>(table_, std::move(fake), port);
    ASSERT_FALSE(serving_.begin(listener_->serve(), [](StartCore&) noexcept {}));
  }
  void end_server() {
    if (listener_ == nullptr) return;
    serving_.stop();
    EXPECT_TRUE(until([&] { return !serving_.is_running(); }));
    static_cast<void>(serving_.take());
    listener_.reset();
  }
  void open(FakeOptions fake = {}, DatabaseOptions options = {}) {
    begin_server(std::move(fake));
    options.url = listener_->url();
    options.uses_environment = false;
    auto made = Database::make(std::move(options));
    ASSERT_TRUE(made) << made.error().describe();
    database_ = *std::move(made);
  }
  void close() {
    if (database_ == nullptr) return;
    database_->detach(loop());
    EXPECT_TRUE(until([&] { return database_->is_detached(); }));
    database_.reset();
  }

  Table table_;
  std::unique_ptr<FakeListener> listener_;
  std::unique_ptr<Database> database_;
  Start<void> serving_;
};
INSTANTIATE_TEST_SUITE_P(, FakeDatabaseTest, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(FakeDatabaseTest, logs_in_reads_and_writes) {
  open({.passwords = {{"app", "secret"}}});

  const auto found = run(read_back(*database_, 5));
  const auto inserted = run(insert(*database_, 7));
  const auto grouped = run(insert_in_group(*database_, 8));
  const auto twice = run(insert_twice(*database_, 9));

  ASSERT_TRUE(found) << found.error().describe();
  EXPECT_EQ(*found, 5);
  EXPECT_TRUE(inserted) << inserted.error().describe();
  EXPECT_TRUE(grouped) << grouped.error().describe();
  EXPECT_TRUE(twice) << twice.error().describe();
  EXPECT_EQ(table_.rows, (std::map<std::string, int>{{"7", 1}, {"8", 1}, {"9", 1}, {"1000009", 1}}));
}

TEST_P(FakeDatabaseTest, refuses_a_wrong_password) {
  open({.passwords = {{"app", "another"}}});

  const auto found = run(read_back(*database_, 5));

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::Unavailable);
  EXPECT_NE(found.error().describe().find("password"), std::string::npos) << found.error().describe();
}

TEST_P(FakeDatabaseTest, works_behind_a_pooler) {
  DatabaseOptions options;
  options.pooler = true;
  FakeOptions fake;
  fake.is_pooler = true;
  open(std::move(fake), std::move(options));

  for (std::int64_t n = 0; n < 3; ++n) {
    const auto found = run(read_back(*database_, n));
    ASSERT_TRUE(found) << found.error().describe();
    EXPECT_EQ(*found, n);
    EXPECT_TRUE(run(insert_twice(*database_, n)));
  }
  EXPECT_EQ(table_.rows.size(), 6u);
  const auto listening = run(database_->listen("jobs"));
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().code(), Code::Unsupported);
}

struct InOrder {
  std::int64_t next = 0;
  Task<> operator()(std::span<const Counted> some) {
    for (const Counted& one : some) {
      if (one.n != next++) co_await fail(Code::Internal, "out of order");
    }
    co_await sleep_for(1_ms);
  }
};

TEST_P(FakeDatabaseTest, streams_by_a_portal) {
  open({.passwords = {{"app", "secret"}}});
  InOrder rows;

  const auto count = run(database_->stream<Counted>("select many", rows));

  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, 5000u);
  EXPECT_EQ(rows.next, 5000);
}

Task<> copy_many(CopyRows<Counted>& rows) {
  for (std::int64_t n = 0; n < 30'000; ++n) {
    const Counted one{n};
    co_await rows.write(one);
  }
}

TEST_P(FakeDatabaseTest, copies_in) {
  open({.passwords = {{"app", "secret"}}});

  const auto count = run(database_->copy_in<Counted>("t", copy_many));

  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, 30'000u);
  EXPECT_EQ(table_.rows.size(), 30'000u);
}

TEST_P(FakeDatabaseTest, copies_out) {
  open({.passwords = {{"app", "secret"}}});
  InOrder rows;

  const auto count = run(database_->copy_out<Counted>("select few", rows));

  ASSERT_TRUE(count) << count.error().describe();
  EXPECT_EQ(*count, static_cast<std::size_t>(Table::few));
  EXPECT_EQ(rows.next, Table::few);
}

TEST_P(FakeDatabaseTest, rejects_a_copy_that_is_not_binary) {
  open({.passwords = {{"app", "secret"}}});
  InOrder rows;

  const auto count = run(database_->copy_out<Counted>("select many", rows));

  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code(), Code::Unavailable);
  EXPECT_NE(count.error().describe().find("binary format"), std::string::npos) << count.error().describe();
}

// A transaction whose `begin` the server rejects: nothing of it may run on its own, with a commit of its own.
class FakeBeginTest : public FakeDatabaseTest {
 protected:
  // On one connection, which knows the statements, so that they are sent together with the `begin`.
  void open_one(bool is_pooler = false) {
    DatabaseOptions options;
    options.connections = 1;
    options.pooler = is_pooler;
    FakeOptions fake;
    fake.is_pooler = is_pooler;
    open(std::move(fake), std::move(options));
    ASSERT_TRUE(run(insert_twice(*database_, 0)));
    table_.rows.clear();
  }
  static FakeError out_of_memory() { return {"53200", "out of memory"}; }
  static FakeError hot_standby() { return {"25001", "cannot use serializable mode in a hot standby"}; }
};
INSTANTIATE_TEST_SUITE_P(, FakeBeginTest, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(FakeBeginTest, a_statement_does_not_run_without_its_transaction) {
  for (const bool is_pooler : {false, true}) {
    open_one(is_pooler);
    table_.begin_error = hot_standby();

    const auto done = run(insert_twice(*database_, 1));

    ASSERT_FALSE(done);
    EXPECT_NE(done.error().describe().find("hot standby"), std::string::npos) << done.error().describe();
    EXPECT_TRUE(table_.rows.empty()) << "pooler: " << is_pooler;
    EXPECT_TRUE(run(insert_twice(*database_, 2))) << "the connection is as before";
    EXPECT_EQ(table_.rows, (std::map<std::string, int>{{"2", 1}, {"1000002", 1}}));
    close();
    end_server();
  }
}

Task<> insert_second(Session& session, bool& failed) {
  Transaction transaction = co_await session.begin();
  Savepoint point = co_await transaction.savepoint();
  const auto first = co_await attempt(transaction.execute("insert into t values ($1)", 1));
  failed = !first;
  co_await transaction.execute("insert into t values ($1)", 2);
  co_await point.release();
  co_await transaction.commit();
}

TEST_P(FakeBeginTest, the_next_statement_begins_the_transaction_again) {
  open_one();
  table_.begin_error = hot_standby();
  bool failed = false;

  const auto done = run(insert_second(*database_, failed));

  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_TRUE(failed);
  EXPECT_EQ(table_.rows, (std::map<std::string, int>{{"2", 1}}));
}

Task<> insert_none(Session& session) {
  Transaction transaction = co_await session.begin();
  static_cast<void>(co_await attempt(transaction.execute("insert into t values ($1)", 1)));
  co_await transaction.commit();
}

TEST_P(FakeBeginTest, a_commit_commits_what_is_there) {
  open_one();
  table_.begin_error = hot_standby();

  EXPECT_TRUE(run(insert_none(*database_)));
  EXPECT_TRUE(table_.rows.empty());
  EXPECT_TRUE(run(insert_twice(*database_, 2)));
  EXPECT_EQ(table_.rows.size(), 2u);
}

Task<> copy_both(Database& database) {
  Transaction transaction = co_await database.begin();
  auto rows = [](CopyRows<Counted>& to) -> Task<> { co_await to.write(Counted{7}); };
  co_await database.copy_in<Counted>(transaction, "t", rows);
  co_await transaction.commit();
}

Task<> insert_second_alone(Session& session, bool& failed) {
  Transaction transaction = co_await session.begin();
  const auto first = co_await attempt(transaction.execute("insert into t values ($1)", 1));
  failed = !first;
  co_await transaction.execute("insert into t values ($1)", 2);
  co_await transaction.commit();
}

// It was begun, but a failed statement cannot be undone alone.
TEST_P(FakeBeginTest, a_transaction_without_its_first_savepoint_is_begun_again) {
  for (const bool is_pooler : {false, true}) {
    for (const bool is_own : {false, true}) {
      SCOPED_TRACE(is_own);
      open_one(is_pooler);
      table_.savepoint_error = out_of_memory();
      bool failed = false;

      const auto done = run((is_own ? insert_second : insert_second_alone)(*database_, failed));

      EXPECT_TRUE(done) << done.error().describe();
      EXPECT_TRUE(failed);
      EXPECT_EQ(table_.rows, (std::map<std::string, int>{{"2", 1}}));
      table_.rows.clear();
      table_.savepoint_error = out_of_memory();
      EXPECT_TRUE(run(insert_none(*database_)));
      EXPECT_TRUE(table_.rows.empty());
      EXPECT_TRUE(run(copy_both(*database_)));
      close();
      end_server();
    }
  }
}

Task<> commit_without(Session& session, std::optional<FakeError>& savepoint_error) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("insert into t values ($1)", 1);
  savepoint_error = FakeError{"53200", "out of memory"};
  Savepoint point = co_await transaction.savepoint();
  co_await transaction.commit();
}

TEST_P(FakeBeginTest, a_commit_that_the_server_skips_leaves_no_transaction_open) {
  open_one();

  const auto done = run(commit_without(*database_, table_.savepoint_error));

  ASSERT_FALSE(done);
  EXPECT_NE(done.error().describe().find("out of memory"), std::string::npos) << done.error().describe();
  EXPECT_TRUE(table_.rows.empty());
  EXPECT_TRUE(run(insert_twice(*database_, 2))) << "the connection is as before";
  EXPECT_EQ(table_.rows.size(), 2u);
}

// A CancelRequest for the statement before it that arrived late.
TEST_P(FakeBeginTest, a_cancel_that_was_meant_for_another_statement_is_overcome) {
  for (const bool knows_statement : {true, false}) {
    if (knows_statement) {
      open_one();
    } else {
      DatabaseOptions options;
      options.connections = 1;
      open({}, std::move(options));
      ASSERT_EQ(run(read_back(*database_, 5)).value_or(0), 5) << "connected";
    }
    table_.begin_error = FakeError{"57014", "canceling statement due to user request"};

    const auto done = run(insert_twice(*database_, 1));

    EXPECT_TRUE(done) << done.error().describe();
    EXPECT_EQ(table_.rows, (std::map<std::string, int>{{"1", 1}, {"1000001", 1}}));
    table_.rows.clear();
    close();
    end_server();
  }
}

TEST_P(FakeBeginTest, a_copy_does_not_run_without_its_transaction) {
  open_one();
  table_.begin_error = hot_standby();

  const auto done = run(copy_both(*database_));

  ASSERT_FALSE(done);
  EXPECT_NE(done.error().describe().find("hot standby"), std::string::npos) << done.error().describe();
  EXPECT_TRUE(table_.rows.empty());
  EXPECT_TRUE(run(copy_both(*database_)));
  EXPECT_EQ(table_.rows, (std::map<std::string, int>{{"7", 1}}));
}

TEST_P(FakeBeginTest, a_stream_does_not_run_without_its_transaction) {
  open_one();
  for (int i = 0; i < 2; ++i) {
    InOrder rows;
    if (i == 1) table_.begin_error = hot_standby();
    const auto count = run(database_->stream<Counted>("select many", rows));
    EXPECT_EQ(count.is_ok(), i == 0);
    EXPECT_EQ(rows.next, i == 0 ? 5000 : 0);
  }
}

Task<> cancel_in_it(Session& session, Result<>& used) {
  Transaction transaction = co_await session.begin();
  auto ignore = [](const Row&) {};
  const auto found = co_await attempt(with_timeout(20_ms, transaction.query("select held", ignore)));
  if (!found) used = found.error().clone();
  co_await transaction.execute("insert into t values ($1)", 1);
  co_await transaction.commit();
}

TEST_P(FakeDatabaseTest, cancels_again_what_a_server_had_not_read_when_it_was_cancelled) {
  open({.cancels_ignored = 2});
  for (int i = 0; i < 2; ++i) {  // The second one is prepared.
    Result<> used;
    const auto done = run(cancel_in_it(*database_, used));

    ASSERT_TRUE(done) << done.error().describe();
    ASSERT_FALSE(used);
    EXPECT_EQ(used.error().code(), Code::DeadlineExceeded) << used.error().describe();
  }
  EXPECT_EQ(database_->stats().lost, 0u);
  EXPECT_EQ(database_->stats().cancels, 2u) << "statements";
  EXPECT_EQ(table_.rows, (std::map<std::string, int>{{"1", 2}}));
}

TEST_P(FakeDatabaseTest, makes_a_connection_again_when_it_is_old) {
  DatabaseOptions options;
  options.connections = 2;
  options.max_age = 40_ms;
  open({.passwords = {{"app", "secret"}}}, std::move(options));

  for (std::int64_t n = 0; n < 60; ++n) {
    const auto twice = run(insert_twice(*database_, n));
    ASSERT_TRUE(twice) << twice.error().describe();
    pass(5_ms);
  }

  const DatabaseStats stats = database_->stats();
  EXPECT_GE(stats.retired, 4u);
  EXPECT_GE(stats.connects, stats.retired);
  EXPECT_EQ(stats.lost, 0u);
  EXPECT_EQ(stats.connect_failures, 0u);
  EXPECT_EQ(table_.rows.size(), 120u);
}

TEST_P(FakeDatabaseTest, tells_of_an_outage_immediately_and_ends_it_within_reconnect_max) {
  const FakeOptions fake{.passwords = {{"app", "secret"}}};
  DatabaseOptions options;
  options.reconnect_max = 400_ms;
  open(fake, std::move(options));
  int changes = 0;
  database_->watch([&] { ++changes; });
  ASSERT_TRUE(run(read_back(*database_, 5)));
  ASSERT_TRUE(until([&] { return database_->stats().connections == 2; }));
  // A login of virtual time takes milliseconds; how long a busy machine takes for one says nothing.
  const Duration soon = is_sim() ? 100_ms : 20_s;

  for (int outage = 1; outage <= 5; ++outage) {
    const std::uint16_t port = listener_->port();
    const Instant ended = now();
    end_server();
    EXPECT_TRUE(until([&] { return changes == 2 * outage - 1; }));
    EXPECT_LE(now() - ended, soon);
    const auto refused = run(read_back(*database_, 5));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::Unavailable);

    pass(Duration::milliseconds(outage * 300));
    begin_server(fake, port);
    const Instant back = now();
    EXPECT_TRUE(until([&] { return database_->stats().connections == 2; }));
    EXPECT_LE(now() - back, database_->options().reconnect_max + soon);
    EXPECT_EQ(changes, 2 * outage);
    EXPECT_EQ(run(read_back(*database_, 5)).value(), 5);
  }
}

Task<std::string> wait_for_one(Database& database, testing::FakeDatabase& server) {
  Notifications jobs = co_await database.listen("jobs");
  server.notify("jobs", "first");
  server.notify("others", "not for us");
  server.notify("jobs", "second");
  std::string all;
  for (int i = 0; i < 2; ++i) {
    const Notification one = co_await with_timeout(5_s, jobs.next());
    all += one.channel + " " + one.payload + ";";
  }
  co_return all;
}

TEST_P(FakeDatabaseTest, gives_notifications) {
  open({.passwords = {{"app", "secret"}}});

  const auto all = run(wait_for_one(*database_, table_));

  ASSERT_TRUE(all) << all.error().describe();
  EXPECT_EQ(*all, "jobs first;jobs second;");
}

class FakeFault : public FakeDatabaseTest {
 protected:
  // A statement under `fault` ends with an error, and soon.
  void expect_error(Fault fault) {
    FakeOptions fake;
    fake.passwords = {{"app", "secret"}};
    fake.fault = fault;
    DatabaseOptions options;
    options.rows_bytes_max = 1 << 20;
    options.message_bytes_max = 1 << 20;
    options.cancel_grace = 200_ms;
    options.connections = 1;
    open(std::move(fake), std::move(options));
    const auto found = run(read_back(*database_, 5));
    EXPECT_FALSE(found) << static_cast<int>(fault);
    if (!found) {
      EXPECT_TRUE(found.error().is_from_environment() || found.error().code() == Code::ResourceExhausted)
          << static_cast<int>(fault) << ": " << found.error().describe();
    }
    close();
    end_server();
  }
};
INSTANTIATE_TEST_SUITE_P(, FakeFault, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(FakeFault, is_an_error_whatever_the_server_does) {
  for (const Fault fault :
       {Fault::BadSignature, Fault::BadNonce, Fault::HugeIterations, Fault::NoIterations, Fault::SkipsProof,
        Fault::AsksForCleartext, Fault::AsksForMd5, Fault::LengthBelowFour, Fault::LengthOfGigabytes,
        Fault::CellBeyondMessage, Fault::NegativeCell, Fault::MoreColumns, Fault::TrailingBytes, Fault::EndlessRows,
        Fault::UnexpectedMessage, Fault::UnknownMessage, Fault::BadValue, Fault::ClosesMidway}) {
    expect_error(fault);
  }
}

}  // namespace
}  // namespace keel::db::postgres::database_fake_test
