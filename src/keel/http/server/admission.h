// keel/http/server/admission.h — when a worker rejects requests because it is late with all of them.
//
// The delay of a request is the time from its coming to its begin. A worker is overloaded when for 100 ms
// (admission_interval) each of its turns had a request that waited longer than the limit. Until no request has exceeded
// it for as long, requests above the limit are rejected. So the delay of admitted requests stays bounded under any
// load, and work is not begun for clients that no longer wait. As CoDel (RFC 8289) it asks how long the queue has been
// standing, not how long it is.
//
// Threads: one worker's.  Cost: a few comparisons.

#pragma once

#include "keel/base/time.h"

namespace keel::http {

inline constexpr Duration admission_interval = 100_ms;
// Routes that cost less are never rejected: a rejection would cost about as much. There the server stops reading
// instead.
inline constexpr Duration admission_cost_min = 30_us;

class Admission {
 public:
  // A request of `turn` that has waited for `delay` is to begin `now`. True: reject it.
  bool refuses(Instant turn, Instant now, Duration delay, Duration delay_max) noexcept;
  bool is_overloaded() const noexcept { return overloaded_; }

 private:
  Instant turn_;
  Instant late_since_ = Instant::never();  // Since then each turn was late.
  Instant late_last_;                      // When a request was late for the last time.
  Duration worst_;                         // The longest delay in this turn.
  bool overloaded_ = false;
};

}  // namespace keel::http
