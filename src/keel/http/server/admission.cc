#include "keel/http/server/admission.h"

#include <algorithm>

namespace keel::http {

bool Admission::refuses(Instant turn, Instant now, Duration delay, Duration delay_max) noexcept {
  if (turn != turn_) {
    const bool was_in_time = worst_ <= delay_max;
    if (turn - late_last_ >= admission_interval) overloaded_ = false;
    if (!overloaded_ && (was_in_time || turn - late_last_ >= admission_interval)) late_since_ = Instant::never();
    turn_ = turn;
    worst_ = Duration();
  }
  worst_ = std::max(worst_, delay);
  if (delay <= delay_max) return false;
  // Stores `now` and not the beginning of the iteration, because an iteration may take longer than admission_interval.
  late_last_ = now;
  if (late_since_.is_never()) late_since_ = late_last_;
  if (!overloaded_) overloaded_ = late_last_ - late_since_ >= admission_interval;
  return overloaded_;
}

}  // namespace keel::http
