#include "keel/events/internal/turn.h"

#include <gtest/gtest.h>

#include "keel/base/testing/interleaving.h"

namespace keel::events::internal::turn_test {
namespace {

// Each does something and asks; whoever works looks at what was done.
struct Working {
  BasicTurn<interleaving::Atomics> turn;
  interleaving::Watched<int> working = 0;
  interleaving::Atomic<int> done[3];
  int seen[3] = {};

  void ask() {
    if (!turn.ask()) return;
    do {
      working = working + 1;
      for (int i = 0; i < 3; ++i) seen[i] = done[i].load(std::memory_order_relaxed);
    } while (!turn.give_back());
  }
  template <int i>
  void act() {
    done[i].store(1, std::memory_order_relaxed);
    ask();
  }
  void check() {
    for (const int one : seen) interleaving::require(one == 1, "what was done before somebody asked is seen");
    interleaving::require(turn.ask(), "the turn is given back");
  }
};

TEST(Turn, is_one_threads_at_a_time_and_misses_nothing_in_any_order_of_operations) {
  const auto explored = [](const interleaving::Options& options) {
    return interleaving::explore<Working>({&Working::act<0>, &Working::act<1>, &Working::act<2>}, options);
  };
  const auto verdict = explored({.stale_loads = 1});

  EXPECT_EQ(verdict.failure, "");
  EXPECT_GT(verdict.schedules, 100u);
  // The turn is the first atomic: it hands over what was done.
  EXPECT_NE(explored({.stale_loads = 1, .weak_loads_of = 0}).failure, "");
  EXPECT_NE(explored({.stale_loads = 1, .weak_stores_of = 0}).failure, "");
}

}  // namespace
}  // namespace keel::events::internal::turn_test
