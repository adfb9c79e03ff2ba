// keel/db/postgres/internal/state.h — the state of a Database: its settings, and a pool for each loop.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "keel/db/postgres/database.h"
#include "keel/db/postgres/internal/pool.h"
#include "keel/exec/thread_pool.h"
#include "keel/io/loop.h"

namespace keel::db::postgres {
namespace internal {

inline std::atomic<std::uint64_t> databases_made{0};

// The pool that this thread used last. Each database has a number, and numbers are never reused.
struct RecentPool {
  std::uint64_t database = 0;
  const io::Loop* loop = nullptr;
  Pool* pool = nullptr;
};
inline constinit thread_local RecentPool recent_pool;

}  // namespace internal

struct Database::State {
  struct Owned {
    const io::Loop* loop;
    std::unique_ptr<internal::Pool> pool;
  };

  // Returns the pool of the calling thread's loop; the first call creates the pool.
  Result<internal::Pool*> pool() {
    io::Loop* const loop = io::Loop::current();
    if (internal::recent_pool.database == number && internal::recent_pool.loop == loop && loop != nullptr) [[likely]]
      return internal::recent_pool.pool;
    if (loop == nullptr) {
      return fail(Code::FailedPrecondition,
                  "only a task on a worker can query PostgreSQL: return to the worker with resume_on() first");
    }
    return pool_of(*loop);
  }
  Result<internal::Pool*> pool_of(io::Loop& loop);
  // Returns null if the loop has no pool.
  internal::Pool* known(const io::Loop* loop) {
    std::lock_guard lock(mutex);
    for (const Owned& owned : pools) {
      if (owned.loop == loop) return owned.pool.get();
    }
    return nullptr;
  }

  internal::Settings settings;
  std::string where;
  const std::uint64_t number = ++internal::databases_made;
  std::atomic<std::uint64_t> transactions{0};
  std::atomic<bool> is_closing{false};
  std::unique_ptr<ThreadPool> lookups;
  mutable std::mutex mutex;
  std::vector<Owned> pools;
};

}  // namespace keel::db::postgres
