#include "keel/base/time.h"

#include <gtest/gtest.h>

namespace keel::time_test {
namespace {

constexpr Duration least = Duration::nanoseconds(std::numeric_limits<std::int64_t>::min());

TEST(Duration, converts_between_its_units) {
  EXPECT_EQ(1_s, 1000_ms);
  EXPECT_EQ(1_ms, 1000_us);
  EXPECT_EQ(1_us, 1000_ns);
  EXPECT_EQ(1_h, 60_min);
  EXPECT_EQ(1_d, 24_h);
  EXPECT_EQ(Duration::days(7), 168_h);
  EXPECT_EQ(Duration::hours(2), Duration::minutes(120));
  EXPECT_EQ(Duration::minutes(2), Duration::seconds(120));
  EXPECT_EQ((1500_us).count_ms(), 1);
  EXPECT_EQ((1500_us).count_us(), 1500);
  EXPECT_DOUBLE_EQ((1500_ms).count_seconds(), 1.5);
  EXPECT_EQ((1435043441_ns).count_seconds(), 1.435043441);  // No digits beyond the nanoseconds.
}

TEST(Duration, adds_subtracts_scales_and_compares) {
  EXPECT_EQ(1_s + 500_ms, 1500_ms);
  EXPECT_EQ(1_s - 2_s, -(1_s));
  EXPECT_EQ(200_ms * 5, 1_s);
  EXPECT_EQ(5 * 200_ms, 1_s);
  EXPECT_EQ(1_s / 4, 250_ms);
  const int days = 2;
  const std::size_t weeks = 3;
  EXPECT_EQ(days * 24_h, 48_h);
  EXPECT_EQ(weeks * 7_d, 21_d);
  EXPECT_EQ(90_min / 1_h, 1);
  EXPECT_EQ(90_min % 1_h, 30_min);
  EXPECT_EQ(-(90_min) / 1_h, -1);
  Duration sum = 1_s;
  sum += 500_ms;
  EXPECT_EQ(sum, 1500_ms);
  sum -= 1_s;
  EXPECT_EQ(sum, 500_ms);
  EXPECT_LT(1_ms, 1_s);
}

TEST(Duration, saturates_instead_of_overflowing) {
  EXPECT_EQ(Duration::forever() + 1_s, Duration::forever());
  EXPECT_EQ(Duration::forever() * 2, Duration::forever());
  EXPECT_EQ(Duration::forever() * -2, least);
  EXPECT_EQ(2 * Duration::forever(), Duration::forever());
  EXPECT_EQ(200'000 * 1_d, Duration::forever());
  EXPECT_EQ(Duration::forever() / Duration::nanoseconds(-1), std::numeric_limits<std::int64_t>::min() + 1);
  EXPECT_EQ(least / Duration::nanoseconds(-1), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(least % Duration::nanoseconds(-1), 0_s);
  EXPECT_EQ(Duration::seconds(std::numeric_limits<std::int64_t>::max()), Duration::forever());
  EXPECT_EQ(Duration::hours(std::numeric_limits<std::int64_t>::min()), least);
  EXPECT_EQ(Duration::forever() - least, Duration::forever());
  EXPECT_EQ(0_s - least, Duration::forever());
  EXPECT_EQ(-(1_s) - Duration::forever() - 1_h, least);
  EXPECT_EQ(-least, Duration::forever());
  EXPECT_EQ(least / -1, Duration::forever());
}

TEST(Instant, moves_by_durations) {
  const Instant start = Instant::from_ns(1'000);

  EXPECT_EQ((start + 1_us).ns(), 2'000);
  EXPECT_EQ((start - 1_us).ns(), 0);
  EXPECT_EQ((start + 1_s) - start, 1_s);
  EXPECT_LT(start, start + 1_ns);
  Instant moved = start;
  moved += 2_us;
  moved -= 1_us;
  EXPECT_EQ(moved.ns(), 2'000);
  EXPECT_TRUE((start + Duration::forever()).is_never());
  EXPECT_TRUE(Instant::never().is_never());
}

}  // namespace
}  // namespace keel::time_test
