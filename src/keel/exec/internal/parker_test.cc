// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/internal/parker.h"

#include <gtest/gtest.h>
#include <time.h>

#include <thread>

#include "keel/base/testing/interleaving.h"

namespace keel::internal::parker_test {
namespace {

TEST(Parker, returns_at_once_when_it_was_woken_before) {
  Parker parker;
  parker.unpark();
  parker.unpark();
  parker.park();
}

TEST(Parker, two_threads_wake_each_other_in_turns) {
  Parker here, there;
  int turns = 0;
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) {
      there.park();
      ++turns;
      here.unpark();
    }
  });

  for (int i = 0; i < 2000; ++i) {
    there.unpark();
    here.park();
    ASSERT_EQ(turns, i + 1);
  }
  other.join();
}

TEST(Parker, sleeps_without_using_the_processor) {
  Parker parker;
  timespec used{};
  std::thread sleeper([&] {
    parker.park();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  parker.unpark();
  sleeper.join();

  EXPECT_LT(used.tv_sec * 1000 + used.tv_nsec / 1'000'000, 20);
}

struct GivingOnce {
  BasicParker<interleaving::Atomics> parker;
  interleaving::Watched<int> given = 0;
  void give() {
    given = 1;
    parker.unpark();
  }
  void take() {
    parker.park();
    interleaving::require(given == 1, "who was woken sees why");
  }
  void check() {}
};

TEST(Parker, is_woken_and_sees_what_came_before_in_every_order_of_operations) {
  const auto explored = [](const interleaving::Options& options) {
    return interleaving::explore<GivingOnce>({&GivingOnce::give, &GivingOnce::take}, options);
  };
  const auto verdict = explored({.stale_loads = 2});

  EXPECT_EQ(verdict.failure, "");
  EXPECT_GT(verdict.schedules, 3u);
  EXPECT_NE(explored({.weak_loads_of = 0}).failure, "");
  EXPECT_NE(explored({.weak_stores_of = 0}).failure, "");
}

// Two who wake one: the second may come when the one is awake already, and has not looked yet.
struct GivingTwice {
  BasicParker<interleaving::Atomics> parker;
  interleaving::Atomic<int> first{0}, second{0};
  void give_first() {
    first.store(1, std::memory_order_relaxed);
    parker.unpark();
  }
  void give_second() {
    second.store(1, std::memory_order_relaxed);
    parker.unpark();
  }
  void take() {
    while (first.load(std::memory_order_relaxed) + second.load(std::memory_order_relaxed) < 2) parker.park();
  }
  void check() {}
};

TEST(Parker, loses_no_wake_up_of_two_in_any_order_of_operations) {
  const auto verdict = interleaving::explore<GivingTwice>(
      {&GivingTwice::give_first, &GivingTwice::give_second, &GivingTwice::take}, {.stale_loads = 2});

  EXPECT_EQ(verdict.failure, "");
  EXPECT_GT(verdict.schedules, 10u);
}

}  // namespace
}  // namespace keel::internal::parker_test
