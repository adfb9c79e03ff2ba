#include "keel/base/circular_buffer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "keel/base/bug.h"

namespace keel::circular_buffer_test {
namespace {

TEST(CircularBuffer, gives_elements_back_in_the_order_they_came) {
  CircularBuffer<std::string> ring(4);
  EXPECT_TRUE(ring.empty());

  EXPECT_TRUE(ring.try_push("first"));
  EXPECT_TRUE(ring.try_push("second"));

  EXPECT_EQ(ring.front(), "first");
  EXPECT_EQ(ring.back(), "second");
  EXPECT_EQ(ring[1], "second");
  EXPECT_EQ(ring.pop_front(), "first");
  EXPECT_EQ(ring.pop_front(), "second");
  EXPECT_TRUE(ring.empty());
}

TEST(CircularBuffer, refuses_when_it_is_full_and_leaves_the_value_alone) {
  CircularBuffer<std::unique_ptr<int>> ring(2);
  auto third = std::make_unique<int>(3);
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(1)));
  EXPECT_FALSE(ring.full());
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(2)));
  EXPECT_TRUE(ring.full());

  EXPECT_FALSE(ring.try_push(std::move(third)));

  ASSERT_NE(third, nullptr);
  EXPECT_EQ(*third, 3);
  EXPECT_EQ(*ring.pop_front(), 1);
  EXPECT_TRUE(ring.try_push(std::move(third)));
}

TEST(CircularBuffer, overwrites_the_oldest_when_told_to) {
  CircularBuffer<int> last(4);

  for (int i = 1; i <= 10; ++i) last.push_overwriting(i);

  ASSERT_EQ(last.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(last[i], static_cast<int>(7 + i));
}

TEST(CircularBuffer, overwrites_with_an_element_of_its_own) {
  CircularBuffer<std::string> ring(2);
  ring.push_overwriting("one that is too long to lie in the string itself");
  ring.push_overwriting("two");

  ring.push_overwriting(ring.front());

  EXPECT_EQ(ring.front(), "two");
  EXPECT_EQ(ring.back(), "one that is too long to lie in the string itself");
}

TEST(CircularBuffer, ends_what_it_holds_when_it_is_overwritten_popped_cleared_or_ended) {
  const auto watched = std::make_shared<int>(1);
  {
    CircularBuffer<std::shared_ptr<int>> ring(2);
    for (int i = 0; i < 3; ++i) ring.push_overwriting(watched);
    EXPECT_EQ(watched.use_count(), 3);
    ring.pop_front();
    EXPECT_EQ(watched.use_count(), 2);
    ring.clear();
    EXPECT_EQ(watched.use_count(), 1);
    EXPECT_TRUE(ring.try_push(watched));
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(CircularBuffer, moves_what_it_holds) {
  CircularBuffer<std::string> from(2);
  EXPECT_TRUE(from.try_push("kept"));

  CircularBuffer<std::string> to(std::move(from));

  EXPECT_EQ(to.size(), 1u);
  EXPECT_EQ(to.front(), "kept");
}

TEST(CircularBuffer, does_what_a_deque_does) {
  std::minstd_rand random(11);
  CircularBuffer<std::uint32_t> ring(8);
  std::deque<std::uint32_t> model;

  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<std::uint32_t>(random());
    switch (random() % 3) {
      case 0:
        ASSERT_EQ(ring.try_push(value), model.size() < 8);
        if (model.size() < 8) model.push_back(value);
        break;
      case 1:
        ring.push_overwriting(value);
        if (model.size() == 8) model.pop_front();
        model.push_back(value);
        break;
      default:
        if (model.empty()) break;
        ASSERT_EQ(ring.pop_front(), model.front());
        model.pop_front();
    }
    ASSERT_EQ(ring.size(), model.size());
    for (std::size_t at = 0; at < model.size(); ++at) ASSERT_EQ(ring[at], model[at]);
  }
}

TEST(CircularBufferDeathTest, aborts_when_its_capacity_is_no_power_of_two) {
  EXPECT_DEATH(CircularBuffer<int>(0), "must be a power of two");
  EXPECT_DEATH(CircularBuffer<int>(3), "must be a power of two");
  EXPECT_EQ(CircularBuffer<int>(1).capacity(), 1u);
}

TEST(CircularBuffer, throws_a_bug_when_asked_for_an_element_it_lacks) {
  CircularBuffer<int> ring(4);
  ring.push_overwriting(1);

  EXPECT_EQ(ring[0], 1);
  EXPECT_THROW((void)ring[1], Bug);
  ring.pop_front();
  EXPECT_THROW((void)ring.pop_front(), Bug);
  EXPECT_THROW((void)ring.back(), Bug);
}

}  // namespace
}  // namespace keel::circular_buffer_test
