// keel/task/mutex.h — one at a time, across awaits: for state of one loop that must not be seen half-changed.
//
//   Mutex writing;
//   Mutex::Lock lock = co_await writing.lock();                 // held until it is destroyed
//
// Between two awaits nothing else runs on a loop, and nothing needs to be locked there. Not recursive: a task that
// locks a mutex which it already holds waits for itself until it is stopped.
//
// Errors, threads, lifetime, cost: semaphore.h.

#pragma once

#include "keel/task/semaphore.h"

namespace keel {

class Mutex {
 public:
  using Lock = Semaphore::Permit;

  // Waits in the order of arrival.
  Semaphore::Acquire lock() noexcept { return one_.acquire(); }
  std::optional<Lock> try_lock() noexcept { return one_.try_acquire(); }
  bool is_locked() const noexcept { return one_.available() == 0; }

 private:
  Semaphore one_{1};
};

}  // namespace keel
