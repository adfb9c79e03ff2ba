#include "load/schedule.h"

#include <cmath>

namespace keel::load {

double Rate::due_by(Duration at) const noexcept {
  const double t = at.count_seconds();
  const double ramp = over.count_seconds();
  if (ramp <= 0) return to * t;
  if (t >= ramp) return (from + to) / 2 * ramp + to * (t - ramp);
  return from * t + (to - from) / (2 * ramp) * t * t;
}

Duration Rate::when(double count) const noexcept {
  const double ramp = over.count_seconds();
  const double in_ramp = (from + to) / 2 * ramp;
  double t = 0;
  if (ramp <= 0 || count >= in_ramp) {
    t = ramp + (count - in_ramp) / to;
  } else {
    // The solution t of slope/2 t^2 + from t = count, in a form that is also valid if the slope is 0.
    const double slope = (to - from) / ramp;
    t = 2 * count / (from + std::sqrt(from * from + 2 * slope * count));
  }
  return t < 9e9 ? Duration::nanoseconds(std::llround(t * 1e9)) : Duration::forever();
}

Schedule::Schedule(const Options& options, int thread, int threads) noexcept
    : rate_(options.rate),
      arrivals_(options.arrivals),
      threads_(threads),
      count_(options.arrivals == Arrivals::Constant ? thread - threads : 0),
      random_(options.seed * 0x100000001b3 + static_cast<std::uint64_t>(thread)) {}

Duration Schedule::next() noexcept {
  count_ += arrivals_ == Arrivals::Constant ? threads_ : -std::log(1 - random_.unit()) * threads_;
  return count_ <= 0 ? Duration() : rate_.when(count_);
}

}  // namespace keel::load
