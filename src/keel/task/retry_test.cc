#include "keel/task/retry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/observe/metric.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::retry_test {
namespace {

// Something that fails as often as it is told to.
struct Remote {
  int failures = 0;
  Code code = Code::Unavailable;
  Duration takes = {};
  std::vector<Instant> asked;

  Task<int> ask(int question) {
    asked.push_back(Host::current().now());
    co_await sleep_for(takes);
    if (static_cast<int>(asked.size()) <= failures) co_return fail(code, "not now");
    co_return question * 2;
  }
  Task<> tell() {
    asked.push_back(Host::current().now());
    if (static_cast<int>(asked.size()) <= failures) co_await fail(code, "not now");
  }
  std::size_t times() const { return asked.size(); }
};

struct RetryTest : ::testing::Test {
  testing::TestLoop loop;
  Remote remote;
};

Task<int> ask(Retry& retry, Remote& remote) {
  co_return co_await retry.run([&] { return remote.ask(21); });
}
Task<> tell(Retry& retry, Remote& remote) {
  co_await retry.run([&] { return remote.tell(); });
}
// Each attempt for at most `limit`.
Task<int> ask_within(Retry& retry, Remote& remote, Duration limit) {
  co_return co_await retry.run([&remote, limit] { return with_timeout(limit, remote.ask(21)); });
}
Task<int> by_deadline(Retry& retry, Remote& remote, Duration left) {
  co_return co_await with_timeout(left, ask(retry, remote));
}

TEST(Retry, waits_for_a_random_part_of_a_bound_that_doubles) {
  const RetryOptions options{.backoff_first = 100_ms, .backoff_max = 350_ms};
  const Duration bounds[] = {100_ms, 200_ms, 350_ms, 350_ms};
  for (int attempt = 2; attempt <= 5; ++attempt) {
    const Duration bound = bounds[attempt - 2];
    Duration least = 1_h;
    Duration most;
    std::uint64_t random = 1;
    for (int i = 0; i < 1000; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const Duration wait = backoff(options, attempt, random >> 3);
      least = std::min(least, wait);
      most = std::max(most, wait);
      ASSERT_GE(wait, Duration());
      ASSERT_LE(wait, bound);
    }
    EXPECT_LT(least, bound / 10) << attempt;
    EXPECT_GT(most, bound - bound / 10) << attempt;
  }
  EXPECT_EQ(backoff(options, 2, static_cast<std::uint64_t>((100_ms).count_ns())), 100_ms);
  EXPECT_EQ(backoff({.backoff_first = Duration()}, 2, 12345), Duration());
}

TEST(RetryBudget, spends_what_was_saved_and_then_a_share_of_the_requests) {
  RetryBudget budget({.budget_ratio = 0.1, .budget_max = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(budget.spend());
  EXPECT_FALSE(budget.spend());

  int retries = 0;
  for (int request = 0; request < 100; ++request) {
    budget.earn();
    if (budget.spend()) ++retries;
  }

  EXPECT_EQ(retries, 10);
}

TEST(RetryBudget, saves_up_to_its_bound) {
  RetryBudget budget({.budget_ratio = 1, .budget_max = 2});
  for (int i = 0; i < 50; ++i) budget.earn();

  EXPECT_TRUE(budget.spend());
  EXPECT_TRUE(budget.spend());
  EXPECT_FALSE(budget.spend());
}

TEST(RetryBudget, of_nothing_allows_nothing) {
  RetryBudget budget({.budget_max = 0});
  budget.earn();
  EXPECT_FALSE(budget.spend());
}

TEST_F(RetryTest, gives_the_first_result_at_once) {
  Retry retry;
  EXPECT_EQ(loop.run(ask(retry, remote)).value(), 42);
  EXPECT_EQ(remote.times(), 1u);
  EXPECT_EQ(retry.stats().retries, 0u);
}

TEST_F(RetryTest, asks_again_after_a_wait_until_it_has_a_result) {
  Retry retry({.backoff_first = 100_ms, .backoff_max = 1_s});
  remote.failures = 2;

  EXPECT_EQ(loop.run(ask(retry, remote)).value(), 42);

  ASSERT_EQ(remote.times(), 3u);
  EXPECT_GT(remote.asked[1], remote.asked[0]);
  EXPECT_LE(remote.asked[1] - remote.asked[0], 101_ms);
  EXPECT_LE(remote.asked[2] - remote.asked[1], 201_ms);
  EXPECT_EQ(retry.stats().retries, 2u);
}

TEST_F(RetryTest, gives_the_last_error_as_it_is) {
  Retry retry({.attempts_max = 4});
  remote.failures = 100;

  const Result<int> result = loop.run(ask(retry, remote));

  EXPECT_EQ(result.error().code(), Code::Unavailable);
  EXPECT_EQ(result.error().message(), "not now");
  EXPECT_EQ(remote.times(), 4u);
}

TEST_F(RetryTest, is_for_tasks_without_a_value_too) {
  Retry retry;
  remote.failures = 1;
  EXPECT_TRUE(loop.run(tell(retry, remote)));
  EXPECT_EQ(remote.times(), 2u);
}

TEST_F(RetryTest, does_not_repeat_what_cannot_end_otherwise) {
  for (const Code code : {Code::InvalidArgument, Code::NotFound, Code::Conflict, Code::ResourceExhausted,
                          Code::Cancelled, Code::Internal, Code::PermissionDenied}) {
    Retry retry;
    Remote other;
    other.failures = 100;
    other.code = code;
    EXPECT_EQ(loop.run(ask(retry, other)).error().code(), code);
    EXPECT_EQ(other.times(), 1u) << to_string(code);
  }
}

TEST_F(RetryTest, repeats_what_the_caller_says) {
  Retry retry({.when = [](const Error& error) { return error.code() == Code::Conflict; }});
  remote.code = Code::Conflict;
  remote.failures = 1;
  EXPECT_TRUE(loop.run(ask(retry, remote)));

  Remote other;
  other.failures = 1;
  EXPECT_EQ(loop.run(ask(retry, other)).error().code(), Code::Unavailable);
}

TEST_F(RetryTest, bounds_each_attempt_by_with_timeout) {
  Retry retry({.attempts_max = 3, .backoff_first = 10_ms});
  remote.takes = 1_h;
  const Instant began = loop.now();

  EXPECT_EQ(loop.run(ask_within(retry, remote, 200_ms)).error().code(), Code::DeadlineExceeded);

  EXPECT_EQ(remote.times(), 3u);
  EXPECT_LT(loop.now() - began, 700_ms);
}

TEST_F(RetryTest, never_waits_beyond_the_deadline_of_its_caller) {
  // Some attempts fit before the deadline, and no wait ends after it: the error is the last attempt's.
  Retry retry({.attempts_max = 1000, .backoff_first = 100_ms, .budget_max = 1000});
  remote.failures = 1000;
  const Instant began = loop.now();

  const Result<int> result = loop.run(by_deadline(retry, remote, 300_ms));

  EXPECT_EQ(result.error().message(), "not now");
  EXPECT_LT(loop.now() - began, 300_ms);
  EXPECT_GE(remote.times(), 2u);
}

TEST_F(RetryTest, ends_with_a_caller_that_is_stopped_while_it_waits) {
  Retry retry({.backoff_first = 1_h, .backoff_max = 1_h});
  remote.failures = 100;
  Start<int> start;
  ASSERT_FALSE(start.begin(ask(retry, remote), [](StartCore&) noexcept {}));
  loop.run_jobs();

  start.stop();
  loop.run_jobs();

  ASSERT_TRUE(start.has_ended());
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_EQ(remote.times(), 1u);
}

TEST_F(RetryTest, asks_a_failing_side_a_tenth_more_and_not_three_times_as_often) {
  Retry retry({.attempts_max = 3, .budget_ratio = 0.1, .budget_max = 10});
  remote.failures = 1 << 30;
  for (int call = 0; call < 1000; ++call) EXPECT_FALSE(loop.run(ask(retry, remote)));

  EXPECT_EQ(remote.times(), 1000u + 10 + 99);
  EXPECT_EQ(retry.stats().retries, 109u);
  EXPECT_GT(retry.stats().refused, 0u);
}

TEST_F(RetryTest, keeps_a_closure_that_has_a_name_by_reference) {
  Retry retry;
  remote.failures = 1;
  const std::string text(100, 'x');
  const auto run = [&]() -> Task<std::size_t> {
    const auto call = [text, this]() -> Task<std::size_t> {
      co_await remote.tell();
      co_return text.size();
    };
    co_return co_await retry.run(call);
  };
  EXPECT_EQ(loop.run(run()).value(), 100u);
}

TEST_F(RetryTest, counts_in_metrics) {
  if (!metrics::is_recorded) GTEST_SKIP() << "compiled out";
  metrics::Registry registry;
  Retry retry({.attempts_max = 3, .budget_ratio = 0, .budget_max = 3});
  retry.expose(registry, "payments");
  remote.failures = 100;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(loop.run(ask(retry, remote)));

  const auto value = [&](std::string_view counted, std::string_view help) {
    return registry.counter(counted, help, {{"name", "payments"}}).value();
  };
  EXPECT_EQ(value("retries_total", "Retries: attempts of a call after the first one"), 3u);
  EXPECT_EQ(value("retries_refused_total", "Calls that were not retried because the retry budget was spent"), 2u);
}

}  // namespace
}  // namespace keel::retry_test
