#include "keel/db/postgres/database.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/db/postgres/database_metrics.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/call.h"
#include "keel/db/postgres/internal/one_loop.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/db/postgres/internal/state.h"
#include "keel/db/postgres/internal/statement_text.h"
#include "keel/db/postgres/migrations.h"
#include "keel/exec/thread_pool.h"
#include "keel/io/loop.h"
#include "keel/observe/metric.h"

namespace keel::db::postgres {

using internal::Call;
using internal::Pool;

namespace {

Result<> check_options(const DatabaseOptions& options) {
  struct Bound {
    const char* name;
    std::uint64_t value, least, most;
  };
  const Bound bounds[] = {
      {"connections", static_cast<std::uint64_t>(options.connections), 1, 256},
      {"group_max", options.group_max, 1, 500},
      {"statements_max", options.statements_max, 1, 1'000'000},
  };
  for (const Bound& bound : bounds) {
    if (bound.value >= bound.least && bound.value <= bound.most) continue;
    return Error::text(Code::InvalidArgument, fmt::format("DatabaseOptions::{} is {}: expected {} to {}", bound.name,
                                                          bound.value, bound.least, bound.most));
  }
  if (options.reconnect_min <= Duration() || options.reconnect_max < options.reconnect_min) {
    return fail(Code::InvalidArgument, "DatabaseOptions::reconnect_min must be above 0 and not above reconnect_max");
  }
  return {};
}

std::string text_of(TransactionOptions options) {
  constexpr std::string_view levels[] = {"", " isolation level read committed", " isolation level repeatable read",
                                         " isolation level serializable"};
  std::string text("begin");
  text += levels[static_cast<std::size_t>(options.isolation)];
  if (options.read_only) text += " read only";
  if (options.deferrable) text += " deferrable";
  return text;
}

}  // namespace

Result<Pool*> Database::State::pool_of(io::Loop& loop) {
  Pool* pool = known(&loop);
  if (pool == nullptr) {
    if (is_closing.load(std::memory_order_acquire)) return fail(Code::Unavailable, "the database is closed");
    auto made = std::make_unique<Pool>(settings, loop, transactions);
    pool = made.get();
    {
      std::lock_guard lock(mutex);
      pools.push_back({&loop, std::move(made)});
    }
    pool->begin();
  }
  internal::recent_pool = {number, &loop, pool};
  return pool;
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() { close(); }

Result<std::unique_ptr<Database>> Database::make(DatabaseOptions options) {
  KEEL_TRY_VOID(check_options(options));
  auto state = std::make_unique<State>();
  internal::Settings& settings = state->settings;
  auto nothing = [](const char*) -> std::optional<std::string> { return std::nullopt; };
  if (options.uses_environment) {
    KEEL_TRY(settings.server, ConnectOptions::parse(options.url, process_environment));
    KEEL_TRY(settings.passwords, settings.server.read_password_file());
  } else {
    KEEL_TRY(settings.server, ConnectOptions::parse(options.url, nothing));
  }
  const ConnectOptions& server = settings.server;
  state->where = server.describe();
  bool has_names = false;
  bool has_networks = false;
  for (const ServerAddress& one : server.servers) {
    if (one.is_unix()) continue;
    has_networks = true;
    has_names = has_names || !Address::ip(one.address.empty() ? one.host : one.address, one.port);
  }
  if (has_networks && server.ssl_mode != SslMode::Disable) {
    tls::ClientOptions tls;
    tls.trust.file = server.ssl_root_certificate;
    const bool has_root = !server.ssl_root_certificate.empty();
    tls.check = server.ssl_mode == SslMode::VerifyFull ? tls::ServerCheck::Host
                : server.ssl_mode == SslMode::VerifyCa || (server.ssl_mode == SslMode::Require && has_root)
                    ? tls::ServerCheck::Authority
                    : tls::ServerCheck::Nothing;
    tls.certificate.certificate_file = server.ssl_certificate;
    tls.certificate.key_file = server.ssl_key;
    KEEL_TRY(settings.tls, tls::ClientContext::make(tls));
  }
  settings.lookups = options.executor;
  if (settings.lookups == nullptr && has_names) {
    state->lookups = std::make_unique<ThreadPool>(ThreadPoolOptions{.name = "resolver", .threads = 1});
    settings.lookups = state->lookups.get();
  }
  settings.options = std::move(options);
  return std::unique_ptr<Database>(new Database(std::move(state)));
}

Result<std::unique_ptr<Database>> Database::open(DatabaseOptions options) {
  KEEL_EXPECT(io::Loop::current() == nullptr, "Database::open() blocks: call it on a thread that runs no loop");
  DatabaseOptions once;
  once.url = options.url;
  once.uses_environment = options.uses_environment;
  once.migrations = options.migrations;
  once.message_bytes_max = options.message_bytes_max;
  once.pooler = options.pooler;
  once.connections = 1;
  if (options.look_up) once.look_up = [&](const std::string& host) { return options.look_up(host); };
  if (once.migrations.empty()) {
    KEEL_TRY(const std::unique_ptr<internal::OneLoop> loop, internal::OneLoop::make());
    KEEL_TRY(const std::unique_ptr<Database> database, make(std::move(once)));
    const Result<> reads = loop->run(database->check_reads());
    database->detach(loop->loop());
    loop->turn_until([&] { return database->is_detached(); });
    if (!reads) return reads.error().clone();
  } else {
    KEEL_TRY_VOID(migrate(std::move(once)));
  }
  return make(std::move(options));
}

Result<> Database::attach(io::Loop& loop) {
  KEEL_TRY_VOID(state_->pool_of(loop));
  return {};
}

void Database::detach(io::Loop& loop) noexcept {
  if (Pool* const pool = state_->known(&loop)) pool->close();
}

void Database::close() noexcept {
  state_->is_closing.store(true, std::memory_order_release);
  {
    std::lock_guard lock(state_->mutex);
    for (const State::Owned& owned : state_->pools) {
      if (!owned.pool->has_ended()) owned.pool->close();
    }
  }
  if (io::Loop::current() != nullptr) return;
  const Instant end = Host::system().now() + 10_s;
  while (!is_detached() && Host::system().now() < end) Host::system().sleep(1_ms);
}

bool Database::is_detached() const {
  std::lock_guard lock(state_->mutex);
  for (const State::Owned& owned : state_->pools) {
    if (!owned.pool->has_ended()) return false;
  }
  return true;
}

bool Database::is_idle() const {
  std::lock_guard lock(state_->mutex);
  for (const State::Owned& owned : state_->pools) {
    if (!owned.pool->is_idle()) return false;
  }
  return true;
}

Task<std::size_t> Database::query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                                       std::uint64_t transaction) {
  Pool* const pool = co_await state_->pool();
  Call call(*pool, Call::Kind::Query, transaction);
  call.sql = sql;
  call.values = arguments.values();
  co_await call;
  Result<> read = call.rows.for_each(on_row);
  if (!read) co_return internal::failure_of(sql, std::move(read).error());
  co_return call.rows.count();
}

Task<std::size_t> Database::stream_rows(Sql sql, Arguments arguments, FunctionRef<Task<>(Rows&)> on_rows) {
  constexpr std::size_t bytes_at_once = 64 * 1024;
  Pool* const pool = co_await state_->pool();
  const Transaction transaction = co_await begin_unbounded("begin read only");
  Rows rows;
  std::size_t count = 0;
  std::size_t rows_max = 16;  // Rows may be large, so the first fetch is small; later fetches take about 64 KiB each.
  bool has_more = true;
  for (bool is_first = true; has_more; is_first = false) {
    Call call(*pool, Call::Kind::Fetch, number_of(transaction));
    call.sql = sql;
    call.values = arguments.values();
    call.is_first = is_first;
    call.rows_max = static_cast<std::uint32_t>(rows_max);
    std::swap(call.rows, rows);
    call.rows.clear();
    Result<> fetched = co_await attempt(call);
    if (!fetched) co_return internal::failure_of_reading(std::move(fetched).error());
    std::swap(call.rows, rows);
    has_more = call.has_more;
    if (rows.count() == 0) break;
    count += rows.count();
    const std::size_t fit = bytes_at_once / (rows.bytes() / rows.count() + 1) + 1;
    rows_max = std::min(fit, 4 * rows_max);
    co_await on_rows(rows);
  }
  co_return count;
}

Task<Transaction> Database::begin_unbounded(std::string_view begin) {
  Pool* const pool = co_await state_->pool();
  Call call(*pool, Call::Kind::Begin);
  call.script = begin;
  call.is_unbounded = true;
  co_await call;
  co_return Transaction(*this, call.transaction());
}

Task<Written> Database::execute_values(Sql sql, Arguments arguments, std::uint64_t transaction) {
  Pool* const pool = co_await state_->pool();
  Call call(*pool, Call::Kind::Execute, transaction);
  call.sql = sql;
  call.values = arguments.values();
  co_await call;
  co_return call.written;
}

Task<Transaction> Database::begin_transaction(TransactionOptions options, std::source_location place) {
  Pool* const pool = co_await state_->pool();
  const std::string begin = text_of(options);
  Call call(*pool, Call::Kind::Begin);
  call.script = begin;
  call.place = place;
  co_await call;
  co_return Transaction(*this, call.transaction());
}

bool Database::may_retry(const Error& error) const noexcept { return is_retryable(error); }

Task<> Database::commit(std::uint64_t transaction) {
  Pool* const pool = co_await state_->pool();
  Call call(*pool, Call::Kind::Commit, transaction);
  co_await call;
}

void Database::roll_back(std::uint64_t transaction) noexcept {
  // On a thread that runs another loop, the call has no effect, and hold_max ends the transaction later.
  Pool* const pool = state_->known(io::Loop::current());
  internal::Connection* const connection = pool != nullptr ? pool->find(transaction) : nullptr;
  if (connection != nullptr) connection->roll_back();
}

Task<Savepoint> Database::savepoint(std::uint64_t transaction) {
  Pool* const pool = co_await state_->pool();
  internal::Connection* const connection = pool->find(transaction);
  if (connection == nullptr) co_return pool->why_over(transaction);
  co_return Savepoint(*this, transaction, connection->add_savepoint());
}

Task<> Database::release(std::uint64_t transaction, std::uint64_t savepoint) {
  Pool* const pool = co_await state_->pool();
  internal::Connection* const connection = pool->find(transaction);
  if (connection == nullptr) co_await pool->why_over(transaction);
  if (!connection->release(savepoint)) co_await fail(Code::Conflict, "the savepoint has ended");
}

void Database::roll_back_to(std::uint64_t transaction, std::uint64_t savepoint) noexcept {
  Pool* const pool = state_->known(io::Loop::current());
  internal::Connection* const connection = pool != nullptr ? pool->find(transaction) : nullptr;
  if (connection != nullptr) connection->roll_back_to(savepoint);
}

Task<> Database::run_script(std::string script) { return this->script(std::move(script), 0); }

Task<> Database::run_script(Transaction& transaction, std::string script) {
  return this->script(std::move(script), number_of(transaction));
}

Task<> Database::script(std::string script, std::uint64_t transaction) {
  if (transaction != 0 && !internal::find_transaction_control(script).empty()) {
    co_await fail(Code::InvalidArgument, "a script within a transaction must not begin or end a transaction");
  }
  Pool* const pool = co_await state_->pool();
  Call call(*pool, Call::Kind::Script, transaction);
  call.script = script;
  co_await call;
}

Task<Notifications> Database::listen(std::string channel) {
  Pool* const pool = co_await state_->pool();
  if (options().pooler) {
    co_return fail(Code::Unsupported,
                   "a pooler that changes sessions loses notifications: call listen() on a Database whose URL names "
                   "the server itself");
  }
  Notifications notifications(std::make_unique<internal::Listening>(*pool));
  co_await notifications.add(std::move(channel));
  co_return std::move(notifications);
}

Task<> Database::check_reads() {
  auto ignore = [](const Row&) {};
  co_await query("select 1", ignore);
}

Task<> Database::check_writes() {
  if (!state_->settings.cannot_write.load(std::memory_order_relaxed)) co_return;
  Pool* const pool = co_await state_->pool();
  Call call(*pool, Call::Kind::Script);
  call.script =
      "create temporary table keel_check_writes (number integer) on commit drop;"
      "insert into keel_check_writes values (1)";
  call.is_check = true;
  const Result<> written = co_await attempt(call);
  if (!written && written.error().code() == Code::PermissionDenied) {
    state_->settings.cannot_write = false;
    co_await fail(Code::ResourceExhausted,
                  "a write has failed since the last check, because the server could not write; whether it can write "
                  "again is unknown, because the database user may not create the temporary table that the check "
                  "needs");
  }
  if (!written) co_await written.error().clone();
  state_->settings.cannot_write = false;
}

PoolStats Database::pool() const {
  const DatabaseStats now = stats();
  return {.connections = now.connections,
          .in_use = now.in_use,
          .waiting = now.waiting,
          .waits = now.waits,
          .wait_time = now.wait_time,
          .timeouts = now.timeouts,
          .connections_max = now.connections_max,
          .wait_max = options().wait_max,
          .age = now.age};
}

void Database::watch(Function<void()> on_change) {
  std::lock_guard lock(state_->mutex);
  KEEL_CHECK(state_->pools.empty(), "watch() must be called before a loop is attached");
  state_->settings.on_outage = std::move(on_change);
}

std::vector<metrics::GaugeFunction> Database::expose(metrics::Registry& registry) {
  return postgres::expose(*this, registry);
}

const DatabaseOptions& Database::options() const noexcept { return state_->settings.options; }
const std::string& Database::where() const noexcept { return state_->where; }

DatabaseStats Database::stats() const {
  DatabaseStats stats;
  std::int64_t wait_ns = 0;
  std::uint64_t oldest_ns = 0;
  std::lock_guard lock(state_->mutex);
  stats.connections_max = state_->pools.size() * static_cast<std::uint64_t>(options().connections);
  for (const State::Owned& owned : state_->pools) {
    const internal::PoolCounters& counters = std::as_const(*owned.pool).counters();
    stats.connections += counters.size.get();
    stats.in_use += counters.in_use.get();
    stats.waiting += counters.waiting.get();
    stats.waits += counters.waits.get();
    wait_ns += static_cast<std::int64_t>(counters.wait_ns.get());
    stats.timeouts += counters.timeouts.get();
    stats.refused += counters.refused.get();
    stats.connects += counters.connects.get();
    stats.connect_failures += counters.connect_failures.get();
    stats.lost += counters.lost.get();
    stats.retired += counters.retired.get();
    stats.reads += counters.reads.get();
    stats.writes += counters.writes.get();
    stats.groups += counters.groups.get();
    stats.repeated += counters.repeated.get();
    stats.failures += counters.failures.get();
    stats.cancels += counters.cancels.get();
    stats.prepared += counters.prepared.get();
    stats.transactions += counters.transactions.get();
    stats.expired += counters.expired.get();
    stats.disk_errors += counters.disk_errors.get();
    stats.checks_failed += counters.checks_failed.get();
    const std::uint64_t since_ns = counters.oldest_ns.get();
    if (since_ns != 0 && (oldest_ns == 0 || since_ns < oldest_ns)) oldest_ns = since_ns;
  }
  if (oldest_ns != 0) {
    stats.age = Host::current().now() - Instant() - Duration::nanoseconds(static_cast<std::int64_t>(oldest_ns));
  }
  stats.wait_time = Duration::nanoseconds(wait_ns);
  return stats;
}

}  // namespace keel::db::postgres
