#include "keel/db/sqlite/backup.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "keel/db/sqlite/connection.h"

namespace keel::db::sqlite {
namespace {

constexpr int busy_wait_ms = 10;  // How long to wait before the next attempt if another connection holds a lock.

Result<> sync_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Error::from_errno("open", errno);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) return Error::from_errno("fsync", error);
  return {};
}

// Locks the file; creates it if it does not exist. A process that ends at the same time may remove the file after this
// process opened it, so the file is opened again if it is no longer at `path`.
Result<int> take_lock(const std::string& path) {
  while (true) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return Error::from_errno("open", errno).because(path);
    // Other errors are ignored, because some file systems have no locks.
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd);
      return fail(Code::Unavailable, "another copy to this target is being made");
    }
    struct stat mine{}, named{};
    if (::fstat(fd, &mine) == 0 && ::stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino) return fd;
    ::close(fd);
  }
}

}  // namespace

Backup::Backup(const BackupOptions& options)
    : options_(options), part_(options.vfs == nullptr ? options.target + ".part" : options.target) {}

Result<std::unique_ptr<Backup>> Backup::begin(const BackupOptions& options) {
  std::unique_ptr<Backup> backup(new Backup(options));
  if (Result<> opened = backup->open(); !opened) {
    return std::move(opened).error().because("backup to '" + options.target + '\'');
  }
  return backup;
}

Backup::~Backup() { close(); }

Result<> Backup::open() {
  if (options_.target.empty()) return fail(Code::InvalidArgument, "the copy needs a file name");
  std::error_code none;
  if (options_.vfs == nullptr) {
    if (!std::filesystem::exists(options_.source, none)) {
      return Error::text(Code::NotFound, options_.source + ": there is no such database");
    }
    if (options_.target == options_.source || std::filesystem::equivalent(options_.source, options_.target, none)) {
      return fail(Code::InvalidArgument, "the copy would replace the database itself");
    }
  }
  KEEL_TRY(source_, Connection::open({.path = options_.source, .access = Access::ReadOnly, .vfs = options_.vfs}));
  // The transaction stays open, so that all steps see the same data as the first step.
  KEEL_TRY_VOID(source_->run_script("begin; select count(*) from sqlite_schema"));

  if (options_.vfs == nullptr) {
    // target.part itself is not locked, because on NFS a lock on target.part would conflict with SQLite's own locks.
    KEEL_TRY(lock_, take_lock(lock_path()));
    const int fd = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return Error::from_errno("open", errno).because(part_);
    ::fchmod(fd, 0600);
    ::close(fd);
  }
  is_made_ = true;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  int code = sqlite3_open_v2(part_.c_str(), &copy_, flags, options_.vfs);
  // The copy needs no journal, because a copy that is not complete is discarded.
  if (code == SQLITE_OK) {
    code = sqlite3_exec(copy_, "pragma journal_mode=off; pragma synchronous=full", nullptr, nullptr, nullptr);
  }
  if (code != SQLITE_OK) return error_of(copy_, code);
  sqlite3_busy_timeout(copy_, busy_wait_ms);
  backup_ = sqlite3_backup_init(copy_, "main", source_->handle(), "main");
  if (backup_ == nullptr) return error_of(copy_, sqlite3_errcode(copy_));
  return {};
}

Result<bool> Backup::step() {
  const int code = sqlite3_backup_step(backup_, options_.pages);
  pages_ = sqlite3_backup_pagecount(backup_);
  copied_ = pages_ - sqlite3_backup_remaining(backup_);
  const int kind = code & 0xff;
  if (kind == SQLITE_OK || kind == SQLITE_BUSY || kind == SQLITE_LOCKED) return false;
  Result<> done;
  if (code == SQLITE_DONE) {
    done = finish();
  } else {
    // sqlite3_backup_finish() ends the copy, and sets the error message.
    sqlite3_backup_finish(std::exchange(backup_, nullptr));
    done = error_of(copy_, code);
  }
  if (done) return true;
  close();
  return std::move(done).error().because("backup to '" + options_.target + '\'');
}

Result<> Backup::finish() {
  if (const int code = sqlite3_backup_finish(std::exchange(backup_, nullptr)); code != SQLITE_OK) {
    return error_of(copy_, code);
  }
  if (const int code = sqlite3_close(copy_); code != SQLITE_OK) return error_of(copy_, code);
  copy_ = nullptr;
  if (check_ != nullptr) KEEL_TRY_VOID(check_(part_));
  if (options_.vfs == nullptr) {
    if (std::rename(part_.c_str(), options_.target.c_str()) != 0) return Error::from_errno("rename", errno);
    KEEL_TRY_VOID(sync_folder_of(options_.target));
  }
  is_made_ = false;
  close();
  return {};
}

void Backup::close() noexcept {
  if (backup_ != nullptr) sqlite3_backup_finish(std::exchange(backup_, nullptr));
  if (copy_ != nullptr) sqlite3_close_v2(std::exchange(copy_, nullptr));
  source_.reset();
  if (std::exchange(is_made_, false) && options_.vfs == nullptr) {
    // Removes target.part, and the files that the check may leave behind.
    for (const char* const suffix : {"", "-wal", "-shm"}) ::unlink((part_ + suffix).c_str());
  }
  if (lock_ < 0) return;
  ::unlink(lock_path().c_str());
  ::close(std::exchange(lock_, -1));
}

}  // namespace keel::db::sqlite
