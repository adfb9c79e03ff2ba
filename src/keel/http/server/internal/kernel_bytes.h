// keel/http/server/internal/kernel_bytes.h — how much the kernel holds for the peers of a worker's connections.
//
// Internal to http. The kernel is asked connection by connection, some in each event-loop iteration, when somebody
// wants to know: no request pays for it.
//
// Lifetime: a part of its ServerWorker; after the last ask() the loop runs what was posted before this ends.
// Threads:  the worker; ask() any.

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

  // What was found last; has the loop look again.
  std::uint64_t ask() noexcept;
  // Looks at all connections now. On the worker.
  std::uint64_t look() noexcept;

 private:
  void sweep() noexcept;
  // Looks at up to `count` connections, which come last then.
  std::uint64_t look_at(std::uint64_t count) noexcept;

  ServerWorker& worker_;
  Member<Job, KernelBytes, &KernelBytes::sweep> job_{*this};
  std::atomic<bool> is_asked_ = false;  // Until a sweep has ended.
  std::atomic<std::uint64_t> found_ = 0;
  std::uint64_t bytes_ = 0;  // The sum of the current sweep.
  std::uint64_t left_ = 0;   // Connections that the current sweep has left; 0: no sweep.
};

}  // namespace keel::http
