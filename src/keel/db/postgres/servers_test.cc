// Several servers in one URL: which of them is taken, by target_session_attrs, and when the first is gone.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/db/postgres/internal/fake_table_test.h"
#include "keel/db/postgres/testing/fake_listener.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"

namespace keel::db::postgres::servers_test {
namespace {

using testing::RealServer;

// --- real ones: a primary, and one that recovers for good, as a standby does

struct Two {
  RealServer primary;
  RealServer standby{{.is_standby = true}};

  std::string url(const std::string& target) const {
    return "user=keel dbname=postgres host=" + standby.folder() + "," + primary.folder() +
           " target_session_attrs=" + target;
  }
};
Two& two() {
  static Two made;
  return made;
}

class PostgresServers : public testing::RealDatabaseTest {
 protected:
  Database& open_for(const std::string& target) {
    DatabaseOptions options;
    options.url = two().url(target);
    options.connections = 1;
    return open(std::move(options));
  }
  // 1: the standby; 0: the primary.
  std::int64_t is_standby() { return integer("select pg_is_in_recovery()::int"); }
};
INSTANTIATE_TEST_SUITE_P(, PostgresServers, testing::real_engines(), io::testing::name_of_engine);

TEST_P(PostgresServers, are_taken_by_what_they_are_asked_for) {
  const struct {
    const char* target;
    int is_standby;
  } rows[] = {{"any", 1}, {"read-only", 1}, {"standby", 1}, {"prefer-standby", 1}, {"read-write", 0}, {"primary", 0}};
  for (const auto& row : rows) {
    open_for(row.target);
    EXPECT_EQ(is_standby(), row.is_standby) << row.target;
  }
}

TEST_P(PostgresServers, that_are_not_what_is_asked_for_are_named_with_the_reason) {
  DatabaseOptions options;
  options.url = two().standby.url("&target_session_attrs=primary");
  open(std::move(options));

  const Result<> read = run(database_->check_reads());

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::Unavailable);
  EXPECT_NE(read.error().describe().find("the server is a standby, but target_session_attrs requires another kind"),
            std::string::npos)
      << read.error().describe();
}

TEST_P(PostgresServers, that_are_standbys_reject_a_write_with_failed_precondition) {
  open_for("standby");

  const auto written = run(database_->execute("create table never (a int)"));

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::FailedPrecondition) << written.error().describe();
  EXPECT_EQ(is_standby(), 1) << "the connection is as it was";
}

TEST_P(PostgresServers, are_any_where_no_standby_is_there_to_be_preferred) {
  DatabaseOptions options;
  options.url = two().primary.url("&target_session_attrs=prefer-standby");
  open(std::move(options));

  EXPECT_EQ(is_standby(), 0);
}

// --- fakes, in simulated time as well

// A server that says whether its transactions may write.
struct Asked : testing::Table {
  testing::FakeStatement prepare(std::string_view sql) override {
    if (sql != "show transaction_read_only") return Table::prepare(sql);
    ++asked;
    if (is_broken) return {.error = testing::FakeError{"57P03", "the database system is starting up"}};
    return {.columns = {{"transaction_read_only", oid::text}}};
  }
  testing::FakeResult execute(std::uint64_t session, std::string_view sql,
                              std::span<const testing::FakeValue> arguments) override {
    if (sql != "show transaction_read_only") return Table::execute(session, sql, arguments);
    return {.rows = {{is_read_only ? "on" : "off"}}};
  }
  bool is_read_only = false;
  bool is_broken = false;
  int asked = 0;
};

class FakeServers : public io::testing::LoopTest {
 protected:
  struct One {
    Asked table;
    testing::FakeListener listener{table, {.passwords = {{"app", "secret"}}}};
    Start<void> serving;
  };
  void SetUp() override {
    LoopTest::SetUp();
    for (auto& one : servers_) {
      one = std::make_unique<One>();
      ASSERT_FALSE(one->serving.begin(one->listener.serve(), [](StartCore&) noexcept {}));
    }
  }
  void TearDown() override {
    if (database_ != nullptr) {
      database_->detach(loop());
      EXPECT_TRUE(until([&] { return database_->is_detached(); }));
      database_.reset();
    }
    for (auto& one : servers_) {
      one->serving.stop();
      EXPECT_TRUE(until([&] { return !one->serving.is_running(); }));
      static_cast<void>(one->serving.take());
      one.reset();
    }
    LoopTest::TearDown();
  }
  void open() {
    DatabaseOptions options;
    options.url = "postgres://app:secret@127.0.0.1:" + std::to_string(servers_[0]->listener.port()) +
                  ",127.0.0.1:" + std::to_string(servers_[1]->listener.port()) +
                  "/shop?sslmode=disable&target_session_attrs=read-write";
    options.connections = 1;
    options.uses_environment = false;
    auto made = Database::make(std::move(options));
    ASSERT_TRUE(made) << made.error().describe();
    database_ = *std::move(made);
  }

  std::unique_ptr<One> servers_[2];
  std::unique_ptr<Database> database_;
};
INSTANTIATE_TEST_SUITE_P(, FakeServers, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(FakeServers, are_left_when_they_are_read_only) {
  servers_[0]->table.is_read_only = true;
  open();

  EXPECT_TRUE(run(testing::insert(*database_, 1)));

  EXPECT_EQ(servers_[0]->table.rows.size(), 0u);
  EXPECT_EQ(servers_[1]->table.rows.size(), 1u);
  EXPECT_EQ(servers_[0]->table.asked, 1);
}

TEST_P(FakeServers, are_left_when_they_do_not_say_what_they_are) {
  servers_[0]->table.is_broken = true;
  open();

  EXPECT_TRUE(run(testing::insert(*database_, 1)));

  EXPECT_EQ(servers_[1]->table.rows.size(), 1u);
}

TEST_P(FakeServers, are_asked_again_until_one_takes_writes) {
  servers_[0]->table.is_read_only = servers_[1]->table.is_read_only = true;
  open();
  const auto refused = run(testing::insert(*database_, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Unavailable) << refused.error().describe();

  servers_[1]->table.is_read_only = false;  // It is promoted.

  EXPECT_TRUE(until([&] { return database_->stats().connections == 1; }));
  EXPECT_TRUE(run(testing::insert(*database_, 2)));
  EXPECT_EQ(servers_[1]->table.rows.size(), 1u);
}

}  // namespace
}  // namespace keel::db::postgres::servers_test
