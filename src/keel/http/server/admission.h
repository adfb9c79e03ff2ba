// keel/http/server/admission.h — when a worker refuses requests because it is late with all of them.
//
// The delay of a request is the time from its coming to its begin. A worker is overloaded when in each of its turns for
// 100 ms (admission_interval) some request was later than the limit; until none has been for as long,
// those that are later are refused, which keeps the others within the limit: the delay of what is admitted stays
// bounded however much comes, and work that nobody waits for any more is not begun. As CoDel (RFC 8289) it asks how
// long the queue has been standing, not how long it is.
//
// Threads: one worker's.  Cost: a few comparisons.

#pragma once

#include "keel/base/time.h"

namespace keel::http {

inline constexpr Duration admission_interval = 100_ms;
// Routes that cost less are never refused: a refusal would cost about as much. There the server stops reading instead.
inline constexpr Duration admission_cost_min = 30_us;

class Admission {
 public:
  // A request of `turn` that has waited for `delay` is to begin `now`. True: refuse it.
  bool refuses(Instant turn, Instant now, Duration delay, Duration delay_max) noexcept;
  bool is_overloaded() const noexcept { return overloaded_; }

 private:
  Instant turn_;
  Instant late_since_ = Instant::never();  // Since then each turn was late.
  Instant late_last_;                      // When a request was late for the last time.
  Duration worst_;                         // Of this turn.
  bool overloaded_ = false;
};

}  // namespace keel::http
