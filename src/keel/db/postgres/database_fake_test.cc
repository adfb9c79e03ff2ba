// Against a server that is none: on every engine, and in simulations whose connections end at any byte.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/testing/fake_listener.h"
#include "keel/io/testing/loop_test.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::database_fake_test {
namespace {

using testing::FakeListener;
using testing::FakeOptions;
using testing::FakeResult;
using testing::FakeStatement;
using testing::FakeValue;
using testing::Fault;

// A table of one column, committed as a server commits.
struct Table : testing::FakeDatabase {
  FakeStatement prepare(std::string_view sql) override {
    if (sql.starts_with("insert")) return {.parameters = {oid::int8}};
    if (sql.starts_with("select many")) return {.columns = {{"n", oid::int8}}};
    if (sql.starts_with("copy")) return {};
    if (sql.starts_with("select")) return {.parameters = {oid::int8}, .columns = {{"n", oid::int8}}};
    return {.error = testing::FakeError{"42601", "syntax error"}};
  }
  FakeResult execute(std::uint64_t session, std::string_view sql, std::span<const FakeValue> arguments) override {
    if (sql.starts_with("select many")) {
      std::vector<testing::FakeRow> many;
      for (int i = 0; i < 5000; ++i) many.push_back({std::to_string(i)});
      return {.rows = std::move(many)};
    }
    if (sql.starts_with("copy (")) return {.rows = {{"1"}}, .copy = FakeResult::Copy::Out};
    if (sql.starts_with("copy")) return {.copy = FakeResult::Copy::In};
    if (sql.starts_with("select")) return {.rows = {{*arguments[0]}}};
    pending[session].push_back(*arguments[0]);
    return {.tag = "INSERT 0 1"};
  }
  FakeResult copied(std::uint64_t session, std::string_view, std::string_view data) override {
    std::size_t count = 0;
    for (; !data.empty(); ++count) {
      const std::size_t end = data.find('\n');
      pending[session].emplace_back(data.substr(0, end));
      data.remove_prefix(end + 1);
    }
    return {.tag = "COPY " + std::to_string(count)};
  }
  void commit(std::uint64_t session) override {
    for (const std::string& value : pending[session]) ++rows[value];
    roll_back(session);
  }
  void roll_back(std::uint64_t session) override {
    pending[session].clear();
    marks[session].clear();
  }
  void savepoint(std::uint64_t session, std::string_view name) override {
    marks[session].emplace_back(name, pending[session].size());
  }
  void release(std::uint64_t session, std::string_view name) override { unwind(session, name, false); }
  void roll_back_to(std::uint64_t session, std::string_view name) override { unwind(session, name, true); }
  void unwind(std::uint64_t session, std::string_view name, bool undoes) {
    auto& all = marks[session];
    while (!all.empty() && all.back().first != name) all.pop_back();
    if (all.empty()) return;
    if (undoes) {
      pending[session].resize(all.back().second);
    } else {
      all.pop_back();
    }
  }

  std::map<std::uint64_t, std::vector<std::string>> pending;
  std::map<std::uint64_t, std::vector<std::pair<std::string, std::size_t>>> marks;
  std::map<std::string, int> rows;
};

Task<> insert(Session& session, std::int64_t n) { co_await session.execute("insert into t values ($1)", n); }
Task<> insert_in_group(Session& session, std::int64_t n) {
  co_await session.execute("insert into t values ($1) -- group\n", n);
}
Task<> insert_twice(Session& session, std::int64_t n) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("insert into t values ($1)", n);
  co_await transaction.execute("insert into t values ($1)", n + 1'000'000);
  co_await transaction.commit();
}
Task<std::int64_t> read(Session& session, std::int64_t n) {
  std::int64_t found = -1;
  auto keep = [&](const Row& row) { found = row.integer(0); };
  co_await session.query("select $1", keep, n);
  co_return found;
}

class FakeDatabaseTest : public io::testing::LoopTest {
 protected:
  void TearDown() override {
    close();
    serving_.stop();
    if (listener_ != nullptr) {
      EXPECT_TRUE(until([&] { return !serving_.is_running(); }));
      static_cast<void>(serving_.take());
    }
    listener_.reset();
    LoopTest::TearDown();
  }
  void open(FakeOptions fake = {}, DatabaseOptions options = {}) {
    listener_ = std::make_unique<FakeListener>(table_, std::move(fake));
    ASSERT_FALSE(serving_.begin(listener_->serve(), [](StartCore&) noexcept {}));
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

  const auto found = run(read(*database_, 5));
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

  const auto found = run(read(*database_, 5));

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
    const auto found = run(read(*database_, n));
    ASSERT_TRUE(found) << found.error().describe();
    EXPECT_EQ(*found, n);
    EXPECT_TRUE(run(insert_twice(*database_, n)));
  }
  EXPECT_EQ(table_.rows.size(), 6u);
  const auto listening = run(database_->listen("jobs"));
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().code(), Code::Unsupported);
}

struct Counted {
  std::int64_t n = 0;
};
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

