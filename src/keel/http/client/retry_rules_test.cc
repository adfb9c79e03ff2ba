#include "keel/http/client/retry_rules.h"

#include <gtest/gtest.h>

namespace keel::http::retry_rules_test {
namespace {

TEST(RetryRules, only_what_may_be_done_twice_is_idempotent) {
  for (const Method method :
       {Method::Get, Method::Head, Method::Put, Method::Delete, Method::Options, Method::Trace, Method::Query}) {
    EXPECT_TRUE(is_idempotent(method)) << to_string(method);
  }
  for (const Method method : {Method::Post, Method::Patch, Method::Connect, Method::Other}) {
    EXPECT_FALSE(is_idempotent(method)) << to_string(method);
  }
}

TEST(RetryRules, is_for_answers_that_may_change_by_themselves) {
  for (const int status : {429, 502, 503, 504}) EXPECT_TRUE(is_worth_a_retry(static_cast<Status>(status))) << status;
  for (const int status : {200, 301, 400, 404, 408, 409, 500, 501, 505}) {
    EXPECT_FALSE(is_worth_a_retry(static_cast<Status>(status))) << status;
  }
}

TEST(RetryRules, after_is_seconds_or_a_date) {
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

}  // namespace
}  // namespace keel::http::retry_rules_test
