// Executes file operations on threads, for an engine whose kernel interface has no asynchronous ones.
//
// Up to four threads, each started when an operation finds none idle, from the Host of the thread that submits.
//
// Threads: all calls on the engine's. A completed operation wakes the engine, which then collects it.
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

// The state of a FileOp, stored in its room. Threads of the pool write the last two fields, each of which is a separate
// byte.
struct FileProgress {
  bool is_pooled = false;  // A thread of the pool executes it.
  bool waits = false;      // It has not started.
  bool waits_for_lease = false;
};
inline FileProgress& progress_of(FileOp& op) noexcept { return op.room.as<FileProgress>(); }

class FilePool {
 public:
  explicit FilePool(SystemEngine& engine) noexcept : engine_(engine) {}
  ~FilePool();  // No operation may be pending.

  // Returns 0, or the errno with which no thread could be started; then `op` is not accepted.
  int submit(FileOp& op) noexcept;
  // True: `op` had not begun and will not.
  bool take_out(FileOp& op) noexcept;
  // Appends the completed operations, each with its result, to `to`.
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

// The buffer into which the kernel writes the status of a file, and the results of `op` from that buffer.
struct statx& statx_room(Status& op) noexcept;
void read_statx(Status& op) noexcept;
// The flags for open(2); opening a pipe does not wait.
int open_flags(const Open& op) noexcept;
// The arguments of openat2 for an Open beneath a folder, stored in its room.
open_how* make_open_how(Open& op) noexcept;
// Whether that call was rejected because another process has a lease on the file (fcntl(2)): from now on the open waits
// for the lease.
bool is_leased(Open& op, int result) noexcept;
// Makes the opened descriptor a normal, blocking one.
int opened(const Open& op, int fd) noexcept;

}  // namespace keel::io
