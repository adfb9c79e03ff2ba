// Crosses threads: run under ThreadSanitizer.
#include "keel/exec/internal/parker.h"

#include <gtest/gtest.h>
#include <time.h>

#include <thread>

namespace keel::internal {
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

}  // namespace
}  // namespace keel::internal
