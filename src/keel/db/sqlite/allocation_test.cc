// Reads on a loop do not reach the heap in steady state, SQLite's own work included.

#include <gtest/gtest.h>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing.h"

// Counts this thread's heap allocations; sanitizers replace malloc themselves, and there the count stays 0.
static constinit thread_local std::size_t allocations = 0;

#if defined(__has_feature)
#define KEEL_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEL_SANITIZED 1
#else
#define KEEL_SANITIZED 0
#endif

#if !KEEL_SANITIZED
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

[[gnu::noinline]] void* malloc(std::size_t bytes) noexcept {
  ++allocations;
  return __libc_malloc(bytes);
}
[[gnu::noinline]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_calloc(count, bytes);
}
[[gnu::noinline]] void* realloc(void* block, std::size_t bytes) noexcept {
  ++allocations;
  return __libc_realloc(block, bytes);
}
}
#endif

namespace keel::db {
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

  const std::size_t before = allocations;
  for (int i = 0; i < 100; ++i) turn_and_read();

  EXPECT_EQ(allocations - before, 0u);
}

TEST_F(Allocations, a_write_makes_none_on_the_loop_that_awaits_it) {
  EXPECT_TRUE(loop.run(write_some(*database, 5)).has_value());

  const std::size_t before = allocations;
  EXPECT_TRUE(loop.run(write_some(*database, 20)).has_value());

  EXPECT_EQ(allocations - before, 0u);
}

}  // namespace
}  // namespace keel::db
