#include "keel/db/sqlite/wal_watch.h"

#include <sqlite3.h>

#include <utility>

#include "keel/observe/log.h"

namespace keel::db::sqlite {

WalWatch::WalWatch(sqlite3* handle, int checkpoint_pages) noexcept
    : handle_(handle), checkpoint_pages_(checkpoint_pages) {
  sqlite3_wal_hook(handle, &on_commit, this);
}

int WalWatch::on_commit(void* watch, sqlite3*, const char*, int pages) noexcept {
  auto& self = *static_cast<WalWatch*>(watch);
  self.pages_.store(static_cast<std::uint64_t>(pages), std::memory_order_relaxed);
  if (self.checkpoint_pages_ <= 0) return SQLITE_OK;
  self.note_length(pages);
  if (pages < self.checkpoint_pages_) return SQLITE_OK;
  self.is_due_ = true;
  if (!self.is_deferred_) self.checkpoint_if_due();
  return SQLITE_OK;
}

void WalWatch::checkpoint_if_due() noexcept {
  if (std::exchange(is_due_, false)) checkpoint();
}

void WalWatch::checkpoint() noexcept {
  int in_log = -1;
  int moved = -1;
  // The commit has succeeded, whatever the checkpoint returns.
  const int code = sqlite3_wal_checkpoint_v2(handle_, "main", SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
  if (code == SQLITE_OK && in_log >= 0 && in_log == moved) checkpoints_.fetch_add(1, std::memory_order_relaxed);
}

void WalWatch::note_length(int pages) noexcept {
  const bool is_long = pages >= checkpoint_pages_ * long_factor;
  if (is_long && !is_long_) {
    is_long_ = true;
    log::Logger("db").warn(
        "the write-ahead log is long: an open snapshot (of a stream, a backup, or a reader in another process) keeps "
        "it from being emptied",
        log::field("pages", pages));
  } else if (is_long_ && pages < checkpoint_pages_) {
    is_long_ = false;
    log::Logger("db").info("the write-ahead log is short again", log::field("pages", pages));
  }
}

}  // namespace keel::db::sqlite
