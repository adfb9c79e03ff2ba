// Files on io_uring: their operations are executed by the kernel, or by a few threads if the kernel lacks them.

#if KEEL_WITH_URING

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "keel/io/internal/parts.h"
#include "keel/io/internal/uring_engine.h"

namespace keel::io {
void UringEngine::submit_file(FileOp& op) noexcept {
  begin_file(op);
  progress_of(op).is_pooled = (file_kinds_ & bit(op.kind)) == 0;
  if (!progress_of(op).is_pooled) {
    arm_file(op);
    return;
  }
  submit_to_threads(op);
}

void UringEngine::arm_file(FileOp& op) noexcept {
  io_uring_sqe* sqe = entry();
  switch (op.kind) {
    case Kind::Open: {
      auto& open = static_cast<Open&>(op);
      if (open.beneath) {
        io_uring_prep_openat2(sqe, open.fd, open.path, make_open_how(open));
      } else {
        io_uring_prep_openat(sqe, AT_FDCWD, open.path, open_flags(open), open.permissions);
      }
      break;
    }
    case Kind::ReadAt: {
      auto& read = static_cast<ReadAt&>(op);
      const auto size = static_cast<unsigned>(std::min<std::size_t>(read.size, 1u << 30));
      io_uring_prep_read(sqe, op.fd, read.data, size, read.offset);
      break;
    }
    case Kind::WriteAt: {
      auto& write = static_cast<WriteAt&>(op);
      io_uring_prep_writev(sqe, op.fd, write.parts, write.part_count, write.offset);
      break;
    }
    case Kind::Sync:
      io_uring_prep_fsync(sqe, op.fd, static_cast<Sync&>(op).all ? 0 : IORING_FSYNC_DATASYNC);
      break;
    case Kind::Status: {
      auto& status = static_cast<Status&>(op);
      const bool by_path = status.path != nullptr;
      io_uring_prep_statx(sqe, by_path ? AT_FDCWD : op.fd, by_path ? status.path : "", AT_EMPTY_PATH, STATX_BASIC_STATS,
                          &statx_room(status));
      break;
    }
    case Kind::Rename:
      io_uring_prep_renameat(sqe, AT_FDCWD, static_cast<Rename&>(op).from, AT_FDCWD, static_cast<Rename&>(op).to, 0);
      break;
    default:
      io_uring_prep_unlinkat(sqe, AT_FDCWD, static_cast<Remove&>(op).path, 0);
  }
  arm(sqe, op);
}

int UringEngine::file_completed(FileOp& op, int result) noexcept {
  if (result == -EINTR) {
    // A cancellation interrupts the operation; after any other interruption, the operation is tried again.
    if (!op.cancelling) {
      arm_file(op);
      return 0;
    }
    result = -ECANCELED;
  }
  if (op.kind == Kind::WriteAt && result >= 0) {
    auto& write = static_cast<WriteAt&>(op);
    if (advance(write, static_cast<std::size_t>(result))) {
      result = total_of(write);
    } else if (result == 0) {
      result = -EIO;
    } else if (op.cancelling) {
      result = -ECANCELED;
    } else {
      arm_file(op);
      return 0;
    }
  }
  if (op.kind == Kind::Status && result == 0) read_statx(static_cast<Status&>(op));
  if (op.kind == Kind::Open) {
    if (result >= 0) {
      ++system_calls_;
      opened(static_cast<Open&>(op), result);
    } else if (!op.cancelling && is_leased(static_cast<Open&>(op), result)) {
      arm_file(op);
      return 0;
    }
  }
  finish(op, result);
  return 1;
}

}  // namespace keel::io

#endif
