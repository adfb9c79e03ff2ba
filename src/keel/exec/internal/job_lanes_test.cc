#include "keel/exec/internal/job_lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>

namespace keel::internal::job_lanes_test {
namespace {

struct Named : Job {
  explicit Named(int n) : Job([](Job&) noexcept {}), number(n) {}
  int number;
};

class Lanes : public ::testing::Test {
 protected:
  Job& make(int number) { return jobs_.emplace_back(number); }
  int pop() {
    Job* const job = lanes_.pop();
    return job == nullptr ? -1 : static_cast<Named*>(job)->number;
  }
  std::deque<Named> jobs_;
  JobLanes lanes_{1};
};

TEST_F(Lanes, are_first_in_first_out_far_beyond_the_ring) {
  int next = 0;
  int expected = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) lanes_.push(make(next++), Priority::Normal);
    for (int i = 0; i < (round < 10 ? 50 : 150); ++i) EXPECT_EQ(pop(), expected++);
  }
  EXPECT_EQ(expected, next);
  EXPECT_EQ(lanes_.size(), 0u);
  EXPECT_EQ(pop(), -1);
}

TEST_F(Lanes, give_what_is_more_urgent_first) {
  lanes_.push(make(3), Priority::Low);
  lanes_.push(make(2), Priority::Normal);
  lanes_.push(make(0), Priority::High);
  lanes_.push(make(1), Priority::High);
  EXPECT_EQ(lanes_.size(), 4u);

  for (int i = 0; i < 4; ++i) EXPECT_EQ(pop(), i);
}

TEST_F(Lanes, give_each_lane_its_turn_after_16_others) {
  lanes_.push(make(1000), Priority::Low);
  for (int i = 0; i < 40; ++i) lanes_.push(make(i), Priority::High);

  for (int i = 0; i < JobLanes::passes_max; ++i) EXPECT_EQ(pop(), i);
  EXPECT_EQ(pop(), 1000) << "the 17th is the one that was passed over 16 times";
  EXPECT_EQ(pop(), 16);
}

TEST_F(Lanes, starve_none_of_two_behind_a_busy_one) {
  for (int i = 0; i < 200; ++i) lanes_.push(make(0), Priority::High);
  for (int i = 0; i < 20; ++i) {
    lanes_.push(make(1), Priority::Normal);
    lanes_.push(make(2), Priority::Low);
  }
  int since[3] = {};
  int worst[3] = {};
  for (int i = 0; i < 120; ++i) {
    const int lane = pop();
    for (int other = 0; other < 3; ++other) {
      since[other] = other == lane ? 0 : since[other] + 1;
      worst[other] = std::max(worst[other], since[other]);
    }
  }
  EXPECT_LE(worst[1], JobLanes::passes_max + 1);
  EXPECT_LE(worst[2], JobLanes::passes_max + 1);
  EXPECT_LE(worst[0], 2);
}

TEST_F(Lanes, begin_to_count_anew_when_a_lane_was_empty) {
  lanes_.push(make(1), Priority::Low);
  EXPECT_EQ(pop(), 1);
  for (int i = 0; i < 30; ++i) lanes_.push(make(i), Priority::High);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pop(), i);
  lanes_.push(make(1000), Priority::Low);

  for (int i = 10; i < 26; ++i) EXPECT_EQ(pop(), i);
  EXPECT_EQ(pop(), 1000);
}

}  // namespace
}  // namespace keel::internal::job_lanes_test
