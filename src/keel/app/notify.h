// keel/app/notify.h — notifies the service manager of the service's state: the protocol of sd_notify(3), without a
// library.
//
//   KEEL_TRY(app::Notify notify, app::Notify::from_environment());
//   …start…
//   KEEL_TRY_VOID(notify.ready("serving on 127.0.0.1:8080"));
//   …
//   KEEL_TRY_VOID(notify.stopping("draining"));
//
// If the process has no supervisor, every call succeeds and does nothing. An App itself sends the notifications above;
// an application needs this class only for its own STATUS.
//
// Errors:    the system's error if the supervisor's socket does not accept a message within a second. A notification
//            that fails does not affect the service.
// Threads:   any.
// Ownership: a Notify owns its socket; it is movable.
// Cost:      one system call for each message.
// Source:    sd_notify(3), sd_watchdog_enabled(3).

#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>

#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::app {

class Notify {
 public:
  // Makes an object without a service manager: its notifications do nothing.
  Notify() = default;
  // NOTIFY_SOCKET contains a path, or @name in the abstract name space; if NOTIFY_SOCKET is not set, there is no
  // service manager. WATCHDOG_USEC is used only if WATCHDOG_PID is this process or is not set. InvalidArgument if
  // NOTIFY_SOCKET, WATCHDOG_USEC or WATCHDOG_PID is malformed.
  static Result<Notify> from_environment();
  Notify(Notify&& other) noexcept;
  Notify& operator=(Notify&& other) noexcept;
  ~Notify();

  bool is_on() const noexcept { return socket_ >= 0; }
  // The longest permitted time between two calls of beat(); 0: there is no watchdog.
  Duration watchdog() const noexcept { return watchdog_; }

  // Sends the status, one line for people (systemctl status shows it).
  Result<> status(std::string_view status);
  // Reports that the start, or a reload, is complete.
  Result<> ready(std::string_view status);
  // Reports that a reload begins; ready() reports its end.
  Result<> reloading();
  // Reports that the stop begins.
  Result<> stopping(std::string_view status);
  // Reports that `pid` is the main process from now on.
  Result<> main_pid(pid_t pid);
  // Extends the time limit of the current step (start or stop) to `timeout` from now, unless the service manager's own
  // limit ends later.
  Result<> extend(Duration timeout);
  Result<> beat();

 private:
  Result<> send(std::string_view message);

  int socket_ = -1;
  std::string address_;  // The address in the form that the system expects: a leading '@' is replaced by a zero byte.
  Duration watchdog_;
};

}  // namespace keel::app
