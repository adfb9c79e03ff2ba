#include "keel/db/postgres/database.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keel/base/error.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/task/event.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::database_test {
namespace {

using io::testing::Which;
using testing::shared_server;

struct User {
  std::int64_t id;
  std::string name;
  std::optional<double> score;
};

class DatabaseTest : public testing::RealDatabaseTest {
 protected:
  void make_users() {
    script(
        "drop table if exists users; create table users (id bigint generated always as identity primary key, "
        "name text not null unique, score double precision)");
  }
  // Without a statement, which would wait no longer than wait_max.
  void connect() {
    ASSERT_TRUE(database_->attach(loop()));
    const auto all = static_cast<std::uint64_t>(database_->options().connections);
    ASSERT_TRUE(until([&] { return database_->stats().connections == all; }));
  }
};
INSTANTIATE_TEST_SUITE_P(, DatabaseTest, testing::real_engines(), io::testing::name_of_engine);

Task<User> add_and_find(Session& session) {
  const Written written =
      co_await session.execute("insert into users (name, score) values ($1, $2) returning id", "ada", 1.5);
  co_return co_await session.query_one<User>("select id, name, score from users where id = $1", written.last_insert_id);
}

TEST_P(DatabaseTest, runs_statements_and_reads_rows) {
  open();
  make_users();

  const auto user = run(add_and_find(*database_));

  ASSERT_TRUE(user) << user.error().describe();
  EXPECT_EQ(user->name, "ada");
  EXPECT_EQ(user->score, 1.5);
  const auto changed = run(database_->execute("update users set score = null where name = $1", "ada"));
  ASSERT_TRUE(changed) << changed.error().describe();
  EXPECT_EQ(changed->changes, 1);
  EXPECT_EQ(changed->last_insert_id, 0);
  const auto none = run(database_->query_optional<User>("select id, name, score from users where name = $1", "eve"));
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const auto one = run(database_->query_one<User>("select id, name, score from users where name = $1", "eve"));
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code(), Code::NotFound);
}

struct NewUser {
  std::string name;
  double score;
};

TEST_P(DatabaseTest, takes_parameters_by_name) {
  open();
  make_users();
  const NewUser user{.name = "bob", .score = 2};

  const auto added = run(database_->execute("insert into users (score, name) values ($score, $name)", user));

  ASSERT_TRUE(added) << added.error().describe();
  EXPECT_EQ(integer("select count(*) from users where name = 'bob' and score = 2"), 1);
}

TEST_P(DatabaseTest, tells_errors_by_their_codes) {
  open();
  make_users();
  script("drop table if exists parts; create table parts (id int primary key, size smallint check (size > 0))");
  ASSERT_TRUE(run(database_->execute("insert into users (name) values ('ada')")));

  const auto twice = run(database_->execute("insert into users (name) values ('ada')"));
  const auto null = run(database_->execute("insert into users (name) values (null)"));
  const auto check = run(database_->execute("insert into parts values (1, $1)", -1));
  const auto range = run(database_->execute("insert into parts values (1, $1)", 70'000));
  const auto wrong = run(database_->execute("insert into nowhere values (1)"));

  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code(), Code::AlreadyExists);
  EXPECT_TRUE(twice.error().is_from_environment());
  EXPECT_EQ(twice.error().statement(), "insert into users (name) values ('ada')");
  ASSERT_NE(server_error(twice.error()), nullptr);
  EXPECT_EQ(server_error(twice.error())->constraint, "users_name_key");
  EXPECT_EQ(null.error().code(), Code::InvalidArgument);
  EXPECT_EQ(check.error().code(), Code::InvalidArgument);
  EXPECT_EQ(range.error().code(), Code::InvalidArgument);
  EXPECT_NE(range.error().message().find("$1"), std::string_view::npos) << range.error().describe();
  EXPECT_EQ(wrong.error().code(), Code::Internal);
  EXPECT_NE(wrong.error().message().find("nowhere"), std::string_view::npos);
  EXPECT_EQ(integer("select count(*) from users"), 1);
}

Task<> count_into(Database& database, std::int64_t from, std::vector<std::int64_t>& found) {
  auto keep = [&found](const Row& row) { found.push_back(row.integer(0)); };
  co_await database.query("select $1::bigint * 2", keep, from);
}
Task<> count_many(Database& database, int count, std::vector<std::int64_t>& found) {
  Scope scope;
  for (int i = 0; i < count; ++i) scope.spawn(count_into(database, i, found));
  co_await scope.join();
}

TEST_P(DatabaseTest, sends_the_reads_of_one_iteration_as_one_group) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  std::vector<std::int64_t> found;
  ASSERT_TRUE(run(count_many(*database_, 1, found)));
  const auto before = database_->stats().groups;

  ASSERT_TRUE(run(count_many(*database_, 64, found)));

  EXPECT_EQ(found.size(), 65u);
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<std::int64_t>(i - 1) * 2);
  EXPECT_EQ(database_->stats().groups - before, 1u);
  EXPECT_EQ(database_->stats().prepared, 1u);
}

