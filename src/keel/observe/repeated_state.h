// keel/observe/repeated_state.h — logs a state that begins and ends again and again, with a few lines of three kinds
// instead of thousands of lines.
//
//   if (state_.enter(now)) log.warn("cannot accept connections; trying again", error);   // each time it is present
//   state_.leave(now);                                                                   // each time it is absent
//   …                                                                                    // every RepeatedState::calm:
//   switch (state_.look(now)) { case Continues: …times(), lasted(now)…; case Over: …; }
//
// The state is over once it has been absent for `calm`, so a state that flickers counts as one state. A line is logged
// when the state begins, once in each `interval` (with the count), and when the state is over.
//
// Threads: a value.
// Cost:    a few instructions.

#pragma once

#include <cstdint>

#include "keel/base/time.h"

namespace keel::log {

class RepeatedState {
 public:
  static constexpr Duration calm = Duration::seconds(5);
  static constexpr Duration interval = Duration::seconds(60);

  // Reports that the state is present. Returns true when the state has just begun: log the state, and call look() from
  // now on.
  bool enter(Instant now) noexcept;
  // Reports that the state is absent for now.
  void leave(Instant now) noexcept;

  enum class Report : std::uint8_t { Nothing, Continues, Over };
  // Returns the kind of line that has to be logged. After `Over`, the state can begin again.
  Report look(Instant now) noexcept;

  // The count, start and end of the current state; once that state is over, these values stay unchanged until the next
  // state begins.
  std::uint64_t times() const noexcept { return times_; }
  Duration lasted(Instant now) const noexcept { return (is_there_ ? now : left_) - began_; }

 private:
  bool is_on_ = false;     // The state has begun and is not over.
  bool is_there_ = false;  // enter() has been called, and leave() has not been called since.
  std::uint64_t times_ = 0;
  Instant began_, said_, left_;
};

}  // namespace keel::log
