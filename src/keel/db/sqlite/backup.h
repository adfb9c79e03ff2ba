// keel/db/sqlite/backup.h — copies an SQLite database while other connections write to it.
//
//   KEEL_TRY(auto backup, Backup::begin({.source = "data/app.db", .target = "/backups/app.db"}));
//   for (bool is_done = false; !is_done;) KEEL_TRY(is_done, backup->step());
//
// The copy has the state of one moment: begin() takes a snapshot and keeps it, so writers can continue, and the copy
// never has to restart. Until the copy is complete, the WAL of the source cannot be emptied, and grows with each write.
// The copy is made next to the target, as target.part, and is renamed when it is completely on the disk, so the target
// is always either the whole copy or the previous file. The copy has mode 0600. While the copy is made,
// target.part.lock is locked, so that another backup to the same target fails instead of writing to the same
// target.part. Database::backup() (db/database.h) runs the steps on the database's pool.
//
// Errors:   those of sqlite/connection.h: NotFound: the source does not exist. InvalidArgument: the target is the
//           source. ResourceExhausted: no room. Unavailable: the source cannot be read, the target cannot be written,
//           or another backup to the same target is in progress. After an error, target.part is removed.
// Threads:  one at a time; each step may run on a different thread.
// Cost:     each step reads and writes `pages` pages; the last step also syncs. Blocks.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "keel/base/result.h"

struct sqlite3;
struct sqlite3_backup;

namespace keel::db::sqlite {

class Connection;

// The source and target of a copy, and the size of each step.
struct BackupOptions {
  std::string source;
  std::string target;
  int pages = 256;  // The number of pages that each step copies: 1 MiB if a page has the usual 4 KiB.
  // For tests: the name of a registered VFS. If a VFS is named, the copy is written directly to `target`, without
  // target.part.
  const char* vfs = nullptr;
};

class Backup {
 public:
  static Result<std::unique_ptr<Backup>> begin(const BackupOptions& options);
  ~Backup();
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;

  // `check` is called with the path of the complete, closed copy before the copy is renamed; an error of `check`
  // becomes the error of the last step.
  using Check = Result<> (*)(const std::string& part);
  void check_with(Check check) noexcept { check_ = check; }

  // Returns true when the copy is complete. After step() has returned true, or after an error, step() must not be
  // called again.
  Result<bool> step();

  // The number of pages in the snapshot, which is known after the first step; and the number of pages that have been
  // copied.
  std::int64_t pages() const noexcept { return pages_; }
  std::int64_t copied() const noexcept { return copied_; }

 private:
  explicit Backup(const BackupOptions& options);
  Result<> open();
  Result<> finish();
  void close() noexcept;
  std::string lock_path() const { return part_ + ".lock"; }

  const BackupOptions options_;
  const std::string part_;
  std::unique_ptr<Connection> source_;
  sqlite3* copy_ = nullptr;
  sqlite3_backup* backup_ = nullptr;
  std::int64_t pages_ = 0;
  std::int64_t copied_ = 0;
  Check check_ = nullptr;
  bool is_made_ = false;  // Whether target.part exists and must be removed.
  int lock_ = -1;
};

}  // namespace keel::db::sqlite