Task<> divide(Database& database, std::int64_t by, int& good, int& bad) {
  auto ignore = [](const Row&) {};
  const Result<std::size_t> read = co_await attempt(database.query("select 100 / $1::bigint", ignore, by));
  ++(read ? good : bad);
}
Task<> divide_many(Database& database, int& good, int& bad) {
  Scope scope;
  for (int i = 0; i < 20; ++i) scope.spawn(divide(database, i % 7, good, bad));
  co_await scope.join();
}

TEST_P(DatabaseTest, repeats_the_reads_behind_one_that_fails) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  int good = 0;
  int bad = 0;

  ASSERT_TRUE(run(divide_many(*database_, good, bad)));

  EXPECT_EQ(good, 17);
  EXPECT_EQ(bad, 3);
  EXPECT_GE(database_->stats().repeated, 10u);
}

Task<> add_group(Database& database, std::string name, int& good, int& bad) {
  const Result<Written> written =
      co_await attempt(database.execute("insert into users (name) values ($1) -- group\n", name));
  ++(written ? good : bad);
}
Task<> add_groups(Database& database, int& good, int& bad) {
  Scope scope;
  for (int i = 0; i < 20; ++i) scope.spawn(add_group(database, "user " + std::to_string(i % 17), good, bad));
  co_await scope.join();
}

TEST_P(DatabaseTest, commits_writes_of_a_group_together_and_repeats_them_singly_when_one_fails) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  make_users();
  int good = 0;
  int bad = 0;
  ASSERT_TRUE(run(add_group(*database_, "first", good, bad)));
  const auto before = database_->stats();

  ASSERT_TRUE(run(add_groups(*database_, good, bad)));

  EXPECT_EQ(good, 18);
  EXPECT_EQ(bad, 3);
  EXPECT_EQ(integer("select count(*) from users"), 18);
  EXPECT_EQ(database_->stats().groups - before.groups, 22u) << "one for all, one for each, and the count";
}

Task<> sleep_on_server(Database& database, double seconds) {
  auto ignore = [](const Row&) {};
  co_await database.query("select pg_sleep($1)", ignore, seconds);
}

Task<> with_deadline_of_200_ms(Database& database) { co_await with_timeout(200_ms, sleep_on_server(database, 30)); }

TEST_P(DatabaseTest, cancels_a_statement_at_its_deadline) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  ASSERT_TRUE(run(sleep_on_server(*database_, 0)));  // Connected and prepared: the deadline is the statement's alone.
  const Instant begun = now();

  const auto slept = run(with_deadline_of_200_ms(*database_));

  ASSERT_FALSE(slept);
  EXPECT_EQ(slept.error().code(), Code::DeadlineExceeded) << slept.error().describe();
  EXPECT_LT(now() - begun, 10_s);
  EXPECT_EQ(integer("select 5"), 5) << "the connection goes on";
  EXPECT_EQ(database_->stats().cancels, 1u);
  EXPECT_EQ(database_->stats().connects, 1u);
}

TEST_P(DatabaseTest, ends_a_statement_that_takes_longer_than_statement_timeout) {
  DatabaseOptions options;
  options.statement_timeout = 100_ms;
  open(std::move(options));

  const auto slept = run(sleep_on_server(*database_, 30));

  ASSERT_FALSE(slept);
  EXPECT_EQ(slept.error().code(), Code::DeadlineExceeded) << slept.error().describe();
}

Task<> hold(Database& database, Event& release) {
  Transaction transaction = co_await database.begin();
  co_await release.wait();
}
Task<> wait_for_a_connection(Database& database, Result<>& waited) {
  Event release;
  Scope scope;
  scope.spawn(hold(database, release));
  auto ignore = [](const Row&) {};
  Result<std::size_t> read = co_await attempt(database.query("select 1", ignore));
  if (!read) waited = std::move(read).error();
  release.set();
  co_await scope.join();
}

