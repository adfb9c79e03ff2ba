// keel/http/server/internal/kernel_bytes.h — counts the bytes that the kernel holds for the peers of a worker's
// connections.
//
// Internal to http. On request, the worker asks the kernel about each connection. The worker asks about only a few
// connections in each event-loop iteration, so that no request is delayed for long.
//
// Lifetime: a part of its ServerWorker; after the last call of ask(), the loop must run the posted job before this
//           object is destroyed.
// Threads:  the worker; ask() may be called on any thread.

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

  // Returns the result of the last complete count, and makes the loop count again.
  std::uint64_t ask() noexcept;
  // Counts all connections immediately; call this function on the worker's thread.
  std::uint64_t look() noexcept;

 private:
  void sweep() noexcept;
  // Asks the kernel about at most `count` connections, and moves these connections to the end of the list; returns the
  // sum of their bytes.
  std::uint64_t look_at(std::uint64_t count) noexcept;

  ServerWorker& worker_;
  Member<Job, KernelBytes, &KernelBytes::sweep> job_{*this};
  std::atomic<bool> is_asked_ = false;  // True from a call of ask() until the sweep that it started has ended.
  std::atomic<std::uint64_t> found_ = 0;
  std::uint64_t bytes_ = 0;  // The sum of the bytes that the current sweep has counted so far.
  // The number of connections that the current sweep still has to count; 0: no sweep is in progress.
  std::uint64_t left_ = 0;
};

}  // namespace keel::http
