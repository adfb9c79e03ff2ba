// keel/db/sqlite/internal/state.h — the members of a Database: its writer, the readers of loops, and the connections of
// the pool.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "keel/base/host.h"
#include "keel/base/member.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/sqlite/read_transactions.h"
#include "keel/db/sqlite/reader.h"
#include "keel/exec/thread_pool.h"
#include "keel/io/loop.h"

namespace keel::db::sqlite {
namespace internal {

inline std::atomic<std::uint64_t> databases_opened{0};

// The reader that this thread used last. Each database has a number, and numbers are never reused.
struct Recent {
  std::uint64_t database = 0;
  const void* owner = nullptr;
  Reader* reader = nullptr;
};
inline constinit thread_local Recent recent;

}  // namespace internal

struct Database::State {
  struct OwnedReader {
    const void* owner;  // The address of the loop; if the thread has no loop, the address of a thread-local variable.
    std::unique_ptr<Reader> reader;
  };

  void watch_again() noexcept;
  explicit State(const DatabaseOptions& o) : options(o), number(++internal::databases_opened) {}

  ConnectionOptions connection_options(Access access) const {
    return {.path = options.path,
            .access = access,
            .synchronous = options.synchronous,
            .busy_timeout = options.busy_timeout,
            .cache_kib = options.cache_kib,
            .statements_max = options.statements_max,
            .checkpoint_pages = options.checkpoint_pages,
            .vfs = options.vfs};
  }

  Result<Reader*> reader_of(io::Loop* loop);
  // Returns the reader of the calling thread's loop; the first call creates the reader.
  Result<Reader*> reader() {
    io::Loop* loop = io::Loop::current();
    const void* owner = loop != nullptr ? static_cast<const void*>(loop) : &internal::recent;
    if (internal::recent.database == number && internal::recent.owner == owner) [[likely]]
      return internal::recent.reader;
    return reader_of(loop);
  }

  bool is_pool_busy() const noexcept {
    if (pool != nullptr) return pool->running() >= std::max(options.pool_size, 1);
    std::lock_guard lock(mutex);
    return executor_reads != 0;
  }
  // Logs the read-only transactions that have been open for longer than held_warning. The check is repeated on the pool
  // when the next transaction has been open for longer than held_warning. On an executor, which may outlive this
  // object, the check is not repeated.
  void watch_held() noexcept;
  // Passes a long read to the threads or the executor. Returns false if too many reads are waiting.
  bool post_read(Job& job) noexcept;

  const DatabaseOptions options;
  const std::uint64_t number;
  std::unique_ptr<Writer> writer;
  std::unique_ptr<ThreadPool> pool;  // Null if an executor is used instead of the pool.
  std::atomic<bool> closed{false};

  mutable std::mutex mutex;
  std::vector<OwnedReader> readers;
  std::vector<std::unique_ptr<Connection>> pool_connections;  // The free connections.
  ReadTransactions read_transactions;
  Member<Job, State, &State::watch_again> held_job{*this};
  bool is_held_watched = false;  // Whether the job has been posted to the pool.
  const Instant opened = Host::current().now();
  std::uint64_t pool_opened = 0;  // The number of the pool's connections, both those in use and those that are free.
  std::uint64_t pool_waits = 0;   // Reads that found all threads of the pool busy.
  Duration pool_wait_time;        // The total time for which reads have waited for a thread of the pool.
  std::uint64_t pool_reads = 0;
  std::uint64_t backups = 0;
  std::size_t executor_reads = 0;  // Reads that were posted to the executor and have not ended.
  std::uint64_t executor_refused = 0;
};

}  // namespace keel::db::sqlite
