#include "keel/data/internal/key_order.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace keel::json::internal {
namespace {

// What is expected while members come in this order, and at last.
std::vector<std::size_t> guesses(const void* table, std::size_t count, const std::vector<std::size_t>& coming) {
  std::vector<std::size_t> all;
  KeyOrder order(table, count);
  for (const std::size_t i : coming) {
    all.push_back(order.expected());
    order.came(i);
  }
  all.push_back(order.expected());
  return all;
}

// Runs `f` on a thread that has read nothing yet: tables may overlap with those of earlier tests.
template <class F>
void on_new_thread(F f) {
  std::thread(f).join();
}

TEST(KeyOrder, IsAtFirstThatOfTheTable) {
  static const char table = 0;
  on_new_thread([] { EXPECT_EQ(guesses(&table, 3, {0, 1, 2}), (std::vector<std::size_t>{0, 1, 2, 3})); });
}

TEST(KeyOrder, IsLearnedFromOneObject) {
  static const char table = 0;
  on_new_thread([] {
    EXPECT_EQ(guesses(&table, 4, {2, 0, 3}), (std::vector<std::size_t>{0, 3, 1, 4}));
    EXPECT_EQ(guesses(&table, 4, {2, 0, 3}), (std::vector<std::size_t>{2, 0, 3, 4}));
    EXPECT_EQ(guesses(&table, 4, {0, 1}), (std::vector<std::size_t>{2, 3, 2}));  // Another client.
    EXPECT_EQ(guesses(&table, 4, {0, 1}), (std::vector<std::size_t>{0, 1, 2}));
  });
}

TEST(KeyOrder, IsOfOneThread) {
  static const char table = 0;
  guesses(&table, 2, {1, 0});
  std::vector<std::size_t> others;
  std::thread([&others] { others = guesses(&table, 2, {0, 1}); }).join();
  EXPECT_EQ(others, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(guesses(&table, 2, {1, 0}), (std::vector<std::size_t>{1, 0, 1}));
}

TEST(KeyOrder, NeverLeavesTheTableWhateverOthersLeftThere) {
  static const char table = 0;
  for (std::size_t count = KeyOrder::members_max;; count /= 2) {
    for (std::size_t i = count; i-- > 0;) {
      KeyOrder order(&table, count);
      EXPECT_LE(order.expected(), count);
      order.came(i);
      EXPECT_LE(order.expected(), count);
      if (count > 1) order.came((i * 7 + 3) % count);
      EXPECT_LE(order.expected(), count);
    }
    if (count == 0) break;
  }
}

}  // namespace
}  // namespace keel::json::internal
