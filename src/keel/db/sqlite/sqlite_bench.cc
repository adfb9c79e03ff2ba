// Rows per second by commit group (durable: synchronous=FULL, on the file system of the temporary folder), and a point
// select alone and inside the shared snapshot of a turn. Rows read as structs by the names of the columns, and by their
// index for comparison. The pages that writes leave in the log. items_per_second are rows.

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

// Pages (4 KiB) that a write leaves in the log, by what it changes, in commits of 32: rows of 200,000 whose e-mail
// address is unique, as those of the lab's service are.
enum class Change : std::uint8_t { Insert, Replace, ReplaceInOrder, KeepEmail, Delete, DeleteInOrder };

class Users {
 public:
  static constexpr std::int64_t rows = 200'000;
  static constexpr int group = 32;
  static constexpr char replace[] = "update users set name = $1, email = $2, age = $3 where id = $4";

  Users() : connection_(Connection::open({.path = folder_ / "app.db", .checkpoint_pages = 0}).value()) {
    static_cast<void>(connection_->run_script(
        "create table users (id integer primary key, name text not null, email text not null unique, age integer) "
        "strict; begin; insert into users (name, email) with recursive n (i) as (select 1 union all select i + 1 from "
        "n "
        "where i < 200000) select 'Bench', 'user' || i || '@example.com' from n; commit"));
    static_cast<void>(connection_->checkpoint());
  }
  bool change(Change what, std::int64_t number) {
    const std::int64_t in_order = 1 + number % rows;
    const std::int64_t anywhere = 1 + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(rows));
    const std::string email = std::to_string(next()) + std::to_string(next()) + "@example.com";
    switch (what) {
      case Change::Insert:
        return connection_->run("insert into users (name, email) values ($1, $2)", "Bench", email).is_ok();
      case Change::Replace:
        return connection_->run(replace, "Bench", email, 30, anywhere).is_ok();
      case Change::ReplaceInOrder:
        return connection_->run(replace, "Bench", email, 30, in_order).is_ok();
      case Change::KeepEmail:
        return connection_->run("update users set name = $1, age = $2 where id = $3", "Bench", 30, anywhere).is_ok();
      case Change::Delete:
        return connection_->run("delete from users where id = $1", anywhere).is_ok();
      case Change::DeleteInOrder:
        return connection_->run("delete from users where id = $1", in_order).is_ok();
    }
    return false;
  }
  bool change_group(Change what, std::int64_t first) {
    bool is_good = connection_->run_script("begin immediate").is_ok();
    for (int i = 0; i < group; ++i) is_good = change(what, first + i) && is_good;
    return connection_->run_script("commit").is_ok() && is_good;
  }
  std::uint64_t pages() const { return connection_->wal().pages(); }

 private:
  std::uint64_t next() noexcept {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return random_ ^ random_ >> 29;
  }
  testing::Folder folder_;
  std::unique_ptr<Connection> connection_;
  std::uint64_t random_ = 1;
};

void written_pages(benchmark::State& state, Change what) {
  Users users;
  std::int64_t written = 0;
  for (auto _ : state) {
    if (!users.change_group(what, written)) state.SkipWithError("a write failed");
    written += Users::group;
  }
  state.SetItemsProcessed(written);
  state.counters["pages"] = static_cast<double>(users.pages()) / static_cast<double>(written);
}
BENCHMARK_CAPTURE(written_pages, insert, Change::Insert)->Iterations(100);
BENCHMARK_CAPTURE(written_pages, replace, Change::Replace)->Iterations(100);
BENCHMARK_CAPTURE(written_pages, replace_in_order, Change::ReplaceInOrder)->Iterations(100);
BENCHMARK_CAPTURE(written_pages, keep_email, Change::KeepEmail)->Iterations(100);
BENCHMARK_CAPTURE(written_pages, delete, Change::Delete)->Iterations(100);
BENCHMARK_CAPTURE(written_pages, delete_in_order, Change::DeleteInOrder)->Iterations(100);

}  // namespace
}  // namespace keel::db::sqlite
