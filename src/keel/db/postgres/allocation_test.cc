// Statements do not reach the heap in steady state, and selects that wait together share their system calls.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "keel/base/testing/allocation_count.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/task/scope.h"

namespace keel::db::postgres::allocation_test {
namespace {

constexpr int tasks = 64;

class PostgresAllocations : public testing::RealDatabaseTest {
 protected:
  void SetUp() override {
    RealDatabaseTest::SetUp();
    if (IsSkipped()) return;
    open();
    script(
        "drop table if exists counted; create table counted (id bigint primary key, name text not null); insert into "
        "counted select n, 'name of ' || n from generate_series(1, 100) n; drop table if exists added; create table "
        "added (at bigint not null, page text not null)");
  }
  // Of `rounds` statements by each task, after as many that are not counted.
  using One = Task<>(Session&, int, int&);
  std::size_t allocations_of(One* one, int rounds) {
    int right = 0;
    EXPECT_TRUE(run(by_tasks(one, rounds, right)));
    const std::size_t before = keel::internal::allocations();
    EXPECT_TRUE(run(by_tasks(one, rounds, right)));
    const std::size_t made = keel::internal::allocations() - before;
    EXPECT_EQ(right, 2 * rounds * tasks);
    return made;
  }

 private:
  Task<> by_tasks(One* one, int rounds, int& right) {
    Scope scope;
    for (int i = 0; i < tasks; ++i) scope.spawn(one(*database_, rounds, right));
    co_await scope.join();
  }
};
INSTANTIATE_TEST_SUITE_P(, PostgresAllocations, testing::real_engines(), io::testing::name_of_engine);

Task<> select_some(Session& session, int rounds, int& right) {
  for (int i = 0; i < rounds; ++i) {
    const int id = 1 + i % 100;
    auto look = [&](const Row& row) { right += row.integer(0) == id && row.text(1).starts_with("name of ") ? 1 : 0; };
    co_await session.query("select id, name from counted where id = $1 and name <> $2", look, id, "nobody");
  }
}
Task<> insert_some(Session& session, int rounds, int& right) {
  for (int i = 0; i < rounds; ++i) {
    const Written written = co_await session.execute("insert into added (at, page) values ($1, $2)", i, "/welcome");
    right += written.changes == 1 ? 1 : 0;
  }
}
Task<> insert_some_in_groups(Session& session, int rounds, int& right) {
  for (int i = 0; i < rounds; ++i) {
    const Written written =
        co_await session.execute("insert into added (at, page) values ($1, $2) -- group", i, "/welcome");
    right += written.changes == 1 ? 1 : 0;
  }
}

// Those that wait go out with one send, and mostly come in with one receive.
TEST_P(PostgresAllocations, and_system_calls_of_64_selects_are_few) {
  constexpr int rounds = 50;
  static_cast<void>(allocations_of(select_some, 5));
  const std::uint64_t before = loop().engine().system_calls();

  static_cast<void>(allocations_of(select_some, rounds));

  const auto made = static_cast<double>(loop().engine().system_calls() - before);
  EXPECT_LE(made / (2 * rounds * tasks), 0.1) << made << " system calls";
}

TEST_P(PostgresAllocations, of_selects_are_none) { EXPECT_EQ(allocations_of(select_some, 50), 0u); }
TEST_P(PostgresAllocations, of_inserts_are_none) { EXPECT_EQ(allocations_of(insert_some, 20), 0u); }
TEST_P(PostgresAllocations, of_inserts_in_groups_are_none) { EXPECT_EQ(allocations_of(insert_some_in_groups, 50), 0u); }

}  // namespace
}  // namespace keel::db::postgres::allocation_test
