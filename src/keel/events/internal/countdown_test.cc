#include "keel/events/internal/countdown.h"

#include <gtest/gtest.h>

#include "keel/base/testing/interleaving.h"

namespace keel::events::internal::countdown_test {
namespace {

using interleaving::require;
using interleaving::Watched;

// Two that end on threads of their own, and one who waits, and may stop it.
struct Counting {
  Counting() {
    countdown.begin();
    countdown.begin();
  }
  BasicCountdown<interleaving::Atomics> countdown;
  Watched<int> first = 0, second = 0;
  Watched<int> waiter = 0;  // The thread that the last of them wakes.
  int told = 0;
  bool waits = false;

  void end() {
    if (!countdown.end()) return;
    require(waiter == 1 && first == 1 && second == 1, "who is last sees who waits, and what the others did");
    ++told;
  }
  void end_first() {
    first = 1;
    end();
  }
  void end_second() {
    second = 1;
    end();
  }
  // A delivery that makes another one.
  void begin_and_end_twice() {
    countdown.begin();
    end();
    first = 1;
    end();
  }
  void wait() {
    waiter = 1;
    waits = countdown.wait();
    if (!waits) see();
  }
  void wait_and_stop() {
    wait();
    if (waits) waits = !countdown.stop_waiting();
  }
  void look() {
    if (countdown.is_zero()) see();
  }

  void check() { require(told == (waits ? 1 : 0), "who waits is told once, and nobody else is"); }

 private:
  void see() { require(first == 1 && second == 1, "who need not wait sees what was done"); }
};

using Step = void (Counting::*)();
interleaving::Verdict explored(Step first, Step third, const interleaving::Options& options = {.stale_loads = 2}) {
  return interleaving::explore<Counting>({first, &Counting::end_second, third}, options);
}

TEST(Countdown, tells_once_whoever_waits_in_every_order_of_operations) {
  for (const Step first : {&Counting::end_first, &Counting::begin_and_end_twice}) {
    for (const Step third : {&Counting::wait, &Counting::wait_and_stop, &Counting::look}) {
      const auto verdict = explored(first, third);
      EXPECT_EQ(verdict.failure, "");
      EXPECT_GT(verdict.schedules, 2u);
    }
  }
}

TEST(Countdown, needs_the_orders_of_its_operations) {
  EXPECT_NE(explored(&Counting::end_first, &Counting::wait, {.weak_loads_of = 0}).failure, "");
  EXPECT_NE(explored(&Counting::end_first, &Counting::wait, {.weak_stores_of = 0}).failure, "");
  EXPECT_NE(explored(&Counting::end_first, &Counting::look, {.weak_loads_of = 0}).failure, "");
}

}  // namespace
}  // namespace keel::events::internal::countdown_test
