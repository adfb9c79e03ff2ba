#include "keel/io/internal/file_pool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>

#include "keel/base/check.h"
#include "keel/io/internal/parts.h"
#include "keel/io/internal/system_engine.h"

namespace keel::io {
namespace {

using Statx = struct statx;

constexpr std::size_t threads_max = 4;
constexpr std::size_t file_read_bytes_max = std::size_t{1} << 30;

template <class F>
auto uninterrupted(F call) noexcept {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

int write_all(WriteAt& op) noexcept {
  for (;;) {
    const ssize_t written = uninterrupted(
        [&] { return pwritev(op.fd, op.parts, static_cast<int>(op.part_count), static_cast<off_t>(op.offset)); });
    if (written < 0) return -errno;
    if (advance(op, static_cast<std::size_t>(written))) return total_of(op);
    if (written == 0) return -EIO;
  }
}

int status_of(Status& op) noexcept {
  Statx* const found = &statx_room(op);
  const int fd = op.path != nullptr ? AT_FDCWD : op.fd;
  const char* const path = op.path != nullptr ? op.path : "";
  if (statx(fd, path, AT_EMPTY_PATH, STATX_BASIC_STATS, found) != 0) return -errno;
  read_statx(op);
  return 0;
}

long call_open(Open& op) noexcept {
  if (!op.beneath) return ::open(op.path, open_flags(op), op.permissions);
  open_how* const how = make_open_how(op);
  return syscall(SYS_openat2, op.fd, op.path, how, sizeof *how);
}

int carry_out(FileOp& op) noexcept {
  const auto result_of = [](auto result) { return result < 0 ? -errno : static_cast<int>(result); };
  switch (op.kind) {
    case Kind::Open: {
      auto& open = static_cast<Open&>(op);
      for (;;) {
        const int fd = static_cast<int>(uninterrupted([&] { return call_open(open); }));
        if (fd >= 0) return opened(open, fd);
        if (!is_leased(open, -errno)) return -errno;
      }
    }
    case Kind::ReadAt: {
      auto& read = static_cast<ReadAt&>(op);
      const std::size_t size = std::min(read.size, file_read_bytes_max);
      return result_of(uninterrupted([&] { return pread(op.fd, read.data, size, static_cast<off_t>(read.offset)); }));
    }
    case Kind::WriteAt:
      return write_all(static_cast<WriteAt&>(op));
    case Kind::Sync:
      return result_of(static_cast<Sync&>(op).all ? fsync(op.fd) : fdatasync(op.fd));
    case Kind::Status:
      return status_of(static_cast<Status&>(op));
    case Kind::Truncate: {
      auto& truncate = static_cast<Truncate&>(op);
      return result_of(uninterrupted([&] { return ftruncate(op.fd, static_cast<off_t>(truncate.size)); }));
    }
    case Kind::Rename: {
      auto& rename = static_cast<Rename&>(op);
      return result_of(::rename(rename.from, rename.to));
    }
    case Kind::Remove:
      return result_of(::unlink(static_cast<Remove&>(op).path));
    default:
      KEEL_CHECK(false, "only file operations can be executed by the file pool");
      return -EINVAL;
  }
}

}  // namespace

// Without O_NONBLOCK, opening a pipe would block the thread until the other end of the pipe is opened.
int open_flags(const Open& op) noexcept {
  return op.flags | O_CLOEXEC | (op.room.as<FileProgress>().waits_for_lease ? 0 : O_NONBLOCK);
}

open_how* make_open_how(Open& op) noexcept {
  auto& how = op.how_room.make<open_how>();
  how.flags = static_cast<std::uint64_t>(open_flags(op));
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  if ((op.flags & O_NOFOLLOW) != 0) how.resolve |= RESOLVE_NO_SYMLINKS;
  return &how;
}

bool is_leased(Open& op, int result) noexcept {
  if (result != -EAGAIN || progress_of(op).waits_for_lease) return false;
  progress_of(op).waits_for_lease = true;
  return true;
}

// With O_NONBLOCK, io_uring would reject a read of a page that is not in memory, instead of waiting for the page.
int opened(const Open& op, int fd) noexcept {
  fcntl(fd, F_SETFL, op.flags);  // io_uring checks the flags that are set on the open file.
  return fd;
}

struct statx& statx_room(Status& op) noexcept { return op.result_room.make<Statx>(); }

void read_statx(Status& op) noexcept {
  const auto& found = op.result_room.as<Statx>();
  op.size = found.stx_size;
  op.modified_ns = found.stx_mtime.tv_sec * 1'000'000'000 + found.stx_mtime.tv_nsec;
  op.mode = found.stx_mode;
}

FilePool::~FilePool() {
  {
    const std::lock_guard lock(mutex_);
    KEEL_CHECK(waiting_.empty() && ended_.empty(), "an engine can be destroyed only when no operation is pending");
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread->join();
}

int FilePool::submit(FileOp& op) noexcept {
  const std::lock_guard lock(mutex_);
  if (idle_ <= queued_ && threads_.size() < threads_max) {
    try {
      char name[16];
      std::snprintf(name, sizeof name, "file-%zu", threads_.size());
      threads_.reserve(threads_max);
      threads_.push_back(Host::current().start_thread(name, [this] { work(); }));
    } catch (const std::system_error& error) {
      if (threads_.empty()) return error.code().value();
    } catch (const std::bad_alloc&) {
      if (threads_.empty()) return ENOMEM;
    }
  }
  progress_of(op).waits = true;
  waiting_.push_back(op);
  ++queued_;
  wake_.notify_one();
  return 0;
}

bool FilePool::take_out(FileOp& op) noexcept {
  const std::lock_guard lock(mutex_);
  if (!progress_of(op).waits) return false;
  progress_of(op).waits = false;
  op.unlink();
  --queued_;
  return true;
}

void FilePool::collect(List<Op>& to) noexcept {
  const std::lock_guard lock(mutex_);
  to.splice_back(ended_);
}

void FilePool::work() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    auto& op = static_cast<FileOp&>(*waiting_.pop_front());
    --queued_;
    progress_of(op).waits = false;
    lock.unlock();
    const int result = carry_out(op);
    lock.lock();
    op.result = result;
    ended_.push_back(op);
    engine_.wake();
  }
}

}  // namespace keel::io
