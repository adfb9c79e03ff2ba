// Rows per second by commit group (durable: synchronous=FULL, on the file system of the temporary folder), and a point
// select alone and inside the shared snapshot of a turn. Rows read as structs by the names of the columns, and by their
// index for comparison. items_per_second are rows.

#include <benchmark/benchmark.h>

#include <optional>
#include <string>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "keel/task/scope.h"

namespace keel::db::sqlite {
namespace {

struct Fixture {
  testing::Folder folder;
  testing::OwnLoop loop;
  std::unique_ptr<Database> database;

  Fixture() {
    std::filesystem::create_directory(folder / "migrations");
    folder.write("migrations/0001_users.sql",
                 "create table users (id integer primary key, name text, email text, age integer)");
    database = Database::open({.path = folder / "app.db", .migrations = folder / "migrations"}).value();
  }
  void fill(int rows) {
    auto insert = [rows](Connection& connection) -> Result<> {
      for (int i = 0; i < rows; ++i) {
        KEEL_TRY_VOID(
            connection.run("insert into users (name, email, age) values ('alice', 'alice@example.com', $1)", i));
      }
      return {};
    };
    if (!loop.run(database->transact(insert))) std::abort();
  }
};

Task<> insert_some(Database& database, int rows) {
  for (int i = 0; i < rows; ++i) {
    co_await database.execute("insert into users (name, email, age) values ($1, $2, $3)", "alice", "alice@example.com",
                              i);
  }
}
Task<> insert_by(Database& database, int clients, int rows) {
  Scope scope;
  for (int i = 0; i < clients; ++i) scope.spawn(insert_some(database, rows));
  co_await scope.join();
}

// Clients that each wait for their own acknowledgement before the next row.
void durable_insert(benchmark::State& state) {
  Fixture fixture;
  const int clients = static_cast<int>(state.range(0));
  const int rows = clients == 1 ? 200 : 50;
  for (auto _ : state) {
    if (!fixture.loop.run(insert_by(*fixture.database, clients, rows))) state.SkipWithError("insert failed");
  }
  const auto stats = fixture.database->stats().writer;
  state.SetItemsProcessed(static_cast<std::int64_t>(stats.writes));
  state.counters["rows_per_commit"] = static_cast<double>(stats.writes) / static_cast<double>(stats.groups);
}
BENCHMARK(durable_insert)->Arg(1)->Arg(8)->Arg(64)->Arg(512)->UseRealTime();

constexpr int table_rows = 100'000;

// `reads` selects per turn of the loop: 1 pays for a snapshot of its own.
void point_select(benchmark::State& state) {
  Fixture fixture;
  fixture.fill(table_rows);
  const std::int64_t reads = state.range(0);
  std::size_t bytes = 0;
  auto keep = [&bytes](const Row& row) { bytes += row.text(1).size(); };
  std::int64_t i = 0;
  for (auto _ : state) {
    for (std::int64_t j = 0; j < reads; ++j, ++i) {
      if (!fixture.database->read_now("select id, name, email, age from users where id = $1", keep,
                                      1 + (i * 7919) % table_rows)) {
        state.SkipWithError("select failed");
      }
    }
    fixture.loop.loop.turn(Instant());
  }
  benchmark::DoNotOptimize(bytes);
  state.SetItemsProcessed(i);
}
BENCHMARK(point_select)->Arg(1)->Arg(8)->Arg(64);

Task<> select_some(Database& database, std::int64_t reads, std::size_t& bytes) {
  auto keep = [&bytes](const Row& row) { bytes += row.text(1).size(); };
  for (std::int64_t i = 0; i < reads; ++i) {
    co_await database.query("select id, name, email, age from users where id = $1", keep, 1 + (i * 7919) % table_rows);
  }
}

// The same through tasks, all in one turn.
void point_select_awaited(benchmark::State& state) {
  Fixture fixture;
  fixture.fill(table_rows);
  const std::int64_t reads = state.range(0);
  std::size_t bytes = 0;
  for (auto _ : state) {
    if (!fixture.loop.run(select_some(*fixture.database, reads, bytes))) state.SkipWithError("select failed");
    fixture.loop.loop.turn(Instant());
  }
  benchmark::DoNotOptimize(bytes);
  state.SetItemsProcessed(state.iterations() * reads);
}
BENCHMARK(point_select_awaited)->Arg(64);

struct ByName {
  std::int64_t id;
  std::string name;
  std::string email;
  std::optional<std::int64_t> age;
};
struct ByIndex {
  std::int64_t id;
  std::string name;
  std::string email;
  std::optional<std::int64_t> age;
  static ByIndex from_row(const Row& row) {
    return {row.integer(0), std::string(row.text(1)), std::string(row.text(2)),
            row.get<std::optional<std::int64_t>>(3)};
  }
};

template <class T>
Task<std::size_t> select_structs(Database& database, std::int64_t first, std::int64_t rows) {
  const auto found = co_await database.query_many<T>(
      "select id, name, email, age from users where id > $1 order by id limit $2", first, rows);
  co_return found.size();
}

template <class T>
void select_as(benchmark::State& state) {
  Fixture fixture;
  fixture.fill(table_rows);
  const std::int64_t rows = state.range(0);
  std::int64_t i = 0;
  for (auto _ : state) {
    const auto found = fixture.loop.run(select_structs<T>(*fixture.database, (i++ * 7919) % (table_rows - rows), rows));
    if (found.value_or(0) != static_cast<std::size_t>(rows)) state.SkipWithError("select failed");
    fixture.loop.loop.turn(Instant());
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(select_as<ByIndex>)->Arg(1)->Arg(100);
BENCHMARK(select_as<ByName>)->Arg(1)->Arg(100);

}  // namespace
}  // namespace keel::db::sqlite
