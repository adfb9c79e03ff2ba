// keel/exec/internal/utilisation.h — how busy the threads of a pool are, and whether that calls for more or fewer.
//
// Utilisation is the share of the threads' time in which they did not sleep, measured over one interval after another.
// One more: above `grow_above` in an interval at whose end jobs wait. One fewer: below `shrink_below` in 16 intervals
// in a row. Between the two nothing changes.
//
// Threads: one at a time.  No clock: every call is told the time.

#pragma once

#include <cstdint>

#include "keel/base/time.h"

namespace keel::internal {

struct UtilisationBounds {
  int threads_min = 1;
  int threads_max = 1;
  double grow_above = 0.8;
  double shrink_below = 0.2;
};

class Utilisation {
 public:
  static constexpr int calm_intervals = 16;

  Utilisation(const UtilisationBounds& bounds, Instant now) noexcept : bounds_(bounds), at_(now) {}

  // From now on there are so many threads, and so many of them sleep.
  void note(Instant now, int threads, int asleep) noexcept {
    pass(now);
    threads_ = threads;
    asleep_ = asleep;
  }
  // Begins an interval.
  void begin(Instant now) noexcept;
  // Ends it and begins the next: 1, 0 or -1 threads more.
  int end(Instant now, bool jobs_wait) noexcept;

  // Since the beginning, over all threads.
  double busy_seconds(Instant now) noexcept {
    pass(now);
    return busy_seconds_;
  }

 private:
  void pass(Instant now) noexcept;

  const UtilisationBounds bounds_;
  Instant at_;
  int threads_ = 0;
  int asleep_ = 0;
  std::int64_t alive_ns_ = 0;  // Of all threads, in this interval.
  std::int64_t asleep_ns_ = 0;
  double busy_seconds_ = 0;
  int calm_ = 0;  // Intervals in a row below `shrink_below`.
};

}  // namespace keel::internal
