// The same selects by libpq: in its pipeline mode with one Sync for all, with one for each, and one by one.

#include <benchmark/benchmark.h>
#include <libpq-fe.h>
#include <poll.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "postgres.h"

namespace keel::bench {
namespace {

struct Closes {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Session = std::unique_ptr<PGconn, Closes>;
using Answer = std::unique_ptr<PGresult, Closes>;

std::int64_t big_endian(const char* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return static_cast<std::int64_t>(__builtin_bswap64(value));
}

// Prepared selects of one session, in binary, as Keel's client asks them.
class Selects {
 public:
  Selects() : session_(PQconnectdb(server().url().c_str())) {
    if (PQstatus(session_.get()) != CONNECTION_OK) std::abort();
    Answer prepared(PQprepare(session_.get(), "user", "select id, name, email from users where id = $1", 1, nullptr));
    if (PQresultStatus(prepared.get()) != PGRES_COMMAND_OK) std::abort();
  }

  bool ask_one() {
    const std::int64_t id = next();
    const Argument argument(id);
    Answer answer(PQexecPrepared(session_.get(), "user", 1, argument.values, Argument::lengths, Argument::formats, 1));
    return is_right(answer.get(), id);
  }

  // `depth` at a time, `rounds` times.
  bool ask(std::int64_t depth, bool has_one_sync) {
    std::int64_t ids[64];
    for (std::int64_t i = 0; i < depth; ++i) {
      ids[i] = next();
      const Argument argument(ids[i]);
      if (PQsendQueryPrepared(session_.get(), "user", 1, argument.values, Argument::lengths, Argument::formats, 1) !=
          1) {
        return false;
      }
      if (!has_one_sync && PQpipelineSync(session_.get()) != 1) return false;
    }
    if (has_one_sync && PQpipelineSync(session_.get()) != 1) return false;
    if (PQflush(session_.get()) != 0 && !wait(POLLOUT)) return false;
    for (std::int64_t i = 0; i < depth; ++i) {
      Answer answer(take());
      if (!is_right(answer.get(), ids[i])) return false;
      if (take() != nullptr) return false;  // The end of one statement.
      if (!has_one_sync && !is_sync()) return false;
    }
    return !has_one_sync || is_sync();
  }

  bool enter_pipeline() { return PQenterPipelineMode(session_.get()) == 1 && PQsetnonblocking(session_.get(), 1) == 0; }

 private:
  struct Argument {
    explicit Argument(std::int64_t id) : bytes(__builtin_bswap64(static_cast<std::uint64_t>(id))) {}
    std::uint64_t bytes;
    const char* const values[1] = {reinterpret_cast<const char*>(&bytes)};
    static constexpr int lengths[1] = {8};
    static constexpr int formats[1] = {1};
  };
  bool wait(short events) {
    pollfd one{PQsocket(session_.get()), events, 0};
    while (poll(&one, 1, -1) == 1) {
      if ((one.revents & POLLIN) != 0 && PQconsumeInput(session_.get()) != 1) return false;
      if (events == POLLIN) return true;
      const int left = PQflush(session_.get());
      if (left <= 0) return left == 0;
    }
    return false;
  }
  PGresult* take() {
    while (PQisBusy(session_.get()) == 1) {
      if (!wait(POLLIN)) return nullptr;
    }
    return PQgetResult(session_.get());
  }
  bool is_sync() {
    Answer answer(take());
    return PQresultStatus(answer.get()) == PGRES_PIPELINE_SYNC;
  }
  static bool is_right(PGresult* answer, std::int64_t id) {
    if (PQresultStatus(answer) != PGRES_TUPLES_OK || PQntuples(answer) != 1) return false;
    const auto text = [&](int column) {
      return std::string_view(PQgetvalue(answer, 0, column), static_cast<std::size_t>(PQgetlength(answer, 0, column)));
    };
    return is_user(id, big_endian(PQgetvalue(answer, 0, 0)), text(1), text(2));
  }
  std::int64_t next() {
    random_ = random_ * 6364136223846793005 + 1442695040888963407;
    return 1 + static_cast<std::int64_t>((random_ >> 33) % static_cast<std::uint64_t>(users));
  }

  Session session_;
  std::uint64_t random_ = 1;
};

void libpq_pipeline(benchmark::State& state, bool has_one_sync) {
  Selects selects;
  const std::int64_t depth = state.range(0);
  if (!selects.enter_pipeline()) return state.SkipWithError("no pipeline mode");
  for (int i = 0; i < 200; ++i) {
    if (!selects.ask(depth, has_one_sync)) return state.SkipWithError("a wrong answer");
  }
  Usage usage(depth * static_cast<std::int64_t>(state.max_iterations));
  for (auto _ : state) {
    if (!usage.has_begun()) usage.begin();
    if (!selects.ask(depth, has_one_sync)) state.SkipWithError("a wrong answer");
  }
  usage.end();
  usage.report(state);
}
BENCHMARK_CAPTURE(libpq_pipeline, one_sync, true)->Arg(64)->UseRealTime();
BENCHMARK_CAPTURE(libpq_pipeline, sync_each, false)->Arg(64)->UseRealTime();

void libpq_blocking(benchmark::State& state) {
  Selects selects;
  for (int i = 0; i < 200; ++i) {
    if (!selects.ask_one()) return state.SkipWithError("a wrong answer");
  }
  Usage usage(static_cast<std::int64_t>(state.max_iterations));
  for (auto _ : state) {
    if (!usage.has_begun()) usage.begin();
    if (!selects.ask_one()) state.SkipWithError("a wrong answer");
  }
  usage.end();
  usage.report(state);
}
BENCHMARK(libpq_blocking)->UseRealTime();

}  // namespace
}  // namespace keel::bench
