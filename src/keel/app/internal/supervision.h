// keel/app/internal/supervision.h — the signals that an App handles, and the supervisor to which it reports. An App
// that is part of a test handles no signals and has no supervisor.
//
// Threads: make the Supervision on the main thread before any other thread exists, and use it on the main thread;
//          request_stop() and is_main_thread() may be called on any thread.

#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "keel/app/notify.h"
#include "keel/app/signals.h"
#include "keel/app/watchdog.h"
#include "keel/base/result.h"
#include "keel/io/runtime.h"

namespace keel::app::internal {

class Supervision {
 public:
  enum class Signals : std::uint8_t { Taken, Left };
  explicit Supervision(Signals signals = Signals::Taken);
  Supervision(const Supervision&) = delete;
  Supervision& operator=(const Supervision&) = delete;

  bool is_main_thread() const noexcept { return ::pthread_equal(::pthread_self(), main_thread_) != 0; }

  // Connects to the supervisor that the environment names; from this call on, the supervisor is notified of each step.
  // Call this function after the logs have started.
  void connect();
  Notify& supervisor() noexcept { return notify_; }
  // A notification that could not be sent is only logged, because nothing else depends on the notification.
  void tell(const Result<>& sent);
  // From this call on, the supervisor's watchdog is notified while every worker's loop runs.
  void watch(io::Runtime& runtime) { watchdog_ = std::make_unique<Watchdog>(notify_, runtime); }
  void beat();

  // Call this function during the start. Returns whether a signal that ends the process has arrived; the next such
  // signal then ends the process immediately. If a signal during the start requests a reload, wait() returns that
  // signal later.
  bool is_stop_asked();
  std::optional<Signal> stop_asked() const noexcept { return stop_asked_; }
  // Waits for the next signal and returns it; meanwhile, notifies the watchdog.
  Signal wait();
  // Like SignalWaiter::request_stop(); may be called on any thread.
  void request_stop() noexcept {
    if (signals_) signals_->request_stop();
  }
  // Begins the stop: the next SIGTERM or SIGINT ends the process immediately. If `forget` is true, signals that have
  // already arrived are dropped.
  void begin_stop(bool forget);

 private:
  std::optional<SignalWaiter> signals_;
  const pthread_t main_thread_ = ::pthread_self();
  Notify notify_;
  std::unique_ptr<Watchdog> watchdog_;
  std::optional<Signal> stop_asked_;
  bool reload_asked_ = false;
};

}  // namespace keel::app::internal
