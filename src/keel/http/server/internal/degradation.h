// keel/http/server/internal/degradation.h — a state in which a worker serves less than it should, and what its log says
// of that: a warning when it begins, another each minute while it lasts, and a line when it is over.
//
// Internal to http. What all clients together cause is such a state; what one of them does is no louder than info.
//
// Threads: the worker.  Lifetime: the loop and the logger outlive it; stop() comes before its end.

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

  // It is there; `fields` are for the line that says so.
  template <class... F>
  void enter(const F&... fields) {
    if (!state_.enter(loop_.now())) return;
    log_.warn(lines_.begins, log::field("worker", loop_.index()), fields...);
    if (!is_stopped_) loop_.start_timer(timer_, loop_.now() + log::RepeatedState::calm);
  }
  // It is gone, and may be back soon.
  void leave() noexcept { state_.leave(loop_.now()); }
  // Of what is met and not left: an allocation that fails.
  template <class... F>
  void meet(const F&... fields) {
    enter(fields...);
    leave();
  }
  // The worker drains: what continues or ends from now on is not said.
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
