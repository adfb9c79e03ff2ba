// What a statement costs in the process that asks a PostgreSQL server: by Keel's client, by libpq, and by pgbench.
//
// The server is Debian's, in a folder of its own, on a Unix socket; it starts when the first case does. `cpu_ns` is the
// processor time of this process, or of pgbench, for a statement, on all of its threads; `server_cpu_ns` is that of all
// processes of the server. `rate` is statements per second by the clock; `system_calls` and `allocations` are those of
// a statement. An iteration is one statement by each task. Each case checks the values of every row, and one that
// inserts counts its rows afterwards.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "keel/db/postgres/database.h"
#include "keel/io/loop.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "postgres.h"

namespace keel::bench {
namespace {

constexpr int accounts = 100'000;  // As pgbench makes them.

constexpr int warm_up = 20;  // Statements of each task before it is measured.

struct Keel {
  explicit Keel(io::EngineKind kind, int sessions = 1)
      : loop(io::make_engine(kind).value(), Host::system()), entered(loop) {
    db::postgres::DatabaseOptions options;
    options.url = server().url();
    options.uses_environment = false;
    options.connections = sessions;
    database = db::postgres::Database::make(std::move(options)).value();
  }
  ~Keel() {
    database->detach(loop);
    while (!database->is_detached()) loop.turn(Host::system().now() + 100_ms);
    database.reset();
    loop.finish();
  }
  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    if (!start.begin(std::move(task), [](StartCore&) noexcept { io::Loop::current()->stop(); })) loop.run();
    return start.take();
  }

  io::Loop loop;
  io::Loop::Entered entered;
  std::unique_ptr<db::postgres::Database> database;
};

// Tasks that each ask, and ask again when they have their answer.
struct Work {
  db::postgres::Database& database;
  std::int64_t statements_each;
  std::uint64_t random = 1;
  std::int64_t wrong = 0;

  std::int64_t next(std::int64_t below) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::int64_t>((random >> 33) % static_cast<std::uint64_t>(below));
  }
};

Task<> select_users(Work& work) {
  for (std::int64_t i = 0; i < work.statements_each; ++i) {
    const std::int64_t id = 1 + work.next(users);
    bool is_right = false;
    auto look = [&](const db::Row& row) { is_right = is_user(id, row.integer(0), row.text(1), row.text(2)); };
    co_await work.database.query("select id, name, email from users where id = $1", look, id);
    if (!is_right) ++work.wrong;
  }
}

Task<std::int64_t> count_visits(db::Session& session) {
  co_return co_await session.query_one<std::int64_t>("select count(*) from visits");
}

// What `pgbench -S` asks.
Task<> select_accounts(Work& work) {
  for (std::int64_t i = 0; i < work.statements_each; ++i) {
    bool is_right = false;
    auto look = [&](const db::Row& row) { is_right = row.integer(0) == 0; };
    co_await work.database.query("select abalance from pgbench_accounts where aid = $1", look, 1 + work.next(accounts));
    if (!is_right) ++work.wrong;
  }
}

Task<> insert_grouped(Work& work) {
  for (std::int64_t i = 0; i < work.statements_each; ++i) {
    const auto written =
        co_await work.database.execute("insert into visits (page, at) values ($1, $2) -- group", "/welcome", i);
    if (written.changes != 1) ++work.wrong;
  }
}

Task<> by_tasks(Task<> (*one)(Work&), Work& work, std::int64_t tasks) {
  Scope scope;
  for (std::int64_t i = 0; i < tasks; ++i) scope.spawn(one(work));
  co_await scope.join();
}

void measure(benchmark::State& state, io::EngineKind kind, Task<> (*one)(Work&), int sessions) {
  Keel keel(kind, sessions);
  const std::int64_t tasks = state.range(0);
  Work warm{*keel.database, warm_up};
  if (!keel.run(by_tasks(one, warm, tasks)) || warm.wrong != 0) return state.SkipWithError("a wrong answer");

  Work work{*keel.database, static_cast<std::int64_t>(state.max_iterations)};
  Usage usage(tasks * work.statements_each);
  const std::uint64_t calls = keel.loop.engine().system_calls();
  for (auto _ : state) {
    // All iterations are one run: a task does not wait for the others.
    if (usage.has_begun()) continue;
    usage.begin();
    if (!keel.run(by_tasks(one, work, tasks)) || work.wrong != 0) state.SkipWithError("a wrong answer");
    usage.end();
  }
  const auto made = static_cast<double>(keel.loop.engine().system_calls() - calls);
  usage.report(state);
  state.counters["system_calls"] = made / static_cast<double>(usage.statements());
  state.counters["groups"] = static_cast<double>(keel.database->stats().groups);
}

void keel_select(benchmark::State& state, io::EngineKind kind) { measure(state, kind, &select_users, 1); }
void keel_select_account(benchmark::State& state, io::EngineKind kind) { measure(state, kind, &select_accounts, 1); }
std::int64_t visits() {
  Keel keel(io::EngineKind::Epoll);
  return keel.run(count_visits(*keel.database)).value_or(-1);
}
void keel_insert(benchmark::State& state, io::EngineKind kind) {
  const std::int64_t before = visits();
  measure(state, kind, &insert_grouped, 2);
  const std::int64_t expected = state.range(0) * (warm_up + static_cast<std::int64_t>(state.max_iterations));
  if (visits() - before != expected) state.SkipWithError("another number of rows than were acknowledged");
}
constexpr auto uring = io::EngineKind::Uring;
constexpr auto epoll = io::EngineKind::Epoll;
BENCHMARK_CAPTURE(keel_select, uring, uring)->Arg(1)->Arg(16)->Arg(64)->UseRealTime();
BENCHMARK_CAPTURE(keel_select, epoll, epoll)->Arg(1)->Arg(16)->Arg(64)->UseRealTime();
BENCHMARK_CAPTURE(keel_select_account, uring, uring)->Arg(64)->UseRealTime();
BENCHMARK_CAPTURE(keel_select_account, epoll, epoll)->Arg(64)->UseRealTime();
BENCHMARK_CAPTURE(keel_insert, uring, uring)->Arg(64)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(keel_insert, epoll, epoll)->Arg(64)->Arg(256)->UseRealTime();

// --- pgbench, for a second

void pgbench(benchmark::State& state, const char* arguments, const char* script) {
  Pgbench done;
  for (auto _ : state) {
    done = pgbench_run(arguments, script);
    state.SetIterationTime(done.rate > 0 ? 1 / done.rate : 1);
  }
  if (done.rate <= 0 || done.transactions <= 0) return state.SkipWithError("pgbench has failed");
  state.counters["rate"] = done.rate;
  state.counters["cpu_ns"] = static_cast<double>(done.cpu_ns) / done.transactions;
  state.counters["server_cpu_ns"] = static_cast<double>(done.server_ns) / done.transactions;
}
BENCHMARK_CAPTURE(pgbench, select_16, "-S -M prepared -c 16 -j 1 -T 1", "")->Iterations(1)->UseManualTime();
BENCHMARK_CAPTURE(pgbench, insert_64, "-M prepared -c 64 -j 1 -T 1",
                  "insert into visits (page, at) values ('/welcome', 1);")
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
}  // namespace keel::bench
