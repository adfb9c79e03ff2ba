// What statements of 50 ms in every tenth request cost the other requests, in virtual time: on SQLite, where the pool
// runs what is too long for a loop, and on a PostgreSQL server that is none. A request is a byte to a service and one
// back; the service runs a statement in between.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/fake_table_test.h"
#include "keel/db/postgres/testing/fake_listener.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/listener.h"
#include "keel/net/stream.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::neighbours_test {
namespace {

constexpr Duration slow_time = 50_ms;
constexpr std::string_view slow_byte = "s";
constexpr std::string_view quick_byte = "q";

// Virtual threads for SQLite, each of which is busy with a job for 50 ms.
class SlowThreads final : public Executor {
 public:
  explicit SlowThreads(Executor& pool) noexcept : pool_(pool) {}
  void post(Job& job) noexcept override {
    Instant& free = *std::ranges::min_element(free_);
    const Instant now = Host::current().now();
    free = std::max(free, now) + slow_time;
    KEEL_CHECK(pool_.offer_after(job, free - now), "the pool of a simulation has a clock");
  }
  bool offer_after(Job& job, Duration delay) noexcept override { return pool_.offer_after(job, delay); }
  bool has_clock() const noexcept override { return true; }

 private:
  Executor& pool_;
  std::array<Instant, 2> free_ = {};
};

// A server on which "select slow" takes 50 ms.
struct SlowTable final : testing::Table {
  testing::FakeStatement prepare(std::string_view sql) override {
    if (sql.starts_with("select slow")) return {.columns = {{"n", oid::int8}}};
    return Table::prepare(sql);
  }
  testing::FakeResult execute(std::uint64_t session, std::string_view sql,
                              std::span<const testing::FakeValue> arguments) override {
    if (sql.starts_with("select slow")) return {.rows = {{"1"}}, .is_held = true};
    return Table::execute(session, sql, arguments);
  }
};

using Read = Task<> (*)(Session&);
void ignore_row(const Row&) {}

Task<> read_quickly(Session& session) {
  auto ignore = ignore_row;
  co_await session.query("select $1", ignore, 1);
}
Task<> read_slowly_on_sqlite(Session& session) {
  auto ignore = ignore_row;
  co_await session.query(
      "with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000) select count(*) from n",
      ignore);
}
Task<> read_slowly_on_postgres(Session& session) {
  auto ignore = ignore_row;
  co_await session.query("select slow", ignore);
}

Task<> respond(Stream stream, Session& session, Read slow) {
  while (true) {
    const Result<Chunk> chunk = co_await attempt(stream.receive());
    if (!chunk || chunk->empty()) co_return;
    const Read read = std::string_view(*chunk) == slow_byte ? slow : &read_quickly;
    co_await read(session);
    co_await stream.write(std::string(quick_byte));
  }
}
Task<> serve(Listener& listener, Session& session, Read slow) {
  Scope connections;
  while (true) {
    Stream stream = co_await listener.accept();
    connections.spawn(respond(std::move(stream), session, slow), OnError::Ignore);
  }
}

struct Measured {
  std::vector<Duration> quick;
  int slow = 0;
};
Task<> ask(Address address, bool has_slow, Measured& measured) {
  Stream stream = co_await Stream::connect(address);
  for (int i = 0; i < 100; ++i) {
    co_await sleep_for(Duration::microseconds(static_cast<std::int64_t>(Host::current().random() % 200'000)));
    const bool is_slow = Host::current().random() % 10 == 0;
    if (is_slow && !has_slow) continue;
    const Instant began = Host::current().now();
    co_await stream.write(std::string(is_slow ? slow_byte : quick_byte));
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_await fail(Code::Unavailable, "the service has closed the connection");
    if (is_slow) {
      ++measured.slow;
    } else {
      measured.quick.push_back(Host::current().now() - began);
    }
  }
}
Task<> ask_all(Address address, bool has_slow, Measured& measured) {
  Scope clients;
  for (int i = 0; i < 20; ++i) clients.spawn(ask(address, has_slow, measured));
  co_await clients.join();
}

// A simulation with three loops: the clients', the service's and the server's.
class NeighboursInOneIteration : public ::testing::Test {
 protected:
  explicit NeighboursInOneIteration(const sim::SimOptions& options = {}) : simulation_(options) {}
  void SetUp() override { host_before_ = Host::set_current(&simulation_); }
  void TearDown() override {
    if (listener_ != nullptr) stop(service_, serving_);
    if (postgres_ != nullptr) {
      in(service_, [&] { postgres_->detach(service_); });
      EXPECT_TRUE(simulation_.run_until([&] { return postgres_->is_detached(); }, 60_s));
    }
    in(service_, [&] { listener_.reset(); });
    in(service_, [&] { postgres_.reset(); });
    if (fake_ != nullptr) stop(server_, faking_);
    in(server_, [&] { fake_.reset(); });
    EXPECT_TRUE(simulation_.run_until([&] { return sqlite_ == nullptr || sqlite_->is_idle(); }, 60_s));
    in(service_, [&] { sqlite_.reset(); });
    simulation_.run_until([] { return false; }, 10_ms);
    Host::set_current(host_before_);
  }
  template <class F>
  void in(io::Loop& loop, F&& work) {
    io::Loop::Entered entered(loop);
    work();
  }
  void stop(io::Loop& loop, Start<void>& start) {
    in(loop, [&] { start.stop(); });
    EXPECT_TRUE(simulation_.run_until([&] { return start.has_ended(); }, 60_s)) << simulation_.replay();
    in(loop, [&] { static_cast<void>(start.take()); });
  }

  void open_postgres(int connections) {
    in(server_, [&] {
      fake_ = std::make_unique<testing::FakeListener>(table_);
      fake_->hold_for(slow_time);
      faking_.begin(fake_->serve(), [](StartCore&) noexcept {});
    });
    in(service_, [&] {
      DatabaseOptions options;
      options.url = fake_->url();
      options.uses_environment = false;
      options.connections = connections;
      options.executor = &simulation_.pool();
      postgres_ = Database::make(std::move(options)).value();
    });
  }
  template <class T>
  void run(io::Loop& loop, Task<T>&& task) {
    Start<T> start;
    in(loop, [&] { start.begin(std::move(task), [](StartCore&) noexcept {}); });
    ASSERT_TRUE(simulation_.run_until([&] { return start.has_ended(); }, 600_s)) << simulation_.replay();
    io::Loop::Entered entered(loop);
    const Result<T> done = start.take();
    EXPECT_TRUE(done) << done.error().describe();
  }
  Host* host_before_ = nullptr;
  sim::Simulation simulation_;
  io::Loop& clients_ = simulation_.add_loop();
  io::Loop& service_ = simulation_.add_loop();
  io::Loop& server_ = simulation_.add_loop();
  sim::Disk disk_{1};
  sqlite::SimVfs vfs_{disk_, 1};
  SlowThreads threads_{simulation_.pool()};
  SlowTable table_;
  std::unique_ptr<sqlite::Database> sqlite_;
  std::unique_ptr<testing::FakeListener> fake_;
  std::unique_ptr<Database> postgres_;
  std::unique_ptr<Listener> listener_;
  Start<void> serving_;
  Start<void> faking_;
};

// On both databases.
class Neighbours : public NeighboursInOneIteration, public ::testing::WithParamInterface<bool> {
 protected:
  // `is_apart`: the slow statements have places of their own, as they usually have.
  void open(bool is_apart) {
    if (GetParam()) {
      open_postgres(is_apart ? 8 : 1);
    } else {
      sqlite::DatabaseOptions options;
      options.path = "/app.db";
      options.vfs = vfs_.name();
      options.executor = &threads_;
      if (!is_apart) options.loop_steps_max = 0;
      sqlite_ = sqlite::Database::open(options).value();
    }
    in(service_, [&] {
      listener_ = std::make_unique<Listener>(Listener::bind(Address::ip("127.0.0.1", 0).value()).value());
      serving_.begin(serve(*listener_, session(), GetParam() ? &read_slowly_on_postgres : &read_slowly_on_sqlite),
                     [](StartCore&) noexcept {});
    });
  }
  Session& session() { return GetParam() ? static_cast<Session&>(*postgres_) : static_cast<Session&>(*sqlite_); }

  // The 99th percentile of the requests that are not slow, in microseconds.
  std::int64_t p99(bool has_slow) {
    Measured measured;
    run(clients_, ask_all(listener_->address(), has_slow, measured));
    if (has_slow) {
      EXPECT_GT(measured.slow, 100);
    }
    EXPECT_GT(measured.quick.size(), 1000u);
    if (measured.quick.empty()) return 0;
    std::ranges::sort(measured.quick);
    return measured.quick[measured.quick.size() * 99 / 100].count_ns() / 1000;
  }
};
INSTANTIATE_TEST_SUITE_P(, Neighbours, ::testing::Bool(), [](const ::testing::TestParamInfo<bool>& which) {
  return which.param ? "postgres" : "sqlite";
});

TEST_P(Neighbours, of_slow_statements_wait_less_than_twice_as_long) {
  open(true);
  const std::int64_t alone = p99(false);

  const std::int64_t beside = p99(true);

  std::printf("[ score ] p99 alone %lld us, beside slow statements %lld us\n", static_cast<long long>(alone),
              static_cast<long long>(beside));
  EXPECT_GT(alone, 0);
  EXPECT_LT(beside, 2 * alone);
}

// The negative control: where slow statements and others share one place, the others wait, and that is seen.
TEST_P(Neighbours, that_share_a_place_with_slow_statements_wait_longer) {
  open(false);
  const std::int64_t alone = GetParam() ? p99(false) : 2'000;  // On SQLite, each takes its 50 ms on the pool.

  const std::int64_t beside = p99(true);

  EXPECT_GT(beside, 2 * alone) << alone;
}

// Reads of one event-loop iteration share a Sync, and so a connection, until it is known which of them are slow.
Task<> read_timed(Session& session, Duration& took) {
  const Instant began = Host::current().now();
  co_await read_quickly(session);
  took = Host::current().now() - began;
}
Task<> read_in_one_iteration(Session& session, Duration& took) {
  Scope scope;
  scope.spawn(read_slowly_on_postgres(session));
  scope.spawn(read_timed(session, took));
  co_await scope.join();
}

TEST_F(NeighboursInOneIteration, get_a_connection_of_their_own_once_a_statement_has_been_slow_twice) {
  open_postgres(2);
  std::vector<Duration> took(6);

  for (Duration& each : took) run(service_, read_in_one_iteration(*postgres_, each));

  EXPECT_GE(took[0], slow_time) << "nothing is known of the statement";
  for (std::size_t i = 3; i < took.size(); ++i) EXPECT_LT(took[i], slow_time / 2) << i;
}

// A server to which a packet takes 20 ms.
class FarNeighboursInOneIteration : public NeighboursInOneIteration {
 protected:
  FarNeighboursInOneIteration() : NeighboursInOneIteration(far()) {}
  static sim::SimOptions far() {
    sim::SimOptions options;
    options.latency_min = 20_ms;
    options.latency_max = 21_ms;
    return options;
  }
};
Task<> read_many(Session& session) {
  Scope scope;
  for (int i = 0; i < 16; ++i) scope.spawn(read_quickly(session));
  co_await scope.join();
}

TEST_F(FarNeighboursInOneIteration, share_a_group_because_the_way_to_the_server_is_no_work_of_it) {
  open_postgres(2);
  run(service_, read_many(*postgres_));
  const std::uint64_t before = postgres_->stats().groups;

  for (int i = 0; i < 10; ++i) run(service_, read_many(*postgres_));

  EXPECT_EQ(postgres_->stats().groups - before, 10u);
}

}  // namespace
}  // namespace keel::db::postgres::neighbours_test
