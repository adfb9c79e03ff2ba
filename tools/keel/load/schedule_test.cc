#include "load/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace keel::load::load_schedule_test {
namespace {

constexpr Rate steady(double rate) { return {.from = rate, .to = rate}; }

TEST(Schedule, constant_arrivals_are_evenly_spaced) {
  Schedule schedule({.rate = steady(1000)}, 0, 1);

  for (int i = 0; i < 5000; ++i) EXPECT_EQ(schedule.next(), 1_ms * i);
}

TEST(Schedule, threads_take_turns) {
  Schedule first({.rate = steady(1000)}, 0, 3);
  Schedule last({.rate = steady(1000)}, 2, 3);

  EXPECT_EQ(first.next(), Duration());
  EXPECT_EQ(first.next(), 3_ms);
  EXPECT_EQ(last.next(), 2_ms);
  EXPECT_EQ(last.next(), 5_ms);
}

TEST(Schedule, a_ramp_reaches_its_end_and_stays) {
  const Rate rate{.from = 100, .to = 300, .over = 10_s};

  EXPECT_NEAR(rate.due_by(5_s), 750, 1e-6);
  EXPECT_NEAR(rate.due_by(10_s), 2000, 1e-6);
  EXPECT_NEAR(rate.due_by(11_s), 2300, 1e-6);
  for (const double count : {0.0, 1.0, 100.0, 1999.0, 2000.0, 2001.0, 50'000.0}) {
    EXPECT_NEAR(rate.due_by(rate.when(count)), count, 1e-5) << count;
  }
}

TEST(Schedule, a_ramp_may_begin_at_nothing_or_go_down) {
  const Rate up{.from = 0, .to = 100, .over = 2_s};
  const Rate down{.from = 100, .to = 10, .over = 2_s};

  for (const double count : {1.0, 50.0, 99.0, 101.0, 200.0}) {
    EXPECT_NEAR(up.due_by(up.when(count)), count, 1e-5) << count;
    EXPECT_NEAR(down.due_by(down.when(count)), count, 1e-5) << count;
  }
}

TEST(Schedule, random_arrivals_have_the_rate_and_the_spread_of_a_poisson_process) {
  for (const int threads : {1, 4}) {
    std::vector<std::int64_t> at;
    for (int thread = 0; thread < threads; ++thread) {
      Schedule schedule({.rate = steady(10'000), .arrivals = Arrivals::Poisson, .seed = 5}, thread, threads);
      for (Duration next = schedule.next(); next < 20_s; next = schedule.next()) at.push_back(next.count_ns());
    }
    std::sort(at.begin(), at.end());
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 1; i < at.size(); ++i) {
      const double gap = static_cast<double>(at[i] - at[i - 1]) * 1e-9;
      sum += gap;
      squares += gap * gap;
    }
    const double count = static_cast<double>(at.size() - 1);
    const double mean = sum / count;
    const double deviation = std::sqrt(squares / count - mean * mean);
    EXPECT_NEAR(static_cast<double>(at.size()), 200'000, 2000) << threads;
    EXPECT_NEAR(deviation / mean, 1, 0.02) << threads;
  }
}

TEST(Schedule, the_same_seed_gives_the_same_times) {
  const Schedule::Options options{.rate = steady(100), .arrivals = Arrivals::Poisson, .seed = 9};
  Schedule one(options, 0, 1);
  Schedule same(options, 0, 1);
  Schedule other({.rate = steady(100), .arrivals = Arrivals::Poisson, .seed = 10}, 0, 1);
  bool differs = false;

  for (int i = 0; i < 100; ++i) {
    const Duration at = one.next();
    EXPECT_EQ(at, same.next());
    differs = differs || at != other.next();
  }

  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace keel::load::load_schedule_test
