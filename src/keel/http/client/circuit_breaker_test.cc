#include "keel/http/client/circuit_breaker.h"

#include <gtest/gtest.h>

#include <vector>

namespace keel::http {
namespace {

using State = CircuitBreaker::State;

class CircuitBreakerTest : public ::testing::Test {
 protected:
  void call(bool succeeds) {
    auto call = breaker_.admit(now_);
    ASSERT_TRUE(call);
    succeeds ? call->succeeded(now_) : call->failed(now_);
  }
  void calls(int count, bool succeed) {
    for (int i = 0; i < count; ++i) call(succeed);
  }
  bool is_admitted() { return breaker_.admit(now_).has_value(); }

  CircuitBreaker breaker_{{.failure_ratio = 0.5, .calls_min = 10, .window = 10_s, .open_time = 5_s, .probes_min = 2}};
  Instant now_ = Instant::from_ns(1'000'000'000'000);
};

TEST_F(CircuitBreakerTest, opens_at_the_ratio_and_not_below_it) {
  calls(6, true);
  calls(5, false);
  EXPECT_EQ(breaker_.state(now_), State::Closed);

  calls(1, false);

  EXPECT_EQ(breaker_.state(now_), State::Open);
  EXPECT_FALSE(is_admitted());
  EXPECT_EQ(breaker_.until_probe(now_), 5_s);
}

TEST_F(CircuitBreakerTest, does_not_judge_by_few_calls) {
  calls(9, false);
  EXPECT_EQ(breaker_.state(now_), State::Closed);

  calls(1, false);

  EXPECT_EQ(breaker_.state(now_), State::Open);
}

TEST_F(CircuitBreakerTest, forgets_what_is_older_than_its_window) {
  calls(9, false);
  now_ = now_ + 11_s;
  calls(1, false);
  EXPECT_EQ(breaker_.state(now_), State::Closed);

  calls(9, false);

  EXPECT_EQ(breaker_.state(now_), State::Open);
}

TEST_F(CircuitBreakerTest, counts_what_is_within_its_window) {
  calls(9, false);
  now_ = now_ + 8_s;
  calls(1, false);
  EXPECT_EQ(breaker_.state(now_), State::Open);
}

TEST_F(CircuitBreakerTest, half_open_admits_one_probe_at_a_time_and_closes_after_enough_good_ones) {
  calls(10, false);
  now_ = now_ + 5_s - 1_ns;
  EXPECT_FALSE(is_admitted());
  now_ = now_ + 1_ns;
  EXPECT_EQ(breaker_.state(now_), State::HalfOpen);

  auto probe = breaker_.admit(now_);
  ASSERT_TRUE(probe);
  EXPECT_FALSE(is_admitted());
  probe->succeeded(now_);
  EXPECT_EQ(breaker_.state(now_), State::HalfOpen);
  call(true);

  EXPECT_EQ(breaker_.state(now_), State::Closed);
  calls(9, false);
  EXPECT_EQ(breaker_.state(now_), State::Closed) << "what was before is forgotten";
}

TEST_F(CircuitBreakerTest, opens_again_after_a_bad_probe) {
  calls(10, false);
  now_ = now_ + 5_s;
  call(true);
  call(false);
  EXPECT_EQ(breaker_.state(now_), State::Open);
  EXPECT_EQ(breaker_.until_probe(now_), 5_s);

  now_ = now_ + 5_s;
  call(true);
  EXPECT_EQ(breaker_.state(now_), State::HalfOpen) << "good probes count from the start again";
}

TEST_F(CircuitBreakerTest, a_probe_without_an_outcome_makes_room_for_another) {
  calls(10, false);
  now_ = now_ + 5_s;
  EXPECT_TRUE(is_admitted());  // And destroyed.
  EXPECT_TRUE(is_admitted());
  EXPECT_EQ(breaker_.state(now_), State::HalfOpen);
}

TEST_F(CircuitBreakerTest, what_began_before_it_opened_counts_no_more) {
  std::vector<CircuitBreaker::Call> early;
  for (int i = 0; i < 3; ++i) early.push_back(*breaker_.admit(now_));
  calls(10, false);
  now_ = now_ + 5_s;

  early.back().failed(now_);
  early.pop_back();
  EXPECT_EQ(breaker_.state(now_), State::HalfOpen);
  early.back().succeeded(now_);
  early.pop_back();
  EXPECT_EQ(breaker_.state(now_), State::HalfOpen);
  auto probe = breaker_.admit(now_);
  early.clear();
  EXPECT_FALSE(is_admitted()) << "the probe is still under way";
  probe->succeeded(now_);
}

TEST_F(CircuitBreakerTest, above_one_never_opens) {
  CircuitBreaker breaker({.failure_ratio = 1.1, .calls_min = 1});
  for (int i = 0; i < 100; ++i) {
    auto call = breaker.admit(now_);
    ASSERT_TRUE(call);
    call->failed(now_);
  }
  EXPECT_EQ(breaker.state(now_), State::Closed);
}

}  // namespace
}  // namespace keel::http
