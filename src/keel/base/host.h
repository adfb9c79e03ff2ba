// keel/base/host.h — the interface of a thread to the outside world: the time, randomness, timers and new threads.
//
// Keel's code gets the time, randomness, timers and threads from a Host, never directly from the system. A worker's
// loop is a Host, and so are the simulation and the plain system; each thread has a current Host. Therefore a simulated
// run can be repeated exactly.
//
// Threads: a Host is used only on threads whose current Host it is; start_thread() may be called on any thread.
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

  // Monotonic time. On a worker, now() is the time at the beginning of the current event-loop iteration.
  virtual Instant now() noexcept = 0;
  // Monotonic time at the moment of the call, even on a worker. precise_now() reads the clock, which takes about 20 ns.
  virtual Instant precise_now() noexcept { return now(); }
  // Nanoseconds since 1970-01-01T00:00:00Z, for people: logs, the Date header.
  virtual std::int64_t wall_ns() noexcept = 0;
  // The larger of two values: wall_ns(), and the previous result of this function plus one. The value grows with each
  // call, even within one event-loop iteration, and even if the clock is set back. Use this function for ids that have
  // to be in the order in which they were made.
  std::int64_t next_wall_ns() noexcept;
  // 64 random bits, which cannot be guessed from earlier bits: for ids, boundaries, jitter and sampling. The system
  // host gets the bits from getrandom(2) in about 300 ns. A worker computes the bits in a few nanoseconds from a key
  // that the kernel provided (base/random_stream.h). A simulation takes the bits from its seed.
  virtual std::uint64_t random() noexcept = 0;
  // Fills `out` with random bits for keys and tokens. On the system host and on workers, each call makes one
  // getrandom(2), which takes about 300 ns, and which waits during boot until the kernel has collected enough entropy.
  // In a simulation, the bits come from the seed.
  virtual void secret(std::span<std::byte> out) noexcept = 0;
  // Timers fire on this thread. Only hosts with a loop have timers: on other hosts the call is a bug.
  virtual void start_timer(Timer& timer, Instant at) noexcept = 0;
  virtual void stop_timer(Timer& timer) noexcept = 0;
  // Runs `body` on a new thread with the name `name`; the system shows the first 15 characters of the name.
  virtual std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) = 0;

  // Blocks the calling thread. Only the system host supports sleep(); on a worker, sleep() throws a Bug (use
  // sleep_for() of task/timing.h).
  virtual void sleep(Duration duration);

  // The calling thread's host: the host that set_current() installed, otherwise the system host.
  static Host& current() noexcept;
  // Installs `host` (null: the system host) for the calling thread; returns the previous one.
  static Host* set_current(Host* host) noexcept;
  // The plain system: clock_gettime, getrandom, std::thread; no timers.
  static Host& system() noexcept;

 protected:
  // Implements secret() for a host whose randomness comes from a seed: fills `out` with bits of random().
  void secret_from_random(std::span<std::byte> out) noexcept;

 private:
  std::int64_t last_wall_ns_ = 0;  // Accessed by atomic builtins, because every plain thread uses the system's host.
};

}  // namespace keel
