// keel/base/host.h — the interface of a thread to the outside world: the time, randomness, timers and new threads.
//
// Code in Keel never asks the system for these directly. A worker's loop, the simulation and the plain system each are
// a Host, and each thread has a current one; that is what makes a simulated run repeat exactly.
//
// Threads: a Host is used on the thread it is current on; start_thread may be called on any.
// Cost:    now() on a worker is a load (the loop reads the clock once in each iteration).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

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

  // Monotonic time. On a worker it is the time at the beginning of this event-loop iteration.
  virtual Instant now() noexcept = 0;
  // The time of this call, also on a worker: reads the clock, about 20 ns.
  virtual Instant precise_now() noexcept { return now(); }
  // Nanoseconds since 1970-01-01T00:00:00Z, for people: logs, the Date header.
  virtual std::int64_t wall_ns() noexcept = 0;
  // wall_ns(), or one more than the value that this function returned last if that is larger. The value grows with each
  // call, also within one event-loop iteration and while the calendar is set back. Use it for ids that have to be in
  // the order in which they were made.
  std::int64_t next_wall_ns() noexcept;
  // 64 random bits, which cannot be guessed from earlier ones: for ids, boundaries, jitter and sampling. On the system
  // they come from getrandom(2), in some 300 ns; a worker computes them in a few nanoseconds, from a key that the
  // kernel provided (base/random_stream.h); a simulation takes them from its seed.
  virtual std::uint64_t random() noexcept = 0;
  // Fills `out` with bits for keys and tokens: getrandom(2) for each call, about 300 ns, on the system and on workers;
  // from the seed in a simulation. At boot it waits until the kernel has collected enough entropy.
  virtual void secret(std::span<std::byte> out) noexcept = 0;
  // Timers fire on this thread. Only hosts with a loop have timers: on others the call is a bug.
  virtual void start_timer(Timer& timer, Instant at) noexcept = 0;
  virtual void stop_timer(Timer& timer) noexcept = 0;
  // Runs `body` on a new thread named `name` (15 characters are shown by the system).
  virtual std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) = 0;

  // Blocks the calling thread. Only the system host supports this; on a worker it is a Bug (task/timing.h has
  // sleep_for).
  virtual void sleep(Duration duration);

  // The calling thread's host: the one that set_current installed, else the system host.
  static Host& current() noexcept;
  // Installs `host` (null: the system host) for the calling thread; returns the previous one.
  static Host* set_current(Host* host) noexcept;
  // The plain system: clock_gettime, getrandom, std::thread; no timers.
  static Host& system() noexcept;

 protected:
  // secret() of a host whose randomness comes from a seed: derived from random().
  void secret_from_random(std::span<std::byte> out) noexcept;

 private:
  std::int64_t last_wall_ns_ = 0;  // Accessed by atomic builtins, because every plain thread uses the system's host.
};

}  // namespace keel
