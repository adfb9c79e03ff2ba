// keel/observe/repeated_state.h — a state that comes and goes, in three kinds of lines instead of thousands.
//
//   if (state_.enter(now)) log.warn("cannot accept connections; trying again", error);     // when it is met, however
//   often state_.leave(now);                                                         // when it is gone, perhaps for
//   long …                                                                          // and every RepeatedState::calm:
//   switch (state_.look(now)) { case GoesOn: …times(), lasted(now)…; case Over: …; }
//
// It is over once it has been gone for `calm`: what flickers is one state, said when it begins, each `interval` with
// how often it was met, and when it is over.
//
// Threads: a value.  Cost: a few instructions.

#pragma once

#include <cstdint>

#include "keel/base/time.h"

namespace keel::log {

class RepeatedState {
 public:
  static constexpr Duration calm = Duration::seconds(5);
  static constexpr Duration interval = Duration::seconds(60);

  // It is there. True when that is new: say so, and look() from now on.
  bool enter(Instant now) noexcept;
  // It is gone for now.
  void leave(Instant now) noexcept;

  enum class Say : std::uint8_t { Nothing, GoesOn, Over };
  // What is to be logged. After Over it begins anew.
  Say look(Instant now) noexcept;

  // How often it was met, and from when to when, since it began; those of the last time once it is over.
  std::uint64_t times() const noexcept { return times_; }
  Duration lasted(Instant now) const noexcept { return (is_there_ ? now : left_) - began_; }

 private:
  bool is_on_ = false;     // Begun, and not over.
  bool is_there_ = false;  // Entered, and not left.
  std::uint64_t times_ = 0;
  Instant began_, said_, left_;
};

}  // namespace keel::log
