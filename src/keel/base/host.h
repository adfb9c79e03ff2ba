// keel/base/host.h — what a thread asks the outside world: the time, randomness, timers and new threads.
//
// Nothing in Keel asks the system for these directly. A worker's loop, the simulation and the plain system each are a
// Host, and each thread has a current one; that is what makes a simulated run repeat exactly.
//
// Threads: a Host is used on the thread it is current on; start_thread may be called on any.
// Cost:    now() on a worker is a load (the loop reads the clock once a turn).

#pragma once

#include <cstdint>
#include <memory>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/base/wheel.h"

namespace keel {

// A running thread; joins when destroyed.
class Thread {
 public:
  virtual ~Thread() = default;
  virtual void join() = 0;
};

class Host {
 public:
  virtual ~Host() = default;

  // Monotonic time. On a worker: as of the beginning of this turn of the loop.
  virtual Instant now() noexcept = 0;
  // As of this call, on a worker too: a look at the clock, some 20 ns.
  virtual Instant precise_now() noexcept { return now(); }
  // Nanoseconds since 1970-01-01T00:00:00Z, for people: logs, the Date header.
  virtual std::int64_t wall_ns() noexcept = 0;
  // 64 random bits; from the kernel outside simulation, from the seed inside.
  virtual std::uint64_t random() noexcept = 0;
  // Timers fire on this thread. Only hosts with a loop have them: elsewhere a bug.
  virtual void start_timer(Timer& timer, Instant at) noexcept = 0;
  virtual void stop_timer(Timer& timer) noexcept = 0;
  // Runs `body` on a new thread named `name` (15 characters are shown by the system).
  virtual std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) = 0;

  // Blocks the calling thread. Only the system host does; on a worker it is a bug (task/timing.h has sleep_for).
  virtual void sleep(Duration duration) noexcept;

  // The calling thread's host: what set_current installed, else the system host.
  static Host& current() noexcept;
  // Installs `host` (null: the system host) for the calling thread; returns what was there.
  static Host* set_current(Host* host) noexcept;
  // The plain system: clock_gettime, getrandom, std::thread; no timers.
  static Host& system() noexcept;
};

}  // namespace keel
