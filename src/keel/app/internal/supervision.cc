#include "keel/app/internal/supervision.h"

#include <utility>

#include "keel/observe/log.h"

namespace keel::app::internal {
namespace {

const log::Logger& supervision_logger() {
  static const log::Logger log("app");
  return log;
}

}  // namespace

Supervision::Supervision(Signals signals) {
  if (signals == Signals::Taken) signals_.emplace();
}

void Supervision::connect() {
  if (!signals_) return;
  if (auto notify = Notify::from_environment()) {
    notify_ = *std::move(notify);
  } else {
    supervision_logger().warn("the service manager cannot be notified", notify.error());
  }
}

void Supervision::tell(const Result<>& sent) {
  if (!sent) supervision_logger().warn("a notification could not be sent to the service manager", sent.error());
}

void Supervision::beat() {
  if (watchdog_ != nullptr) tell(watchdog_->tick());
}

bool Supervision::is_stop_asked() {
  if (!signals_) return false;
  while (!stop_asked_) {
    const std::optional<Signal> signal = signals_->wait_for(Duration());
    if (!signal) return false;
    if (*signal == Signal::Reload) {
      reload_asked_ = true;
      // A request for a report has no effect yet, because the workers are not watched yet.
    } else if (*signal != Signal::Report) {
      stop_asked_ = signal;
    }
  }
  signals_->end_on_next();
  return true;
}

Signal Supervision::wait() {
  if (std::exchange(reload_asked_, false)) return Signal::Reload;
  while (true) {
    beat();
    const Duration interval = watchdog_->interval();
    if (interval == Duration::forever()) return signals_->wait();
    if (const auto signal = signals_->wait_for(interval)) return *signal;
  }
}

void Supervision::begin_stop(bool forget) {
  while (forget && signals_->wait_for(Duration())) {
  }
  signals_->end_on_next();
}

}  // namespace keel::app::internal
