// keel/http/server/admission.h — decides when a worker rejects requests because it is overloaded.
//
// The delay of a request is the time from its arrival to its start. A worker is overloaded when for 100 ms
// (admission_interval) each of its event-loop iterations had a request that waited longer than the limit. From then on,
// requests above the limit are rejected until none has exceeded it for 100 ms. Therefore, the delay of admitted
// requests stays bounded under any load, and work is not begun for clients that no longer wait. Like CoDel (RFC 8289),
// it measures how long the queue has existed, not its length.
//
// Threads: one worker's.
// Cost:    a few comparisons.

#pragma once

#include "keel/base/time.h"

namespace keel::http {

inline constexpr Duration admission_interval = 100_ms;
// Routes that cost less are never rejected: a rejection would cost about as much. For these routes the server stops
// reading instead.
inline constexpr Duration admission_cost_min = 30_us;

class Admission {
 public:
  // Call it for a request of the event-loop iteration `turn` that has waited for `delay` and is about to start at
  // `now`. True: reject it.
  bool refuses(Instant turn, Instant now, Duration delay, Duration delay_max) noexcept;
  bool is_overloaded() const noexcept { return overloaded_; }

 private:
  Instant turn_;
  Instant late_since_ = Instant::never();  // The time since which each iteration has had a late request.
  Instant late_last_;                      // The last time at which a request was late.
  Duration worst_;                         // The longest delay in this iteration.
  bool overloaded_ = false;
};

}  // namespace keel::http
