// Durable inserts in groups without HTTP: what bench_service's POST /api/users does, by 64 tasks that each wait for
// their row before the next one. Prints the wall time of one row.
//
//   bench_rows --engine=uring --folder=build/bench --sync-delay-us=150
//
// The database is in a folder of its own in `folder`, which is removed at the end.

#include <stdlib.h>
#include <time.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/slow_vfs.h"
#include "keel/io/loop.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"

using namespace keel;

namespace {

constexpr int clients = 64;
constexpr Duration warm_up = 100_ms;
constexpr Duration measured = 400_ms;

struct Run {
  db::sqlite::Database& database;
  std::int64_t next = 0;
  std::int64_t rows = 0;  // Acknowledged while it was measured.
  Instant from = {};
  Instant until = {};
};

Task<> insert_rows(Run& run) {
  while (true) {
    const std::string email = "bench" + std::to_string(run.next++) + "@example.com";
    co_await run.database.execute("insert into users (name, email, age, created_at) values ($1, $2, $3, $4)", "Bench",
                                  email, nullptr, "2026-01-01T00:00:00Z");
    const Instant now = Host::current().precise_now();
    if (now >= run.until) co_return;
    if (now >= run.from) ++run.rows;
  }
}
Task<> insert_all(Run& run) {
  Scope scope;
  for (int i = 0; i < clients; ++i) scope.spawn(insert_rows(run));
  co_await scope.join();
}

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

Result<> measure(io::EngineKind kind, const std::string& path) {
  KEEL_TRY(std::unique_ptr<io::Engine> engine, io::make_engine(kind));
  io::Loop loop(std::move(engine), Host::system());
  io::Loop::Entered entered(loop);
  KEEL_TRY(const auto database, db::sqlite::Database::open({.path = path, .migrations = KEEL_MIGRATIONS}));
  Run run{*database};
  run.from = Host::system().precise_now() + warm_up;
  run.until = run.from + measured;
  Start<void> start;
  if (!start.begin(insert_all(run), [](StartCore&) noexcept { io::Loop::current()->stop(); })) loop.run();
  KEEL_TRY_VOID(start.take());
  if (run.rows == 0) return fail(Code::Internal, "no row was inserted in time");
  std::printf("{\"ns\": %.1f, \"whole_cpu\": %.6f}\n",
              static_cast<double>(measured.count_ns()) / static_cast<double>(run.rows), cpu_seconds());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view engine = "uring";
  std::string folder = ".";
  std::int64_t sync_delay_us = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--engine=")) engine = argument.substr(9);
    if (argument.starts_with("--folder=")) folder = argument.substr(9);
    if (argument.starts_with("--sync-delay-us="))
      std::from_chars(argument.data() + 16, argument.data() + argument.size(), sync_delay_us);
  }
  std::optional<db::sqlite::SlowVfs> slow_disk;
  if (sync_delay_us != 0) slow_disk.emplace(Duration::microseconds(sync_delay_us));
  folder += "/rows-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("bench_rows: mkdtemp");
    return 2;
  }
  const Result<> done =
      measure(engine == "epoll" ? io::EngineKind::Epoll : io::EngineKind::Uring, folder + "/bench.db");
  std::filesystem::remove_all(folder);
  if (done) return 0;
  std::fprintf(stderr, "bench_rows: %s\n", done.error().describe().c_str());
  return 1;
}
