#include "keel/http/middleware/token_buckets.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::http::token_buckets_test {
namespace {

constexpr SipKey key{1, 2};
Instant at(Duration since) { return Instant::from_ns(1'000'000'000'000) + since; }

TEST(TokenBuckets, give_what_a_full_bucket_holds_and_then_what_is_refilled) {
  TokenBuckets buckets({.tokens = 3, .per = 30_s}, key);

  for (std::uint32_t left : {2u, 1u, 0u}) {
    const auto taken = buckets.take("a", at(0_s));
    EXPECT_TRUE(taken.allowed);
    EXPECT_EQ(taken.remaining, left);
    EXPECT_EQ(taken.full_after, 10_s * static_cast<int>(3 - left));
  }
  const auto refused = buckets.take("a", at(4_s));
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.remaining, 0u);
  EXPECT_EQ(refused.retry_after, 6_s);
  EXPECT_EQ(refused.full_after, 26_s);
  EXPECT_FALSE(buckets.take("a", at(10_s) - 1_ns).allowed);
  EXPECT_TRUE(buckets.take("a", at(10_s)).allowed) << "what is refused takes nothing";
  EXPECT_FALSE(buckets.take("a", at(10_s)).allowed);
  EXPECT_EQ(buckets.take("a", at(100_s)).remaining, 2u) << "never more than full";
}

TEST(TokenBuckets, are_one_for_each_key) {
  TokenBuckets buckets({.tokens = 1, .per = 1_s}, key);
  EXPECT_TRUE(buckets.take("a", at(0_s)).allowed);
  EXPECT_TRUE(buckets.take("b", at(0_s)).allowed);
  EXPECT_TRUE(buckets.take("", at(0_s)).allowed);
  EXPECT_FALSE(buckets.take("a", at(0_s)).allowed);
}

TEST(TokenBuckets, let_through_what_they_say_over_a_long_time) {
  TokenBuckets buckets({.tokens = 7, .per = 1_s}, key);
  int allowed = 0;
  for (int i = 0; i < 10'000; ++i) allowed += buckets.take("a", at(1_ms * i)).allowed ? 1 : 0;
  EXPECT_GE(allowed, 70);
  EXPECT_LE(allowed, 77) << "ten seconds, and a full bucket before";
}

TEST(TokenBuckets, remember_who_has_taken_most_when_many_keys_come) {
  TokenBuckets buckets({.tokens = 10, .per = 1_h, .keys_max = 64}, key);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(buckets.take("greedy", at(0_s)).allowed);

  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(buckets.take("client" + std::to_string(i), at(1_s)).allowed);

  EXPECT_FALSE(buckets.take("greedy", at(1_s)).allowed);
}

TEST(TokenBuckets, keep_as_many_keys_as_they_have_room_for) {
  TokenBuckets buckets({.tokens = 1, .per = 1_h, .keys_max = 8}, key);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(buckets.take(std::to_string(i), at(1_s * i)).allowed);
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(buckets.take(std::to_string(i), at(8_s)).allowed) << i;

  EXPECT_TRUE(buckets.take("8", at(9_s)).allowed);
  EXPECT_TRUE(buckets.take("0", at(9_s)).allowed) << "its was the fullest, and made room";
}

TEST(TokenBucketsDeathTest, refuse_a_bucket_without_tokens_or_time) {
  EXPECT_DEATH(TokenBuckets({.tokens = 0}, key), "must hold at least one token");
  EXPECT_DEATH(TokenBuckets({.tokens = 10, .per = Duration()}, key), "be refilled");
}

}  // namespace
}  // namespace keel::http::token_buckets_test
