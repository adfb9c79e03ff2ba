// Reads on a loop do not reach the heap in steady state, SQLite's own work included.

#include <gtest/gtest.h>

#include "keel/base/testing/allocation_count.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"

namespace keel::db::sqlite::sqlite_allocation_test {
namespace {

using testing::OwnLoop;

Task<std::size_t> read_some(Database& database, int reads) {
  std::size_t bytes = 0;
  auto keep = [&bytes](const Row& row) { bytes += row.text(1).size(); };
  for (int i = 0; i < reads; ++i) {
    co_await database.query("select id, name from users where id = $1 and name <> $2", keep, 1 + i % 20, "nobody");
  }
  co_return bytes;
}
struct User {
  std::int64_t id;
  std::string name;
};
struct Wanted {
  std::int64_t id;
  std::string name;
};
Task<std::size_t> read_structs(Database& database, int reads) {
  std::size_t bytes = 0;
  for (int i = 0; i < reads; ++i) {
    const Wanted wanted{1 + i % 20, "nobody"};
    const auto user = co_await database.query_one<User>(
        "select 'x' as name, id, 1 as more from users where id = $id and name <> $name", wanted);
    bytes += user.name.size();
  }
  co_return bytes;
}
Task<> write_some(Database& database, int writes) {
  for (int i = 0; i < writes; ++i) {
    co_await database.execute("insert into users (name) values ($1)", "a name of some length");
  }
}

class Allocations : public ::testing::Test {
 protected:
  Allocations() {
    std::filesystem::create_directory(folder / "migrations");
    folder.write("migrations/0001_users.sql", "create table users (id integer primary key, name text not null)");
    database = Database::open({.path = folder / "app.db", .migrations = folder / "migrations"}).value();
    EXPECT_TRUE(loop.run(write_some(*database, 20)).has_value());
  }

  testing::Folder folder;
  OwnLoop loop;
  std::unique_ptr<Database> database;
};

TEST_F(Allocations, a_read_on_the_loop_makes_none) {
  const auto turn_and_read = [&] {
    EXPECT_EQ(loop.run(read_some(*database, 10)).value(), 210u);
    loop.loop.turn(Instant());
  };
  for (int i = 0; i < 10; ++i) turn_and_read();

  const std::size_t before = keel::internal::allocations();
  for (int i = 0; i < 100; ++i) turn_and_read();

  EXPECT_EQ(keel::internal::allocations() - before, 0u);
}

TEST_F(Allocations, a_struct_that_is_read_and_one_that_is_an_argument_make_none_beside_their_strings) {
  const auto turn_and_read = [&] {
    EXPECT_EQ(loop.run(read_structs(*database, 10)).value(), 10u);
    loop.loop.turn(Instant());
  };
  for (int i = 0; i < 10; ++i) turn_and_read();

  const std::size_t before = keel::internal::allocations();
  for (int i = 0; i < 100; ++i) turn_and_read();

  EXPECT_EQ(keel::internal::allocations() - before, 0u);
}

TEST_F(Allocations, a_write_makes_none_on_the_loop_that_awaits_it) {
  EXPECT_TRUE(loop.run(write_some(*database, 5)).has_value());

  const std::size_t before = keel::internal::allocations();
  EXPECT_TRUE(loop.run(write_some(*database, 20)).has_value());

  EXPECT_EQ(keel::internal::allocations() - before, 0u);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_allocation_test
