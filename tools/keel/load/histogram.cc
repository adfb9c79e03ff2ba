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
  // The rank is rounded up; a hair less keeps 99.9 % of 1,000 at 999 in spite of binary fractions.
  const double exact = percent / 100 * static_cast<double>(count_);
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(exact - 1e-6)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    seen += (*counts_)[i];
    if (seen >= rank) return Duration::nanoseconds(std::min(upper_end(i), max_ns_));
  }
  return max();
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
  const auto add_point = [&](double percent) {
    const Duration value = percentile(percent);
    const auto below = static_cast<double>(count_ - above(value));
    const double fraction = below / static_cast<double>(count_);
    if (!points.empty() && points.back().value == value) return;
    points.push_back({value, fraction});
  };
  for (int percent = 0; percent < 99; ++percent) add_point(percent);
  // 99, 99.1, …, 99.9, 99.91, …: each step ten times finer, as far as there are values to tell apart.
  double from = 99;
  for (double step = 0.1; step > 1e-5 && step / 100 * static_cast<double>(count_) >= 0.1; step /= 10) {
    for (int i = 0; i < 9; ++i) add_point(from + i * step);
    from += 9 * step;
  }
  add_point(100);
  return points;
}

}  // namespace keel::load
