#include "keel/exec/internal/utilisation.h"

namespace keel::internal {

void Utilisation::pass(Instant now) noexcept {
  if (now <= at_) return;
  const Duration passed = now - at_;
  alive_ns_ += threads_ * passed.count_ns();
  asleep_ns_ += asleep_ * passed.count_ns();
  busy_seconds_ += (threads_ - asleep_) * passed.count_seconds();
  at_ = now;
}

void Utilisation::begin(Instant now) noexcept {
  pass(now);
  alive_ns_ = asleep_ns_ = 0;
}

int Utilisation::end(Instant now, bool jobs_wait) noexcept {
  pass(now);
  if (alive_ns_ == 0) return 0;
  const double busy = 1 - static_cast<double>(asleep_ns_) / static_cast<double>(alive_ns_);
  alive_ns_ = asleep_ns_ = 0;
  calm_ = busy < bounds_.shrink_below ? calm_ + 1 : 0;
  if (busy > bounds_.grow_above && jobs_wait && threads_ < bounds_.threads_max) return 1;
  if (calm_ < calm_intervals || threads_ <= bounds_.threads_min) return 0;
  calm_ = 0;
  return -1;
}

}  // namespace keel::internal
