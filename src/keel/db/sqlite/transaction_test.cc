// Interactive transactions of an SQLite database: typed calls, savepoints, and writes that would wait for themselves.

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/observe/log.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::db::sqlite::sqlite_transaction_test {
namespace {

using Names = std::vector<std::string>;

class SqliteTransaction : public ::testing::Test {
 protected:
  SqliteTransaction() {
    database = Database::open({.path = folder / "app.db"}).value();
    run(database->execute("create table users (id integer primary key, name text not null unique)"));
  }
  void run(auto task) {
    auto result = loop.run(std::move(task));
    EXPECT_TRUE(result.has_value()) << result.error().describe();
  }
  Names stored() { return loop.run(database->query_many<std::string>("select name from users order by id")).value(); }

  testing::Folder folder;
  testing::OwnLoop loop;
  std::unique_ptr<Database> database;
};

Task<> add(Queries& queries, std::string name) {
  co_await queries.execute("insert into users (name) values ($1)", name);
}

Task<> ask_inside(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await add(transaction, "alice");
  EXPECT_EQ(co_await transaction.query_one<std::string>("select name from users where id = $1", 1), "alice");
  const auto none = co_await transaction.query_optional<std::string>("select name from users where id = $1", 2);
  EXPECT_FALSE(none.has_value());
  const auto all = co_await transaction.query_many<std::int64_t>("select id from users");
  EXPECT_EQ(all, std::vector<std::int64_t>{1});
  const auto missing = co_await attempt(transaction.query_one<std::string>("select name from users where id = 2"));
  EXPECT_EQ(missing.error().code(), Code::NotFound);
}

Task<> report(Database& database, std::size_t count) {
  std::vector<Transaction> open;
  for (std::size_t i = 0; i < count; ++i) open.push_back(co_await database.begin({.read_only = true}));
  const auto one_more = co_await attempt(database.begin({.read_only = true}));
  EXPECT_EQ(one_more.error().code(), Code::ResourceExhausted);
  co_await add(database, "alice");
  for (Transaction& transaction : open) {
    const auto names = co_await transaction.query_many<std::string>("select name from users");
    EXPECT_EQ(names, Names());
  }
  open.clear();
  Transaction again = co_await database.begin({.read_only = true});
  const auto names = co_await again.query_many<std::string>("select name from users");
  EXPECT_EQ(names, Names({"alice"}));
}

TEST_F(SqliteTransaction, that_only_reads_holds_no_writer_and_their_number_is_bounded) {
  run(report(*database, 64));

  // The writer's thread may tell the result of a write before it waits again.
  for (int i = 0; i < 5'000 && database->pool().in_use != 0; ++i) Host::system().sleep(1_ms);
  EXPECT_EQ(database->pool().in_use, 0u);
}

Task<> leave_open(Database& database) {
  Transaction first = co_await database.begin({.read_only = true});
  EXPECT_EQ(database.stats().read_transactions, 1u);
  co_await sleep_for(50_ms);
  EXPECT_GE(database.stats().read_transaction_age, 50_ms);
  Transaction second = co_await database.begin({.read_only = true});
  co_await sleep_for(500_ms);
  EXPECT_EQ(database.stats().read_transactions, 2u);
}

TEST_F(SqliteTransaction, that_only_reads_and_is_open_for_long_is_logged_with_the_call_that_began_it) {
  if (!log::is_recorded) GTEST_SKIP() << "compiled out";
  database = Database::open({.path = folder / "app.db", .held_warning = 40_ms}).value();
  log::Reader reader(false);
  reader.drain([](const log::Record&) {});

  run(leave_open(*database));

  std::vector<std::string> places;
  reader.drain([&](const log::Record& record) {
    if (record.component() != "db" || record.level() != Level::Warn) return;
    record.for_each([&](const log::FieldView& field) { places.emplace_back(field.text); });
  });
  ASSERT_EQ(places.size(), 2u) << "each once";
  EXPECT_NE(places[0].find("transaction_test.cc:"), std::string::npos) << places[0];
  EXPECT_NE(places[0], places[1]);
  EXPECT_EQ(database->stats().read_transactions, 0u);
}

Task<> cancel_in_it(Database& database) {
  Transaction transaction = co_await database.begin({.read_only = true});
  auto ignore = [](const Row&) {};
  const auto late = co_await attempt(with_timeout(
      20_ms, transaction.query("with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n",
                               ignore)));
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded);
  const auto names = co_await transaction.query_many<std::string>("select name from users");
  EXPECT_EQ(names, Names());
  const auto written = co_await attempt(add(transaction, "alice"));
  EXPECT_EQ(written.error().code(), Code::FailedPrecondition);
}

TEST_F(SqliteTransaction, that_only_reads_goes_on_after_a_query_that_was_cancelled) {
  run(cancel_in_it(*database));

  EXPECT_EQ(stored(), Names());
}

TEST_F(SqliteTransaction, has_all_typed_calls_and_sees_its_own_changes) {
  run(ask_inside(*database));

  EXPECT_EQ(stored(), Names());
}

enum class State { Open, Paid };
struct Purchase {
  std::int64_t id = 0;
  std::string customer;
  std::optional<double> weight;
  State state = State::Open;
  std::vector<std::byte> picture;
  std::vector<std::string> lines;
  bool operator==(const Purchase&) const = default;
};

Task<Purchase> store_and_find(Database& database, Purchase purchase) {
  Transaction transaction = co_await database.begin();
  const Written written = co_await transaction.execute(
      "insert into purchases (state, customer, weight, picture) values ($state, $customer, $weight, $picture)",
      purchase);
  purchase.id = written.last_insert_id;
  auto found = co_await transaction.query_one<Purchase>(
      "select picture, weight, 'more' as more, state, customer, id from purchases where id = $id and state = $state "
      "and "
      "$id > 0",
      purchase);
  EXPECT_EQ(found, purchase);
  co_await transaction.commit();
  co_return found;
}

TEST_F(SqliteTransaction, takes_and_gives_structs_by_the_names_of_their_fields) {
  run(
      database->execute("create table purchases (id integer primary key, customer text not null, weight real,"
                        " state text not null, picture blob not null) strict"));

  const auto first = loop.run(store_and_find(*database, {.id = 0,
                                                         .customer = "ann",
                                                         .weight = 0.5,
                                                         .state = State::Paid,
                                                         .picture = {std::byte{0}, std::byte{255}},
                                                         .lines = {}}));
  const auto second = loop.run(store_and_find(*database, Purchase{}));

  ASSERT_TRUE(first) << first.error().describe();
  ASSERT_TRUE(second) << second.error().describe();
  EXPECT_EQ(loop.run(database->query_many<Purchase>("select * from purchases order by id")).value(),
            std::vector<Purchase>({*first, *second}));
  EXPECT_EQ(loop.run(database->query_one<std::string>("select state from purchases where id = 1")).value(), "Paid");
}

TEST_F(SqliteTransaction, names_statement_and_place_of_a_struct_that_the_columns_do_not_fill) {
  run(database->execute("create table purchases (id integer primary key, customer text not null)"));
  run(database->execute("insert into purchases (customer) values ('ann')"));

  const auto found = loop.run(database->query_many<Purchase>("select id, customer, 1 as state from purchases"));
  const unsigned line = __LINE__ - 1;

  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::Internal);
  EXPECT_NE(
      found.error().message().find(": no column 'weight' for the field of that name; the columns are id, customer"),
      std::string::npos)
      << found.error().message();
  EXPECT_EQ(found.error().statement(), "select id, customer, 1 as state from purchases");
  EXPECT_EQ(found.error().place().line(), line);
}

// Savepoints.

Task<> keep_one_and_undo_one(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await add(transaction, "before");
  {
    Savepoint kept = co_await transaction.savepoint();
    co_await add(transaction, "kept");
    co_await kept.release();
  }
  {
    const Savepoint undone = co_await transaction.savepoint();
    co_await add(transaction, "undone");
  }
  co_await add(transaction, "after");
  co_await transaction.commit();
}

TEST_F(SqliteTransaction, a_savepoint_that_is_not_released_undoes_what_was_done_since) {
  run(keep_one_and_undo_one(*database));

  EXPECT_EQ(stored(), Names({"before", "kept", "after"}));
}

Task<> undo_last(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await add(transaction, "before");
  Savepoint point = co_await transaction.savepoint();
  co_await add(transaction, "undone");
  point.roll_back();
  co_await transaction.commit();
}

TEST_F(SqliteTransaction, a_commit_does_not_keep_what_was_rolled_back_before_it) {
  run(undo_last(*database));

  EXPECT_EQ(stored(), Names({"before"}));
}

Task<> commit_inside(Database& database) {
  Transaction transaction = co_await database.begin();
  const Savepoint point = co_await transaction.savepoint();
  co_await add(transaction, "kept");
  co_await transaction.commit();
}

TEST_F(SqliteTransaction, a_commit_keeps_what_open_savepoints_have_done) {
  run(commit_inside(*database));

  EXPECT_EQ(stored(), Names({"kept"}));
}

Task<> nest(Database& database) {
  Transaction transaction = co_await database.begin();
  Savepoint outer = co_await transaction.savepoint();
  co_await add(transaction, "outer");
  {
    const Savepoint inner = co_await transaction.savepoint();
    co_await add(transaction, "inner");
  }
  co_await add(transaction, "outer again");
  co_await outer.release();
  {
    Savepoint lost = co_await transaction.savepoint();
    co_await add(transaction, "lost");
    Savepoint lost_too = co_await transaction.savepoint();
    co_await add(transaction, "lost too");
    co_await lost_too.release();
    Savepoint open = co_await transaction.savepoint();
    co_await add(transaction, "lost as well");
    lost.roll_back();
    const auto released = co_await attempt(open.release());
    EXPECT_EQ(released ? Code::Internal : released.error().code(), Code::Conflict);
    co_await add(transaction, "after it");
  }
  co_await transaction.commit();
}

TEST_F(SqliteTransaction, savepoints_nest_and_the_outer_one_decides) {
  run(nest(*database));

  EXPECT_EQ(stored(), Names({"outer", "outer again", "after it"}));
}

Task<> release_outer_first(Database& database) {
  Transaction transaction = co_await database.begin();
  Savepoint outer = co_await transaction.savepoint();
  Savepoint inner = co_await transaction.savepoint();
  co_await add(transaction, "kept");
  co_await outer.release();
  const auto again = co_await attempt(outer.release());
  EXPECT_EQ(again ? Code::Internal : again.error().code(), Code::Conflict);
  Savepoint next = co_await transaction.savepoint();
  co_await add(transaction, "kept too");
  inner.roll_back();
  co_await add(transaction, "and this");
  co_await next.release();
  co_await transaction.commit();
}

TEST_F(SqliteTransaction, a_savepoint_that_is_over_undoes_nothing) {
  run(release_outer_first(*database));

  EXPECT_EQ(stored(), Names({"kept", "kept too", "and this"}));
}

Task<> fail_inside(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await add(transaction, "alice");
  {
    const Savepoint point = co_await transaction.savepoint();
    co_await add(transaction, "bob");
    const auto twice = co_await attempt(add(transaction, "alice"));
    EXPECT_EQ(twice.error().code(), Code::AlreadyExists);
    // The second row is taken already, and `or fail` keeps the first.
    const auto half = co_await attempt(
        transaction.execute("insert or fail into users (name) select 'half' union all select 'alice'"));
    EXPECT_EQ(half.error().code(), Code::AlreadyExists);
  }
  co_await add(transaction, "carol");
  co_await transaction.commit();
}

TEST_F(SqliteTransaction, an_error_after_a_savepoint_does_not_end_the_transaction) {
  run(fail_inside(*database));

  EXPECT_EQ(stored(), Names({"alice", "carol"}));
}

Task<> lose_inside(Database& database) {
  Transaction transaction = co_await database.begin();
  co_await add(transaction, "alice");
  Savepoint point = co_await transaction.savepoint();
  const auto lost = co_await attempt(transaction.execute("insert or rollback into users (name) values ('alice')"));
  EXPECT_EQ(lost.error().code(), Code::AlreadyExists);
  const auto released = co_await attempt(point.release());
  EXPECT_EQ(released ? Code::Internal : released.error().code(), Code::Conflict);
}

TEST_F(SqliteTransaction, an_error_that_ends_the_transaction_ends_its_savepoints) {
  run(lose_inside(*database));
  run(add(*database, "next"));

  EXPECT_EQ(stored(), Names({"next"}));
}

Task<> leave_savepoint_open(Database& database) {
  Transaction transaction = co_await database.begin();
  Savepoint point = co_await transaction.savepoint();
  co_await add(transaction, "alice");
  transaction.roll_back();
  Transaction next = co_await database.begin();
  point.roll_back();
  co_await add(next, "bob");
  co_await next.commit();
}

TEST_F(SqliteTransaction, a_savepoint_of_an_earlier_transaction_does_nothing_to_the_next) {
  run(leave_savepoint_open(*database));

  EXPECT_EQ(stored(), Names({"bob"}));
}

// Writes that would wait for the transaction that their own task holds.

Task<> discard(Database& database) { co_await database.execute("delete from users"); }
Task<> add_returning(Database& database) {
  co_await database.query_one<std::int64_t>("insert into users (name) values ('x') returning id");
}
constexpr auto nothing = [](Connection&) -> Result<> { return {}; };
Task<> transact(Database& database) { co_await database.transact(nothing); }
Task<> begin_again(Database& database) { const Transaction transaction = co_await database.begin(); }
Task<> beside(Database& database) { co_await all(discard(database), sleep_for(1_ms)); }
Task<> limited(Database& database) { co_await with_timeout(1_h, discard(database)); }

Task<> write_inside(Database& database, Task<> (*write)(Database&), std::string& message) {
  Transaction transaction = co_await database.begin();
  co_await add(transaction, "alice");
  const auto written = co_await attempt(write(database));
  message = written ? "written" : written.error().message();
  if (!written) {
    EXPECT_EQ(written.error().code(), Code::Internal);
  }
  co_await transaction.commit();
  co_await write(database);
}

TEST_F(SqliteTransaction, a_write_of_the_database_by_the_task_that_holds_it_says_so_immediately) {
  for (auto* write : {&discard, &add_returning, &transact, &begin_again, &beside, &limited}) {
    std::string message;

    run(write_inside(*database, write, message));

    EXPECT_EQ(message,
              "this write would wait for the transaction that its own task holds: "
              "run it on the transaction instead of the database, or after commit()");
    run(discard(*database));
  }
  EXPECT_EQ(database->stats().writer.expired, 0u);
}

Task<Transaction> begin_below(Database& database) { co_return co_await with_timeout(1_h, database.begin()); }
Task<> begin_in_a_time_limit(Database& database, Code& code) {
  const Transaction transaction = co_await begin_below(database);
  const auto written = co_await attempt(discard(database));
  code = written ? Code::NotFound : written.error().code();
}

TEST_F(SqliteTransaction, what_a_time_limit_has_begun_belongs_to_the_task_that_awaits_it) {
  Code code{};

  run(begin_in_a_time_limit(*database, code));

  EXPECT_EQ(code, Code::Internal);
}

Task<> hold_and_write(Database& database, std::string name) {
  Transaction transaction = co_await database.begin();
  co_await add(transaction, name);
  co_await sleep_for(2_ms);
  co_await transaction.commit();
}
Task<> read_and_write_beside(Database& database) {
  Scope scope;
  Transaction transaction = co_await database.begin();
  scope.spawn(add(database, "a task of a scope waits"));
  EXPECT_EQ(co_await database.query_one<int>("select count(*) from users"), 0) << "reads do not wait for writers";
  co_await add(transaction, "first");
  co_await transaction.commit();
  co_await scope.join();
}
Task<> branches(Database& database) {
  co_await all(hold_and_write(database, "one branch"), add(database, "the other branch waits"));
}

TEST_F(SqliteTransaction, other_tasks_wait_their_turn_and_reads_do_not_wait) {
  run(read_and_write_beside(*database));
  run(branches(*database));

  EXPECT_EQ(stored(), Names({"first", "a task of a scope waits", "one branch", "the other branch waits"}));
}

Task<> hold_two(Database& first, Database& second) {
  Transaction transaction = co_await first.begin();
  co_await add(second, "in the other database");
  Transaction other = co_await second.begin();
  co_await add(other, "in its transaction");
  co_await other.commit();
  co_await add(second, "after it");
  co_await transaction.commit();
}

TEST_F(SqliteTransaction, writes_of_another_database_do_not_wait) {
  auto other = Database::open({.path = folder / "other.db"}).value();
  run(other->execute("create table users (id integer primary key, name text)"));

  run(hold_two(*database, *other));

  EXPECT_EQ(loop.run(other->query_one<int>("select count(*) from users")).value(), 3);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_transaction_test
