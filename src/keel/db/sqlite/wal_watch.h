// keel/db/sqlite/wal_watch.h — moves the content of the write-ahead log (WAL) into the file after commits, and warns if
// the log becomes long nevertheless.
//
// When a commit of the connection leaves `checkpoint_pages` or more pages in the WAL, a passive checkpoint follows on
// the committing thread; it does not wait for readers or writers. After defer() the checkpoint runs only when that
// thread calls checkpoint_if_due(). Pages that readers may still need are kept, so that a snapshot held for a long time
// makes the WAL grow. When the WAL has more than 16 times `checkpoint_pages`, the process log (component db) gets a
// warning; when the WAL is short again, it gets an info entry. A long WAL has no other effect: reads and writes
// continue.
//
// Threads: that of the connection; the getters may be called on any.

#pragma once

#include <atomic>
#include <cstdint>

struct sqlite3;

namespace keel::db::sqlite {

class WalWatch {
 public:
  // The connection must outlive this object. If `checkpoint_pages` is 0, commits never move the WAL.
  WalWatch(sqlite3* handle, int checkpoint_pages) noexcept;
  WalWatch(const WalWatch&) = delete;
  WalWatch& operator=(const WalWatch&) = delete;

  static constexpr int long_factor = 16;

  // Call it for a connection on whose commits callers wait: a commit then returns before the checkpoint that it makes
  // due.
  void defer() noexcept { is_deferred_ = true; }
  // Call it on the connection's thread, outside of a transaction. An error of the checkpoint does not make commits
  // fail.
  void checkpoint_if_due() noexcept;

  // The number of pages in the WAL after the last commit of this connection.
  std::uint64_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }
  // Checkpoints that moved the whole WAL.
  std::uint64_t checkpoints() const noexcept { return checkpoints_.load(std::memory_order_relaxed); }

 private:
  static int on_commit(void* watch, sqlite3* handle, const char* database, int pages) noexcept;
  void note_length(int pages) noexcept;
  void checkpoint() noexcept;

  sqlite3* const handle_;
  const int checkpoint_pages_;
  std::atomic<std::uint64_t> pages_{0};
  std::atomic<std::uint64_t> checkpoints_{0};
  bool is_long_ = false;
  bool is_deferred_ = false;
  bool is_due_ = false;
};

}  // namespace keel::db::sqlite
