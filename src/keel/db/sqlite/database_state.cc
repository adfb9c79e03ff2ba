// The part of Database that manages its State, and its metrics.

#include <utility>

#include "keel/db/sqlite/internal/state.h"

namespace keel::db::sqlite {

bool Database::State::post_read(Job& job) noexcept {
  if (pool != nullptr) return pool->try_post(job);
  std::lock_guard lock(mutex);
  if (executor_reads >= options.pool_queued_max) {
    ++executor_refused;
    return false;
  }
  ++executor_reads;
  options.executor->post(job);
  return true;
}

void Database::State::watch_held() noexcept {
  if (options.held_warning <= Duration()) return;
  const Duration next = read_transactions.warn_of_held(options.held_warning);
  if (next <= Duration() || pool == nullptr) return;
  std::lock_guard lock(mutex);
  if (!is_held_watched) is_held_watched = pool->offer_after(held_job, next);
}

void Database::State::watch_again() noexcept {
  if (Executor::discards()) return;
  {
    std::lock_guard lock(mutex);
    is_held_watched = false;
  }
  watch_held();
}

Result<Reader*> Database::State::reader_of(io::Loop* loop) {
  if (closed.load(std::memory_order_acquire)) return fail(Code::Unavailable, "the database is closed");
  const void* owner = loop != nullptr ? static_cast<const void*>(loop) : &internal::recent;
  {
    std::lock_guard lock(mutex);
    for (OwnedReader& owned : readers) {
      if (owned.owner != owner) continue;
      internal::recent = {number, owner, owned.reader.get()};
      return owned.reader.get();
    }
  }
  KEEL_TRY(std::unique_ptr<Connection> connection, Connection::open(connection_options(Access::ReadOnly)));
  auto made = std::make_unique<Reader>(std::move(connection), *writer, loop, options.loop_steps_max,
                                       options.loop_rows_bytes_max, options.buffer_bytes);
  Reader* reader = made.get();
  std::lock_guard lock(mutex);
  readers.push_back({owner, std::move(made)});
  internal::recent = {number, owner, reader};
  return reader;
}

void Database::watch(Function<void()> on_change) { state_->writer->watch(std::move(on_change)); }

PoolStats Database::pool() const {
  const DatabaseStats now = stats();
  PoolStats pool;
  std::lock_guard lock(state_->mutex);
  pool.connections = state_->readers.size() + state_->pool_opened + 1;
  pool.in_use = state_->pool_opened - state_->pool_connections.size() + (state_->writer->is_idle() ? 0 : 1);
  pool.waiting = now.pool_queued + now.writer.queued;
  pool.waits = state_->pool_waits + now.writer.waits;
  pool.wait_time = state_->pool_wait_time + now.writer.wait_time;
  pool.timeouts = now.writer.late;
  pool.wait_max = state_->options.busy_timeout;
  pool.age = Host::current().now() - state_->opened;
  return pool;
}

DatabaseStats Database::stats() const {
  DatabaseStats stats;
  stats.read_transactions = state_->read_transactions.count();
  stats.read_transaction_age = state_->read_transactions.age();
  {
    std::lock_guard lock(state_->mutex);
    stats.pool_reads = state_->pool_reads;
    stats.backups = state_->backups;
    stats.pool_queued = state_->executor_reads;
    stats.pool_refused = state_->executor_refused;
    stats.readers = static_cast<int>(state_->readers.size());
    for (const State::OwnedReader& owned : state_->readers) {
      stats.loop_reads += owned.reader->reads.get();
      stats.budget_exceeded += owned.reader->budget_exceeded.get();
      stats.known_long += owned.reader->known_long.get();
      stats.snapshots += owned.reader->snapshots.get();
      stats.snapshots_renewed += owned.reader->snapshots_renewed.get();
    }
  }
  if (state_->pool != nullptr) {
    stats.pool_queued = state_->pool->queued();
    stats.pool_refused = state_->pool->refused();
  }
  stats.writer = state_->writer->stats();
  return stats;
}

bool Database::is_idle() const {
  if (!state_->writer->is_idle()) return false;
  if (state_->pool != nullptr) return state_->pool->queued() == 0 && state_->pool->running() == 0;
  std::lock_guard lock(state_->mutex);
  return state_->executor_reads == 0;
}

}  // namespace keel::db::sqlite