TEST_P(FakeDatabaseTest, rejects_a_copy_that_is_not_binary) {
  open({.passwords = {{"app", "secret"}}});
  InOrder rows;

  const auto count = run(database_->copy_out<Counted>("select many", rows));

  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code(), Code::Unavailable);
  EXPECT_NE(count.error().describe().find("binary format"), std::string::npos) << count.error().describe();
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
    const auto found = run(read(*database_, 5));
    EXPECT_FALSE(found) << static_cast<int>(fault);
    if (!found) {
      EXPECT_TRUE(found.error().is_from_environment() || found.error().code() == Code::ResourceExhausted)
          << static_cast<int>(fault) << ": " << found.error().describe();
    }
    TearDownOne();
  }
  void TearDownOne() {
    close();
    serving_.stop();
    EXPECT_TRUE(until([&] { return !serving_.is_running(); }));
    static_cast<void>(serving_.take());
    listener_.reset();
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

// --- connections that end at any byte

struct Outcome {
  std::set<std::int64_t> acknowledged;
  std::set<std::int64_t> unknown;
  int wrong_reads = 0;
  int good = 0;
  int bad = 0;
};

Task<> write(Session& session, std::uint64_t kind, std::int64_t n) {
  if (kind == 1) co_await insert(session, n);
  if (kind == 2) co_await insert_in_group(session, n);
  if (kind == 3) co_await insert_twice(session, n);
}

Task<> use(Session& session, int who, Outcome& outcome) {
  for (int i = 0; i < 12; ++i) {
    const std::int64_t n = who * 1000 + i;
    const std::uint64_t kind = Host::current().random() % 4;
    if (kind == 0) {
      const Result<std::int64_t> found = co_await attempt(read(session, n));
      if (found && *found != n) ++outcome.wrong_reads;
      ++(found ? outcome.good : outcome.bad);
    } else {
      const Result<> done = co_await attempt(write(session, kind, n));
      if (done) {
        outcome.acknowledged.insert(n);
        if (kind == 3) outcome.acknowledged.insert(n + 1'000'000);
      }
      ++(done ? outcome.good : outcome.bad);
    }
    co_await sleep_for(Duration::microseconds(static_cast<std::int64_t>(Host::current().random() % 30'000)));
  }
}

Task<> use_all(Session& session, Outcome& outcome) {
  Scope scope;
  for (int who = 0; who < 8; ++who) scope.spawn(use(session, who, outcome));
  co_await scope.join();
}

TEST(FakeDatabaseCuts, keep_each_acknowledged_write_once) {
  int good = 0;
  int bad = 0;
  std::uint64_t cuts = 0;
  const char* const wanted = std::getenv("KEEL_CONFORMANCE_SEEDS");
  const std::uint64_t seeds = wanted == nullptr ? 60 : std::strtoull(wanted, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    sim::SimOptions faults = seed % 2 == 0 ? sim::SimOptions::faulty(seed) : sim::SimOptions();
    faults.seed = seed;
    Table table;
    Outcome outcome;
    sim::Simulation simulation(faults);
    Host* const before = Host::set_current(&simulation);
    io::Loop& loop = simulation.add_loop();
    {
      Start<void> serving;
      Start<void> using_it;
      std::unique_ptr<FakeListener> listener;
      std::unique_ptr<Database> database;
      {
        io::Loop::Entered entered(loop);
        listener = std::make_unique<FakeListener>(table, FakeOptions{.passwords = {{"app", "secret"}}});
        listener->cut_after(200 + seed * 37 % 3000);
        serving.begin(listener->serve(), [](StartCore&) noexcept {});
        DatabaseOptions options;
        options.url = listener->url();
        options.uses_environment = false;
        options.statement_timeout = 2_s;
        options.cancel_grace = 500_ms;
        options.executor = &simulation.pool();
        database = Database::make(std::move(options)).value();
        using_it.begin(use_all(*database, outcome), [](StartCore&) noexcept {});
      }
      ASSERT_TRUE(simulation.run_until([&] { return using_it.has_ended(); }, 600_s)) << simulation.replay();
      {
        io::Loop::Entered entered(loop);
        EXPECT_TRUE(using_it.take());
        database->detach(loop);
      }
      ASSERT_TRUE(simulation.run_until([&] { return database->is_detached(); }, 60_s)) << simulation.replay();
      {
        io::Loop::Entered entered(loop);
        database.reset();
        serving.stop();
      }
      ASSERT_TRUE(simulation.run_until([&] { return serving.has_ended(); }, 60_s)) << simulation.replay();
      io::Loop::Entered entered(loop);
      static_cast<void>(serving.take());
      cuts += listener->cuts();
      listener.reset();
    }
    simulation.run_until([] { return false; }, 10_ms);
    Host::set_current(before);

    for (const std::int64_t n : outcome.acknowledged) {
      EXPECT_EQ(table.rows[std::to_string(n)], 1) << n << ", " << simulation.replay();
    }
    for (const auto& [value, count] : table.rows) EXPECT_LE(count, 1) << value << ", " << simulation.replay();
    EXPECT_EQ(outcome.wrong_reads, 0) << simulation.replay();
    good += outcome.good;
    bad += outcome.bad;
    if (HasFailure()) return;
  }
  EXPECT_GT(cuts, 100u);
  EXPECT_GT(good, 2000) << bad << " failed";
  EXPECT_GT(bad, 50);
  std::printf("[ score ] %llu seeds, %llu connections cut, %d statements succeeded, %d failed\n",
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(cuts), good, bad);
}

}  // namespace
}  // namespace keel::db::postgres::database_fake_test
