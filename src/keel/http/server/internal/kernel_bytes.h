// keel/http/server/internal/kernel_bytes.h — the number of bytes that the kernel holds for the peers of a worker's
// connections.
//
// Internal to http. On demand, the worker asks the kernel about each connection, a few in each event-loop iteration, so
// that no request pays for it.
//
// Lifetime: a part of its ServerWorker; after the last ask(), the loop has to run the posted job before this object is
//           destroyed.
// Threads:  the worker; ask(): any.

#pragma once

#include <atomic>
#include <cstdint>

#include "keel/base/member.h"
#include "keel/exec/executor.h"

namespace keel::http {

class ServerWorker;

class KernelBytes {
 public:
  explicit KernelBytes(ServerWorker& worker) noexcept : worker_(worker) {}

  // Returns the last result, and makes the loop count again.
  std::uint64_t ask() noexcept;
  // Counts all connections now. Call it on the worker.
  std::uint64_t look() noexcept;

 private:
  void sweep() noexcept;
  // Counts up to `count` connections, and moves them to the end of the list.
  std::uint64_t look_at(std::uint64_t count) noexcept;

  ServerWorker& worker_;
  Member<Job, KernelBytes, &KernelBytes::sweep> job_{*this};
  std::atomic<bool> is_asked_ = false;  // True from a call of ask() until the sweep has ended.
  std::atomic<std::uint64_t> found_ = 0;
  std::uint64_t bytes_ = 0;  // The sum over the connections that the current sweep has counted so far.
  std::uint64_t left_ = 0;   // Connections that the current sweep still has to count; 0: no sweep.
};

}  // namespace keel::http
