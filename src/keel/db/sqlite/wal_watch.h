// keel/db/sqlite/wal_watch.h — moves what commits leave in the write-ahead log (WAL) into the file, and says when the
// log becomes long all the same.
//
// A commit of the connection that leaves `checkpoint_pages` or more in the log is followed by a passive checkpoint: on
// the thread that commits, without waiting for anybody; or, after defer(), when that thread calls checkpoint_if_due().
// Readers keep what they may still read, so a snapshot that is
// held for long keeps the log growing. Above 16 times as many pages the log of the process (db) has a line at level
// warn, and one at info when it is short again. Nothing else is done about it: reads and writes go on.
//
// Threads: that of the connection; the getters on any.

#pragma once

#include <atomic>
#include <cstdint>

struct sqlite3;

namespace keel::db::sqlite {

class WalWatch {
 public:
  // Of a connection that outlives it. 0 pages: the log is never moved by a commit.
  WalWatch(sqlite3* handle, int checkpoint_pages) noexcept;
  WalWatch(const WalWatch&) = delete;
  WalWatch& operator=(const WalWatch&) = delete;

  static constexpr int long_factor = 16;

  // For a connection whose commits somebody waits for: a commit returns before the checkpoint that it makes due.
  void defer() noexcept { is_deferred_ = true; }
  // On the connection's thread, outside of a transaction. An error of the checkpoint is no error of the commits.
  void checkpoint_if_due() noexcept;

  // In the log after the last commit of this connection.
  std::uint64_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }
  // That moved all that was there.
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
