#include "load/histogram.h"

#include <algorithm>
#include <cmath>

namespace keel::load {

std::int64_t Histogram::upper_end(std::size_t index) noexcept {
  if (index < (2u << row_bits)) return static_cast<std::int64_t>(index);
  const std::size_t row = (index >> row_bits) - 1;
  const std::size_t column = index - (row << row_bits);
  return (static_cast<std::int64_t>(column + 1) << row) - 1;
}

// Finds several percentiles, which must be requested in ascending order, in one pass over the columns.
class Histogram::Walk {
 public:
  // The histogram must have values.
  explicit Walk(const Histogram& of) noexcept : of_(of), at_(index_of(static_cast<std::uint64_t>(of.min_ns_))) {
    seen_ = (*of.counts_)[at_];
  }

  // `percent` must not be lower than in an earlier call.
  Duration to(double percent) noexcept {
    // The rank of the percentile is rounded up. A tiny amount is subtracted before rounding, because in binary floating
    // point 99.9 % of 1,000 is slightly more than 999.
    const double exact = percent / 100 * static_cast<double>(of_.count_);
    const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(exact - 1e-6)));
    while (seen_ < rank && at_ + 1 < columns) seen_ += (*of_.counts_)[++at_];
    return Duration::nanoseconds(std::min(upper_end(at_), of_.max_ns_));
  }
  // The number of values in the columns up to the current column.
  std::uint64_t seen() const noexcept { return seen_; }

 private:
  const Histogram& of_;
  std::size_t at_;
  std::uint64_t seen_;
};

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < columns; ++i) (*counts_)[i] += (*other.counts_)[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

Duration Histogram::mean() const noexcept {
  if (count_ == 0) return {};
  return Duration::nanoseconds(std::llround(sum_ns_ / static_cast<double>(count_)));
}

Duration Histogram::percentile(double percent) const noexcept {
  if (count_ == 0) return {};
  Walk walk(*this);
  return walk.to(percent);
}

std::uint64_t Histogram::above(Duration limit) const noexcept {
  if (limit.count_ns() < 0) return count_;
  if (limit >= longest()) return 0;
  std::uint64_t found = 0;
  for (std::size_t i = index_of(static_cast<std::uint64_t>(limit.count_ns())) + 1; i < columns; ++i) {
    found += (*counts_)[i];
  }
  return found;
}

std::vector<Histogram::Point> Histogram::cdf() const {
  std::vector<Point> points;
  if (count_ == 0) return points;
  Walk walk(*this);
  const auto add_point = [&](double percent) {
    const Duration value = walk.to(percent);
    if (!points.empty() && points.back().value == value) return;
    points.push_back({value, static_cast<double>(walk.seen()) / static_cast<double>(count_)});
  };
  for (int percent = 0; percent < 99; ++percent) add_point(percent);
  // Percentiles 99, 99.1, …, 99.9, 99.91, …: after each 9 the steps are ten times finer, as long as there are enough
  // values to distinguish the percentiles.
  double from = 99;
  for (double step = 0.1; step > 1e-5 && step / 100 * static_cast<double>(count_) >= 0.1; step /= 10) {
    for (int i = 0; i < 9; ++i) add_point(from + i * step);
    from += 9 * step;
  }
  add_point(100);
  return points;
}

}  // namespace keel::load