TEST_P(DatabaseTest, fails_when_no_connection_is_free_in_time) {
  DatabaseOptions options;
  options.connections = 1;
  options.wait_max = 100_ms;
  open(std::move(options));
  connect();  // Else the transaction would wait for that, and not for longer than wait_max.
  Result<> waited;

  ASSERT_TRUE(run(wait_for_a_connection(*database_, waited)));

  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Code::ResourceExhausted);
  EXPECT_EQ(database_->stats().timeouts, 1u);
  EXPECT_TRUE(until([&] { return database_->stats().in_use == 0; }));  // The transaction is rolled back.
  EXPECT_EQ(integer("select 1"), 1);
}

TEST_P(DatabaseTest, says_why_no_server_can_be_reached) {
  DatabaseOptions options;
  options.url = "postgres://keel@/postgres?host=" + shared_server().folder() + "&port=1";
  open(std::move(options));

  const auto read = run(database_->check_reads());

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::Unavailable);
  EXPECT_NE(read.error().describe().find(".s.PGSQL.1"), std::string::npos) << read.error().describe();
}

TEST_P(DatabaseTest, proves_a_password_over_tcp) {
  open();
  script("drop role if exists speaks; create role speaks login password 'open sesame'");
  DatabaseOptions right;
  right.url = "postgres://speaks:open%20sesame@127.0.0.1:" + std::to_string(shared_server().port()) +
              "/postgres?sslmode=disable";
  open(std::move(right));
  EXPECT_EQ(integer("select 7"), 7);

  DatabaseOptions wrong;
  wrong.url =
      "postgres://speaks:sesame@127.0.0.1:" + std::to_string(shared_server().port()) + "/postgres?sslmode=disable";
  open(std::move(wrong));
  const auto refused = run(database_->check_reads());

  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().describe().find("password authentication failed for user \"speaks\""), std::string::npos)
      << refused.error().describe();
}

TEST_P(DatabaseTest, keeps_a_bounded_number_of_prepared_statements) {
  DatabaseOptions options;
  options.connections = 1;
  options.statements_max = 2;
  open(std::move(options));

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(integer("select 1"), 1);
    EXPECT_EQ(integer("select 2"), 2);
    EXPECT_EQ(integer("select 3"), 3);
  }
  EXPECT_LE(integer("select count(*) from pg_prepared_statements"), 3);
}

TEST_P(DatabaseTest, prepares_again_what_the_server_has_forgotten_or_a_table_has_changed) {
  DatabaseOptions options;
  options.connections = 1;
  open(std::move(options));
  script("drop table if exists shapes; create table shapes (a int); insert into shapes values (4)");
  EXPECT_EQ(integer("select * from shapes"), 4);

  script("deallocate all");
  EXPECT_EQ(integer("select * from shapes"), 4);

  script("alter table shapes alter a type bigint");
  EXPECT_EQ(integer("select * from shapes"), 4);
}

TEST_P(DatabaseTest, bounds_what_a_result_may_take) {
  DatabaseOptions options;
  options.connections = 1;
  options.rows_bytes_max = 100'000;
  open(std::move(options));
  auto ignore = [](const Row&) {};

  const auto read = run(database_->query("select repeat('x', 1000) from generate_series(1, 100000)", ignore));

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::ResourceExhausted) << read.error().describe();
  EXPECT_EQ(integer("select 3"), 3);
}

TEST_P(DatabaseTest, works_behind_a_pooler_with_statements_that_have_no_names) {
  DatabaseOptions options;
  options.pooler = true;
  options.connections = 1;
  open(std::move(options));
  make_users();

  const auto user = run(add_and_find(*database_));

  ASSERT_TRUE(user) << user.error().describe();
  std::vector<std::int64_t> found;
  ASSERT_TRUE(run(count_many(*database_, 20, found)));
  EXPECT_EQ(found.size(), 20u);
  EXPECT_EQ(integer("select count(*) from pg_prepared_statements where name <> ''"), 0);
}

TEST_P(DatabaseTest, connects_again_after_the_server_was_killed) {
  testing::RealServer server;
  DatabaseOptions options;
  options.url = server.url();
  open(std::move(options));
  EXPECT_EQ(integer("select 1"), 1);

  server.kill();
  EXPECT_TRUE(until([&] { return database_->stats().connections == 0; }));
  const auto refused = run(database_->check_reads());
  EXPECT_FALSE(refused);
  server.start();

  // How soon is a matter of virtual time: database_fake_test.cc.
  EXPECT_TRUE(until([&] { return database_->stats().connections == 2; }));
  EXPECT_EQ(integer("select 2"), 2);
}

