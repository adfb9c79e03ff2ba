#include "keel/exec/internal/utilisation.h"

#include <gtest/gtest.h>

namespace keel::internal::utilisation_test {
namespace {

class Measured : public ::testing::Test {
 protected:
  // An interval of 100 ms in which each of `threads` was busy for `busy` of it; what end() says.
  int interval(int threads, double busy, bool jobs_wait = true) {
    utilisation_.note(now_, threads, 0);
    now_ = now_ + Duration::nanoseconds(static_cast<std::int64_t>(100e6 * busy));
    utilisation_.note(now_, threads, threads);
    now_ = now_ + Duration::nanoseconds(100'000'000 - static_cast<std::int64_t>(100e6 * busy));
    return utilisation_.end(now_, jobs_wait);
  }

  Instant now_ = Instant::from_ns(5);
  Utilisation utilisation_{{.threads_min = 2, .threads_max = 4, .grow_above = 0.8, .shrink_below = 0.2}, now_};
};

TEST_F(Measured, grows_above_its_threshold_when_jobs_wait) {
  EXPECT_EQ(interval(2, 0.79), 0);
  EXPECT_EQ(interval(2, 0.81), 1);
  EXPECT_EQ(interval(2, 1, false), 0) << "busy threads are enough when nothing waits";
}

TEST_F(Measured, grows_no_further_than_its_maximum) {
  EXPECT_EQ(interval(3, 1), 1);
  EXPECT_EQ(interval(4, 1), 0);
}

TEST_F(Measured, shrinks_after_16_calm_intervals_in_a_row) {
  for (int i = 0; i < Utilisation::calm_intervals - 1; ++i) EXPECT_EQ(interval(4, 0.19, false), 0) << i;
  EXPECT_EQ(interval(4, 0.19, false), -1);
  EXPECT_EQ(interval(3, 0.19, false), 0) << "and counts anew";
}

TEST_F(Measured, does_not_shrink_when_one_of_them_was_not_calm) {
  for (int i = 0; i < Utilisation::calm_intervals - 1; ++i) EXPECT_EQ(interval(4, 0, false), 0);
  EXPECT_EQ(interval(4, 0.21, false), 0);
  for (int i = 0; i < Utilisation::calm_intervals - 1; ++i) EXPECT_EQ(interval(4, 0, false), 0);
  EXPECT_EQ(interval(4, 0, false), -1);
}

TEST_F(Measured, shrinks_no_further_than_its_minimum) {
  for (int i = 0; i < 3 * Utilisation::calm_intervals; ++i) EXPECT_EQ(interval(2, 0, false), 0);
}

TEST_F(Measured, counts_only_the_interval) {
  interval(2, 0);
  utilisation_.note(now_, 2, 2);
  now_ = now_ + 10_s;
  utilisation_.begin(now_);
  EXPECT_EQ(interval(2, 0.9), 1);
}

TEST_F(Measured, knows_the_time_that_all_threads_were_busy) {
  interval(2, 0.5);
  interval(4, 0.25);
  EXPECT_NEAR(utilisation_.busy_seconds(now_), 0.2, 1e-9);
}

}  // namespace
}  // namespace keel::internal::utilisation_test
