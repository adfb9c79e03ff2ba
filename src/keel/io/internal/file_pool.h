// Executes file operations on threads, for an engine whose kernel interface has no asynchronous file operations.
//
// There are up to four threads. Each thread is started by the Host of the submitting thread, when an operation is
// submitted and no thread is idle.
//
// Threads: all calls on the engine's thread. A completed operation wakes the engine, which then collects the operation.
// Cost:    two context switches per operation.

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
  bool is_pooled = false;  // True: the operation is executed by a thread of the pool.
  bool waits = false;      // The operation has not begun.
  bool waits_for_lease = false;
};
inline FileProgress& progress_of(FileOp& op) noexcept { return op.room.as<FileProgress>(); }

class FilePool {
 public:
  explicit FilePool(SystemEngine& engine) noexcept : engine_(engine) {}
  ~FilePool();  // No operation may be pending.

  // Returns 0, or an errno if no thread could be started; `op` is then not accepted.
  int submit(FileOp& op) noexcept;
  // Withdraws `op`. True: `op` had not begun, and will not be executed.
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

// statx_room() is the buffer into which the kernel writes the status of a file; read_statx() sets the results of `op`
// from that buffer.
struct statx& statx_room(Status& op) noexcept;
void read_statx(Status& op) noexcept;
// The flags for open(2); with these flags, opening a pipe does not wait.
int open_flags(const Open& op) noexcept;
// Makes the arguments of openat2 for an Open beneath a folder, and stores these arguments in `op`.
open_how* make_open_how(Open& op) noexcept;
// Whether openat2 was rejected because another process has a lease on the file (fcntl(2)). The result is true at most
// once for each `op`: the caller then tries again, and that second attempt waits until the lease has ended.
bool is_leased(Open& op, int result) noexcept;
// Makes the opened descriptor a normal, blocking one.
int opened(const Open& op, int fd) noexcept;

}  // namespace keel::io
