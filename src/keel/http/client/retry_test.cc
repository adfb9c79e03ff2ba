#include "keel/http/client/retry.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace keel::http {
namespace {

TEST(Retry, only_what_may_be_done_twice_is_idempotent) {
  for (const Method method : {Method::Get, Method::Head, Method::Put, Method::Delete, Method::Options, Method::Trace}) {
    EXPECT_TRUE(is_idempotent(method)) << to_string(method);
  }
  for (const Method method : {Method::Post, Method::Patch, Method::Connect, Method::Other}) {
    EXPECT_FALSE(is_idempotent(method)) << to_string(method);
  }
}

TEST(Retry, is_for_answers_that_may_change_by_themselves) {
  for (const int status : {429, 502, 503, 504}) EXPECT_TRUE(is_worth_a_retry(static_cast<Status>(status))) << status;
  for (const int status : {200, 301, 400, 404, 408, 409, 500, 501, 505}) {
    EXPECT_FALSE(is_worth_a_retry(static_cast<Status>(status))) << status;
  }
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

TEST(Retry, after_is_seconds_or_a_date) {
  const std::int64_t now = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("0", now), Duration());
  EXPECT_EQ(parse_retry_after("120", now), 120_s);
  EXPECT_EQ(parse_retry_after("99999999999999999999", now), Duration::seconds(1'000'000'000));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now), 10_s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:27 GMT", now), Duration());
  for (const std::string_view value : {"", "-1", "1.5", "soon", "+3", " 3"}) {
    EXPECT_EQ(parse_retry_after(value, now), std::nullopt) << value;
  }
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

}  // namespace
}  // namespace keel::http