TEST_P(DatabaseTest, tells_whoever_watches_of_an_outage_and_of_its_end) {
  testing::RealServer server;
  DatabaseOptions options;
  options.url = server.url();
  open(std::move(options));
  int changes = 0;
  database_->watch([&] { ++changes; });
  EXPECT_EQ(integer("select 1"), 1);
  EXPECT_EQ(changes, 0);

  server.kill();
  EXPECT_TRUE(until([&] { return changes == 1; }));
  EXPECT_FALSE(run(database_->check_reads()));
  server.start();

  EXPECT_TRUE(until([&] { return changes == 2; }));
  EXPECT_TRUE(run(database_->check_reads()));
}

TEST_P(DatabaseTest, check_writes_fails_from_a_rejected_write_until_the_server_can_write_again) {
  testing::RealServer server;
  DatabaseOptions options;
  options.url = server.url();
  open(std::move(options));
  int changes = 0;
  database_->watch([&] { ++changes; });
  script("create table words (word text)");
  const auto insert = [&] { return run(database_->execute("insert into words values ('x')")); };
  const std::uint64_t writes = database_->stats().writes;
  EXPECT_TRUE(run(database_->check_writes()));
  EXPECT_EQ(database_->stats().writes, writes) << "while all is well the check sends nothing";

  script("alter system set default_transaction_read_only = on");
  script("select pg_reload_conf()");
  Result<Written> refused = Written();
  EXPECT_TRUE(until([&] { return !(refused = insert()); }));
  EXPECT_EQ(refused.error().code(), Code::FailedPrecondition);
  EXPECT_EQ(changes, 1);
  const DatabaseStats before = database_->stats();
  const auto still = run(database_->check_writes());
  ASSERT_FALSE(still);
  EXPECT_NE(still.error().describe().find("read-only"), std::string::npos) << still.error().describe();
  EXPECT_FALSE(run(database_->check_writes()));
  EXPECT_EQ(database_->stats().checks_failed, before.checks_failed + 2);
  EXPECT_EQ(database_->stats().failures, before.failures);
  EXPECT_TRUE(run(database_->check_reads()));

  script("alter system reset default_transaction_read_only");
  script("select pg_reload_conf()");
  EXPECT_TRUE(until([&] { return run(database_->check_writes()).has_value(); })) << "without anybody's write";
  EXPECT_TRUE(insert());
  EXPECT_EQ(database_->stats().disk_errors, 0u);
  EXPECT_EQ(changes, 1);
}

TEST_P(DatabaseTest, counts_disk_errors_and_checks_writes_after_one) {
  DatabaseOptions options;
  options.connections = 1;  // "set session authorization" applies to it.
  open(std::move(options));
  const auto fail_with = [&](const std::string& state) {
    return run(
        database_->run_script("do $$ begin raise exception 'no space left' using errcode = '" + state + "'; end $$"));
  };
  EXPECT_EQ(fail_with("53100").error().code(), Code::ResourceExhausted);
  EXPECT_EQ(fail_with("58030").error().code(), Code::Unavailable);
  EXPECT_FALSE(fail_with("53200"));
  EXPECT_EQ(database_->stats().disk_errors, 2u);
  EXPECT_TRUE(run(database_->check_writes())) << "the disk has room";

  // A user who may not create temporary tables learns of such a failure once.
  script("drop role if exists guest; create role guest; revoke temporary on database postgres from public");
  script("set session authorization guest");
  EXPECT_FALSE(fail_with("53100"));
  const auto unknown = run(database_->check_writes());
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().describe().find("may not create the temporary table"), std::string::npos)
      << unknown.error().describe();
  EXPECT_TRUE(run(database_->check_writes()));
  script("set session authorization default");
  script("grant temporary on database postgres to public; drop role guest");
}

