// keel/db/sqlite/wal_watch.h — moves the pages of the write-ahead log (WAL) into the file after commits, and warns if
// the log becomes long nevertheless.
//
// If a commit of the connection leaves `checkpoint_pages` or more pages in the WAL, the committing thread then runs a
// passive checkpoint, which does not wait for readers or writers. After defer(), the checkpoint runs only when the
// committing thread calls checkpoint_if_due(). Pages that readers may still need stay in the WAL, so a snapshot that is
// held for a long time makes the WAL grow. When the WAL has more than 16 times `checkpoint_pages` pages, a warning is
// logged (component db); when the WAL is short again, that is logged at level info. A long WAL has no other effect:
// reads and writes continue.
//
// Threads: as for the connection; the getters may be called on any thread.

#pragma once

#include <atomic>
#include <cstdint>

struct sqlite3;

namespace keel::db::sqlite {

class WalWatch {
 public:
  // The connection must outlive this object. If `checkpoint_pages` is 0, commits never cause a checkpoint.
  WalWatch(sqlite3* handle, int checkpoint_pages) noexcept;
  WalWatch(const WalWatch&) = delete;
  WalWatch& operator=(const WalWatch&) = delete;

  static constexpr int long_factor = 16;

  // Call defer() if other tasks wait for the commits of this connection: a commit then returns before the due
  // checkpoint runs.
  void defer() noexcept { is_deferred_ = true; }
  // Runs the checkpoint if one is due; call it on the connection's thread, outside of a transaction. If the checkpoint
  // fails, commits still succeed.
  void checkpoint_if_due() noexcept;

  // How many pages were in the WAL after the last commit of this connection.
  std::uint64_t pages() const noexcept { return pages_.load(std::memory_order_relaxed); }
  // How many checkpoints have moved all pages of the WAL.
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
