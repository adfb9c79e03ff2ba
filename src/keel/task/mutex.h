// keel/task/mutex.h — a lock that one task at a time holds, also across awaits: for state of one loop that other tasks
// must not see half-changed.
//
//   Mutex writing;
//   Mutex::Lock lock = co_await writing.lock();                 // held until it is destroyed
//
// Between two awaits of a task, nothing else runs on the task's loop, so code without awaits needs no lock. Not
// recursive: a task that locks a mutex which it already holds waits for itself until it is stopped.
//
// Errors, threads, lifetime, cost: semaphore.h.

#pragma once

#include "keel/task/semaphore.h"

namespace keel {

class Mutex {
 public:
  using Lock = Semaphore::Permit;

  // Waits for the lock; waiting tasks get the lock in the order of their arrival.
  Semaphore::Acquire lock() noexcept { return one_.acquire(); }
  std::optional<Lock> try_lock() noexcept { return one_.try_acquire(); }
  bool is_locked() const noexcept { return one_.available() == 0; }

 private:
  Semaphore one_{1};
};

}  // namespace keel