TEST_P(DatabaseTest, counts_a_check_that_meets_the_full_disk_apart) {
  testing::RealServer server;
  DatabaseOptions options;
  options.url = server.url();
  open(std::move(options));
  script(
      "create function full_disk() returns event_trigger language plpgsql as "
      "$$ begin raise exception 'no space left' using errcode = '53100'; end $$");
  script(
      "create event trigger full_disk on ddl_command_start when tag in ('CREATE TABLE') "
      "execute function full_disk()");
  EXPECT_FALSE(run(database_->run_script("create table words (word text)")));
  EXPECT_EQ(database_->stats().disk_errors, 1u);
  EXPECT_EQ(database_->stats().failures, 1u);

  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(database_->check_writes()).error().code(), Code::ResourceExhausted);

  EXPECT_EQ(database_->stats().disk_errors, 1u);
  EXPECT_EQ(database_->stats().failures, 1u);
  EXPECT_EQ(database_->stats().checks_failed, 3u);
  script("drop event trigger full_disk");
  EXPECT_TRUE(run(database_->check_writes()));
  EXPECT_EQ(database_->stats().checks_failed, 3u);
}

struct Load {
  bool is_over = false;
  std::set<std::int64_t> acknowledged;
  int errors = 0;
  int wrong_codes = 0;
};
// The first writer nearly always has one under way, which a kill interrupts.
Task<Written> write_one(Database& database, std::int64_t who, std::int64_t n) {
  if (who == 0) {
    co_return co_await database.execute("insert into numbers select $1::bigint from pg_sleep(0.2)", n);
  }
  co_return co_await database.execute("insert into numbers values ($1)", n);
}
Task<> write_until_it_is_over(Database& database, std::int64_t who, Load& load) {
  for (std::int64_t i = 0; !load.is_over; ++i) {
    const std::int64_t n = who * 1'000'000 + i;
    const Result<Written> written = co_await attempt(write_one(database, who, n));
    if (written) {
      load.acknowledged.insert(n);
    } else {
      ++load.errors;
      if (written.error().code() != Code::Unavailable) ++load.wrong_codes;
    }
    co_await sleep_for(2_ms);
  }
}
Task<> write_many(Database& database, Load& load) {
  Scope scope;
  for (int who = 0; who < 8; ++who) scope.spawn(write_until_it_is_over(database, who, load));
  co_await scope.join();
}

TEST_P(DatabaseTest, loses_no_acknowledged_write_when_the_server_is_killed_in_mid_load) {
  testing::RealServer server;
  DatabaseOptions options;
  options.url = server.url();
  open(std::move(options));
  script("create table numbers (n bigint)");
  Load load;
  Start<void> loading;
  ASSERT_FALSE(loading.begin(write_many(*database_, load), [](StartCore&) noexcept {}));

  for (int i = 0; i < 3; ++i) {
    const std::size_t before = load.acknowledged.size();
    EXPECT_TRUE(until([&] { return load.acknowledged.size() > before + 100; }));
    server.kill();
    EXPECT_TRUE(until([&] { return database_->stats().connections == 0; }));
    pass(20_ms);
    server.start();
  }
  const std::size_t last = load.acknowledged.size();
  EXPECT_TRUE(until([&] { return load.acknowledged.size() > last + 100; }));
  load.is_over = true;
  EXPECT_TRUE(until([&] { return loading.has_ended(); }));

  EXPECT_TRUE(loading.take());
  EXPECT_GT(load.errors, 0);
  EXPECT_EQ(load.wrong_codes, 0);
  std::multiset<std::int64_t> stored;
  auto keep = [&](const Row& row) { stored.insert(row.integer(0)); };
  ASSERT_TRUE(run(database_->query("select n from numbers", keep)));
  for (const std::int64_t n : load.acknowledged) EXPECT_EQ(stored.count(n), 1u) << n;
  for (const std::int64_t n : stored) EXPECT_EQ(stored.count(n), 1u) << n << " was sent twice";
}

TEST_P(DatabaseTest, ends_a_connection_to_a_server_that_says_nothing_any_more) {
  testing::RealServer server;
  DatabaseOptions options;
  options.url = server.url();
  options.connections = 1;
  options.statement_timeout = 2_s;  // For statements that a busy machine has to run as well.
  options.cancel_grace = 200_ms;
  open(std::move(options));
  script("create table numbers (n bigint)");
  const auto insert = [this] { return run(database_->execute("insert into numbers values (1)")); };
  EXPECT_TRUE(insert());

  server.suspend();
  const Instant begun = now();
  const auto written = insert();

  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::Unavailable) << written.error().describe();
  EXPECT_NE(written.error().message().find("unknown"), std::string_view::npos) << written.error().describe();
  EXPECT_LT(now() - begun, 10_s);
  server.resume();
}

}  // namespace
}  // namespace keel::db::postgres::database_test
