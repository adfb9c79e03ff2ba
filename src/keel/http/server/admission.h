// keel/http/server/admission.h — decides when a worker rejects requests because it is overloaded.
//
// The delay of a request is the time from its arrival to its start. A worker is overloaded when each of its event-loop
// iterations in the last 100 ms (admission_interval) had a request that waited longer than the limit. When a worker has
// become overloaded, each request that has waited longer than the limit is rejected, until 100 ms have passed in which
// no request waited longer than the limit. Therefore, the delay of admitted requests stays bounded under any load, and
// the worker does not begin work for clients that no longer wait. Like CoDel (RFC 8289), this method looks at how long
// a queue has existed, not at its length.
//
// Threads: one worker's.
// Cost:    a few comparisons.

#pragma once

#include "keel/base/time.h"

namespace keel::http {

inline constexpr Duration admission_interval = 100_ms;
// Requests for routes whose cost is below this value are never rejected, because a rejection would cost about as much.
// Instead of rejecting requests of cheap routes, the server stops reading, which slows the clients down.
inline constexpr Duration admission_cost_min = 30_us;

class Admission {
 public:
  // Call this function for a request that has waited for `delay` and is about to start at `now`, in the event-loop
  // iteration that began at `turn`. Returns true if the request is to be rejected.
  bool refuses(Instant turn, Instant now, Duration delay, Duration delay_max) noexcept;
  bool is_overloaded() const noexcept { return overloaded_; }

 private:
  Instant turn_;
  Instant late_since_ = Instant::never();  // The time since which each event-loop iteration has had a late request.
  Instant late_last_;                      // The last time at which a request was late.
  Duration worst_;                         // The longest delay in this iteration.
  bool overloaded_ = false;
};

}  // namespace keel::http
