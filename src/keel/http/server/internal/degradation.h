// keel/http/server/internal/degradation.h — a state in which a worker serves less than it should, and what the log says
// about it: a warning when the state begins, another each minute while it lasts, and a line when it is over.
//
// Internal to http. Only states that all clients together cause are logged in this way; an event of a single client is
// logged at most at level info.
//
// Threads:  the worker.
// Lifetime: the loop and the logger outlive it; stop() is called before it is destroyed.

#pragma once

#include <cstdint>

#include "keel/base/member.h"
#include "keel/base/wheel.h"
#include "keel/io/loop.h"
#include "keel/observe/log.h"
#include "keel/observe/repeated_state.h"

namespace keel::http {

class Degradation {
 public:
  struct Lines {
    log::Message begins, goes_on, is_over;
  };
  Degradation(io::Loop& loop, const log::Logger& log, const Lines& lines) noexcept
      : loop_(loop), log_(log), lines_(lines) {}
  Degradation(const Degradation&) = delete;

  // The state begins or continues; `fields` are added to its log line.
  template <class... F>
  void enter(const F&... fields) {
    if (!state_.enter(loop_.now())) return;
    log_.warn(lines_.begins, log::field("worker", loop_.index()), fields...);
    if (!is_stopped_) loop_.start_timer(timer_, loop_.now() + log::RepeatedState::calm);
  }
  // The state has ended, but may return soon.
  void leave() noexcept { state_.leave(loop_.now()); }
  // Use it for events without an end, such as a failed allocation.
  template <class... F>
  void meet(const F&... fields) {
    enter(fields...);
    leave();
  }
  // The worker drains: from now on the log does not say that states continue or have ended.
  void stop() noexcept;

 private:
  void look();

  io::Loop& loop_;
  const log::Logger& log_;
  const Lines& lines_;
  log::RepeatedState state_;
  Member<Timer, Degradation, &Degradation::look> timer_{*this};
  bool is_stopped_ = false;
};

}  // namespace keel::http
