#include "load/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace keel::load::load_histogram_test {
namespace {

TEST(Histogram, is_empty_at_first) {
  const Histogram histogram;

  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(99), Duration());
  EXPECT_EQ(histogram.min(), Duration());
  EXPECT_EQ(histogram.max(), Duration());
  EXPECT_EQ(histogram.mean(), Duration());
  EXPECT_TRUE(histogram.cdf().empty());
}

TEST(Histogram, keeps_small_values_exactly) {
  Histogram histogram;
  for (int ns = 1; ns <= 1000; ++ns) histogram.record(Duration::nanoseconds(ns));

  EXPECT_EQ(histogram.percentile(50), 500_ns);
  EXPECT_EQ(histogram.percentile(99.9), 999_ns);
  EXPECT_EQ(histogram.percentile(100), 1000_ns);
  EXPECT_EQ(histogram.percentile(0), 1_ns);
  EXPECT_EQ(histogram.mean(), Duration::nanoseconds(501));  // 500.5, rounded.
  EXPECT_EQ(histogram.above(900_ns), 100u);
}

TEST(Histogram, keeps_any_value_to_one_part_in_a_thousand) {
  std::mt19937_64 random(1);

  for (int i = 0; i < 1000; ++i) {
    const auto ns = static_cast<std::int64_t>(random() >> (23 + random() % 40));
    Histogram one;
    one.record(Duration::nanoseconds(ns));
    one.record(Histogram::longest());
    const std::int64_t kept = one.percentile(50).count_ns();
    EXPECT_GE(kept, ns);
    EXPECT_LE(static_cast<double>(kept), static_cast<double>(ns) * (1 + 1.0 / 1024));
  }
}

TEST(Histogram, percentiles_are_those_of_the_sorted_values) {
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> latencies(13, 1.5);
  std::vector<std::int64_t> values;
  Histogram histogram;
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(static_cast<std::int64_t>(latencies(random)));
    histogram.record(Duration::nanoseconds(values.back()));
  }
  std::sort(values.begin(), values.end());

  for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9, 99.99}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * 50'000 - 1e-6));
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto kept = static_cast<double>(histogram.percentile(percent).count_ns());
    EXPECT_GE(kept, exact) << percent;
    EXPECT_LE(kept, exact * 1.001) << percent;
  }
  EXPECT_EQ(histogram.min().count_ns(), values.front());
  EXPECT_EQ(histogram.max().count_ns(), values.back());
}

TEST(Histogram, takes_what_is_out_of_range_to_its_ends) {
  Histogram histogram;
  histogram.record(Duration::nanoseconds(-5));
  histogram.record(Duration::forever());

  EXPECT_EQ(histogram.min(), Duration());
  EXPECT_EQ(histogram.max(), Histogram::longest());
  EXPECT_EQ(histogram.above(Histogram::longest()), 0u);
}

TEST(Histogram, adds_up_to_the_histogram_of_all) {
  Histogram one;
  Histogram other;
  Histogram both;
  for (int i = 1; i < 5000; ++i) {
    (i % 3 == 0 ? one : other).record(Duration::microseconds(i));
    both.record(Duration::microseconds(i));
  }
  one.add(other);

  EXPECT_EQ(one.count(), both.count());
  for (const double percent : {0.0, 10.0, 50.0, 99.0, 100.0}) {
    EXPECT_EQ(one.percentile(percent), both.percentile(percent));
  }
  EXPECT_EQ(one.mean(), both.mean());
}

TEST(Histogram, draws_a_rising_curve_of_few_points_to_the_end) {
  Histogram histogram;
  std::mt19937_64 random(3);
  for (int i = 0; i < 1'000'000; ++i) histogram.record(Duration::nanoseconds(static_cast<int>(random() % 1'000'000)));

  const auto curve = histogram.cdf();

  EXPECT_LE(curve.size(), 150u);
  EXPECT_GE(curve.size(), 100u);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    EXPECT_GT(curve[i].value, curve[i - 1].value);
    EXPECT_GT(curve[i].fraction, curve[i - 1].fraction);
  }
  EXPECT_EQ(curve.back().value, histogram.max());
  EXPECT_EQ(curve.back().fraction, 1);
}

TEST(Histogram, draws_the_curve_through_its_percentiles) {
  Histogram histogram;
  std::mt19937_64 random(4);
  for (int i = 0; i < 10'000; ++i)
    histogram.record(Duration::nanoseconds(static_cast<int>(1'000 + random() % 900'000)));

  const auto curve = histogram.cdf();

  EXPECT_EQ(curve.front().value, histogram.percentile(0));
  for (const auto& [value, fraction] : curve) {
    const auto below = static_cast<double>(histogram.count() - histogram.above(value));
    EXPECT_EQ(fraction, below / static_cast<double>(histogram.count()));
    EXPECT_EQ(value, histogram.percentile(fraction * 100));
  }
}

}  // namespace
}  // namespace keel::load::load_histogram_test
