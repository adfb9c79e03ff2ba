// Latencies in a histogram with a high dynamic range and three significant digits.
//
//   Histogram latencies;
//   latencies.record(ended - intended);
//   Duration p999 = latencies.percentile(99.9);
//
// Values are counted in rows of 1,024 columns; each row covers twice the range of the row before it, so values from a
// nanosecond to longest() have a precision of one part in 1,024. Longer values count as longest(), and negative values
// count as zero.
//
// Threads: one.
// Cost:    256 KiB, of which a run touches few pages; record() takes a shift and two additions.
// Source:  Gil Tene's HdrHistogram, whose C library is not in Debian 12.

#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "keel/base/time.h"

namespace keel::load {

class Histogram {
 public:
  static constexpr Duration longest() noexcept { return Duration::nanoseconds((std::int64_t{1} << 41) - 1); }

  Histogram() : counts_(std::make_unique<Counts>()) {}
  Histogram(const Histogram& other) : Histogram() { add(other); }
  Histogram& operator=(const Histogram&) = delete;
  Histogram(Histogram&&) = default;
  Histogram& operator=(Histogram&&) = default;

  void record(Duration value) noexcept {
    std::int64_t ns = value.count_ns();
    if (ns < 0) ns = 0;
    if (ns > longest().count_ns()) ns = longest().count_ns();
    ++(*counts_)[index_of(static_cast<std::uint64_t>(ns))];
    ++count_;
    sum_ns_ += static_cast<double>(ns);
    if (ns > max_ns_) max_ns_ = ns;
    if (ns < min_ns_) min_ns_ = ns;
  }
  void add(const Histogram& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  // Exact. Zero if no value was recorded.
  Duration min() const noexcept { return Duration::nanoseconds(count_ == 0 ? 0 : min_ns_); }
  Duration max() const noexcept { return Duration::nanoseconds(max_ns_); }
  Duration mean() const noexcept;
  // The latency that `percent` (0 to 100) of all values do not exceed; it is rounded up to the end of a column, but not
  // above max().
  Duration percentile(double percent) const noexcept;
  // The number of values longer than `limit`, which is rounded up to the end of its column.
  std::uint64_t above(Duration limit) const noexcept;

  struct Point {
    Duration value;
    double fraction;  // The fraction of all values that are at most `value` long.
  };
  // The distribution in at most 150 points; the tail has as much detail as the middle.
  std::vector<Point> cdf() const;

 private:
  class Walk;
  static constexpr unsigned row_bits = 10;
  static constexpr unsigned value_bits = 41;
  static constexpr std::size_t columns = ((value_bits - row_bits - 1) << row_bits) + (2u << row_bits);
  using Counts = std::array<std::uint64_t, columns>;

  static std::size_t index_of(std::uint64_t ns) noexcept {
    const unsigned bits = static_cast<unsigned>(std::bit_width(ns));
    const unsigned row = bits > row_bits + 1 ? bits - row_bits - 1 : 0;
    return (static_cast<std::size_t>(row) << row_bits) + static_cast<std::size_t>(ns >> row);
  }
  static std::int64_t upper_end(std::size_t index) noexcept;

  std::unique_ptr<Counts> counts_;
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  std::int64_t min_ns_ = longest().count_ns();
  std::int64_t max_ns_ = 0;
};

}  // namespace keel::load
