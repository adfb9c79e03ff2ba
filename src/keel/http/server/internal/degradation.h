// keel/http/server/internal/degradation.h — logs a state in which a worker serves less than it should: a warning when
// the state begins, another warning each minute while it lasts, and a line when it is over.
//
// Internal to http. Use this class only for states that all clients together cause; an event that a single client
// causes is logged at level info or below.
//
// Threads:  the worker.
// Lifetime: the loop and the logger outlive this object; stop() must be called before this object is destroyed.

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

  // Call this function when the state begins, and again while the state continues; `fields` are added to the log line.
  template <class... F>
  void enter(const F&... fields) {
    if (!state_.enter(loop_.now())) return;
    log_.warn(lines_.begins, log::field("worker", loop_.index()), fields...);
    if (!is_stopped_) loop_.start_timer(timer_, loop_.now() + log::RepeatedState::calm);
  }
  // Call this function when the state has ended, even if the state may return soon.
  void leave() noexcept { state_.leave(loop_.now()); }
  // Use this function for events without a duration, such as a failed allocation.
  template <class... F>
  void meet(const F&... fields) {
    enter(fields...);
    leave();
  }
  // Call this function when the worker drains: from then on, nothing is logged about states that continue or end.
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
