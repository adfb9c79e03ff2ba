// keel/exec/internal/utilisation.h — measures how busy the threads of a pool are, and decides whether the pool needs
// more or fewer threads.
//
// Utilisation is the share of the threads' time in which they did not sleep, measured over consecutive intervals. A
// thread is added when utilisation was above `grow_above` in an interval and jobs wait at the end of the interval. A
// thread is removed when utilisation was below `shrink_below` in 16 intervals in a row. Between the two thresholds the
// number of threads does not change.
//
// Threads: one at a time. This code has no clock: the caller passes the time to every function.

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

  // Records the current number of threads, and how many of them sleep.
  void note(Instant now, int threads, int asleep) noexcept {
    pass(now);
    threads_ = threads;
    asleep_ = asleep;
  }
  // Begins an interval.
  void begin(Instant now) noexcept;
  // Ends the interval and begins the next; returns the change in the number of threads: 1, 0 or -1.
  int end(Instant now, bool jobs_wait) noexcept;

  // The time during which threads did not sleep, summed over all threads, since this object was created.
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
  std::int64_t alive_ns_ = 0;  // The time in this interval during which threads existed, summed over all threads.
  std::int64_t asleep_ns_ = 0;
  double busy_seconds_ = 0;
  int calm_ = 0;  // The number of intervals in a row in which utilisation was below `shrink_below`.
};

}  // namespace keel::internal
