// File operations by threads, for an engine whose kernel interface has no asynchronous ones.
//
// Up to four threads, each started when an operation finds none idle, from the Host of the thread that submits.
//
// Threads: all calls on the engine's. What ends wakes the engine, which then collects.
// Cost:    two context switches an operation.

#pragma once

#include <linux/openat2.h>
#include <sys/stat.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "keel/base/host.h"
#include "keel/io/engine.h"

namespace keel::io {

class SystemEngine;

// Of a FileOp, in its room. Threads of the pool write the latter two, each a byte of its own.
struct FileProgress {
  bool is_pooled = false;  // A thread of the pool carries it out.
  bool waits = false;      // It has not begun.
  bool waits_for_lease = false;
};
inline FileProgress& progress_of(FileOp& op) noexcept { return op.room.as<FileProgress>(); }

class FilePool {
 public:
  explicit FilePool(SystemEngine& engine) noexcept : engine_(engine) {}
  ~FilePool();  // Nothing is pending.

  // 0, or the errno with which no thread could be started; then it is not taken.
  int submit(FileOp& op) noexcept;
  // True: `op` had not begun and will not.
  bool take_out(FileOp& op) noexcept;
  // Moves what has ended, each with its result, behind `to`.
  void collect(List<Op>& to) noexcept;

 private:
  void work() noexcept;

  SystemEngine& engine_;
  std::mutex mutex_;
  std::condition_variable wake_;
  List<Op> waiting_;
  List<Op> ended_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Thread>> threads_;
};

// Where the kernel is to put what it knows of a file, and the answers of `op` from there.
struct statx& statx_room(Status& op) noexcept;
void read_statx(Status& op) noexcept;
// With which flags the kernel opens: a pipe is not waited for.
int open_flags(const Open& op) noexcept;
// What openat2 is asked for an Open beneath a folder, in its room.
open_how* make_open_how(Open& op) noexcept;
// Whether that was rejected because another process has a lease on the file (fcntl(2)): from now on it is waited for.
bool is_leased(Open& op, int result) noexcept;
// The descriptor that it opened, which from now on waits as others do.
int opened(const Open& op, int fd) noexcept;

}  // namespace keel::io
