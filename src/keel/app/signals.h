// keel/app/signals.h — SIGTERM, SIGINT, SIGHUP and SIGQUIT, received by the main thread as values.
//
//   app::SignalWaiter signals;                    // first thing in main, before any thread starts
//   …start…
//   for (auto s = signals.wait(); !ends(s); s = signals.wait()) s == app::Signal::Reload ? reload() : report();
//   signals.end_on_next();                        // the drain begins: a second SIGTERM or SIGINT ends it immediately
//   …drain…
//
// SIGTERM and SIGINT signals that arrive within same_request of the first such signal count as the same request,
// because timeout(1), shells and terminals signal both a process and its process group.
//
// The constructor blocks the four signals in its thread, and thereby in every thread started later. It also ignores
// SIGPIPE, so that a write to a closed socket fails with an error instead of ending the process. The destructor
// restores the previous state of the signals.
//
// Threads: make all calls on the thread that made the object, except request_stop(), which any thread may call. One per
//          process.
// Cancel:  request_stop() ends a wait.

#pragma once

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "keel/base/time.h"

namespace keel::app {

enum class Signal : std::uint8_t { Terminate, Interrupt, Reload, Report };  // SIGTERM, SIGINT, SIGHUP, SIGQUIT

// Receives the signals of the process; the main thread must make the SignalWaiter before any other thread starts.
class SignalWaiter {
 public:
  // same_request is counted from the moment at which wait() or wait_for() returns the first SIGTERM or SIGINT.
  static constexpr Duration same_request = 200_ms;

  SignalWaiter();
  ~SignalWaiter();
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  // Waits for the next signal and returns it. Several signals of one kind that arrive while no thread waits count as
  // one.
  Signal wait() noexcept;
  // Waits for a signal for at most `timeout`; nullopt: no signal arrived.
  std::optional<Signal> wait_for(Duration timeout) noexcept;

  // From now on the next SIGTERM or SIGINT that is not part of the same request ends the process immediately: no
  // destructors run, and the exit status is 128 + the number of the signal. A signal of this kind that has arrived
  // since the last wait() ends the process before this call returns. After this call, SIGHUP and SIGQUIT have no
  // effect. Idempotent. Call this function directly after wait(): the arrival time of a pending signal is unknown, so
  // the time of this call counts instead.
  void end_on_next() noexcept;

  // Acts as if SIGTERM had arrived; has no effect after a call of end_on_next().
  void request_stop() noexcept;

 private:
  Signal taken(int number) noexcept;

  sigset_t signals_;
  sigset_t mask_before_;
  struct sigaction pipe_before_;
  struct sigaction terminate_before_;
  struct sigaction interrupt_before_;
  std::atomic<bool> ending_ = false;
};

}  // namespace keel::app
