#include "keel/task/circuit_breaker.h"

#include <gtest/gtest.h>

#include <vector>

#include "keel/observe/metric.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::circuit_breaker_test {
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

Task<int> answer(Code code, int& calls) {
  ++calls;
  co_await sleep_for(1_ms);
  if (code != Code::NotFound) co_return fail(code, "it has failed");
  co_return 42;
}
Task<int> run_through(CircuitBreaker& breaker, Code code, int& calls) {
  co_return co_await breaker.run([&calls, code] { return answer(code, calls); });
}
Task<int> slow(int& calls) {
  ++calls;
  co_await sleep_for(1_h);
  co_return 42;
}
Task<int> run_slow(CircuitBreaker& breaker, int& calls) {
  co_return co_await breaker.run([&calls] { return with_timeout(10_ms, slow(calls)); });
}

struct CircuitBreakerRun : ::testing::Test {
  testing::TestLoop loop;
  CircuitBreaker breaker{{.calls_min = 4}};
  int calls = 0;
  // NotFound stands for a result.
  Result<int> run(Code code) { return loop.run(run_through(breaker, code, calls)); }
};

TEST_F(CircuitBreakerRun, stops_calling_what_fails_and_asks_again_later) {
  EXPECT_EQ(run(Code::NotFound).value(), 42);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(Code::Unavailable).error().message(), "it has failed");
  ASSERT_EQ(breaker.state(loop.now()), State::Open);
  ASSERT_EQ(calls, 4);

  const Result<int> rejected = run(Code::NotFound);
  EXPECT_EQ(rejected.error().code(), Code::Unavailable);
  EXPECT_EQ(rejected.error().message(), "the circuit is open: too many calls have failed");
  EXPECT_EQ(calls, 4) << "nothing was called";
  EXPECT_EQ(breaker.stats().rejected, 1u);
  EXPECT_EQ(breaker.stats().opened, 1u);

  loop.advance(5_s);
  EXPECT_EQ(run(Code::NotFound).value(), 42);
  EXPECT_EQ(breaker.state(loop.now()), State::Closed);
}

TEST_F(CircuitBreakerRun, takes_an_error_that_is_an_answer_for_a_good_sign) {
  for (const Code code : {Code::InvalidArgument, Code::AlreadyExists, Code::Conflict, Code::PermissionDenied}) {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(run(code).error().code(), code);
    EXPECT_EQ(breaker.state(loop.now()), State::Closed) << to_string(code);
  }
}

TEST_F(CircuitBreakerRun, takes_a_caller_that_went_away_for_no_sign_at_all) {
  for (int i = 0; i < 100; ++i) run(Code::Cancelled).error();
  for (int i = 0; i < 100; ++i) run(Code::ResourceExhausted).error();
  for (int i = 0; i < 4; ++i) run(Code::Unavailable).error();
  EXPECT_EQ(breaker.state(loop.now()), State::Open) << "four of four have failed";
}

TEST_F(CircuitBreakerRun, counts_what_takes_too_long) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(loop.run(run_slow(breaker, calls)).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(breaker.state(loop.now()), State::Open);
}

TEST_F(CircuitBreakerRun, counts_the_errors_that_its_owner_names) {
  CircuitBreaker own({.calls_min = 2, .fails = [](const Error& error) { return error.code() == Code::Conflict; }});
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(loop.run(run_through(own, Code::Unavailable, calls)));
  EXPECT_EQ(own.state(loop.now()), State::Closed);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(loop.run(run_through(own, Code::Conflict, calls)));
  EXPECT_EQ(own.state(loop.now()), State::Open);
}

TEST_F(CircuitBreakerRun, shows_itself_in_metrics) {
  if (!metrics::is_recorded) GTEST_SKIP() << "compiled out";
  metrics::Registry registry;
  CircuitBreaker payments({.calls_min = 4});
  payments.expose(registry, "payments");
  const auto shown = [&] {
    registry.sample();
    metrics::Reading reading;
    double open = -1;
    registry.read(reading, [&](std::span<const metrics::Family> families) {
      for (const metrics::Family& family : families) {
        if (family.name != "circuits") continue;
        for (const metrics::Series& series : family.series) {
          if (series.label_values == std::vector<std::string>{"payments", "open"}) open = series.function_value;
        }
      }
    });
    return open;
  };
  EXPECT_EQ(shown(), 0);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(loop.run(run_through(payments, Code::Unavailable, calls)));

  EXPECT_EQ(shown(), 1);
  EXPECT_EQ(
      registry.counter("circuit_rejected_total", "Calls that an open circuit breaker rejected", {{"name", "payments"}})
          .value(),
      1u);
}

}  // namespace
}  // namespace keel::circuit_breaker_test
