// Who relies on whose wake-up, in every schedule. That a job runs: runtime_test.cc.

#include "keel/io/internal/wake_up.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "keel/base/mpsc_queue.h"
#include "keel/base/testing/interleaving.h"

namespace keel::io::wake_up_test {
namespace {

using interleaving::explore;
using interleaving::Verdict;
using interleaving::Watched;

TEST(WakeUp, is_sent_once_until_it_came) {
  WakeUp<> wake_up;
  EXPECT_TRUE(wake_up.now());
  EXPECT_FALSE(wake_up.now());
  EXPECT_FALSE(wake_up.later());
  wake_up.came();
  EXPECT_TRUE(wake_up.now());
}

TEST(WakeUp, that_waits_for_a_turn_to_end_is_relied_on_by_nobody_else) {
  WakeUp<> wake_up;
  EXPECT_TRUE(wake_up.later());
  EXPECT_TRUE(wake_up.later());
  EXPECT_TRUE(wake_up.now());
  EXPECT_FALSE(wake_up.now());
}

TEST(WakeUp, that_has_left_is_relied_on) {
  WakeUp<> wake_up;
  EXPECT_TRUE(wake_up.later());
  wake_up.leaves();
  EXPECT_FALSE(wake_up.now());
  EXPECT_FALSE(wake_up.later());
}

// ---- In every schedule.

struct Letter {
  Watched<Letter*> next{nullptr};
  Watched<bool> is_awaited{false};
};

// An owner who sleeps until the kernel wakes him, and who has to get what those have queued who do not stall.
struct Sleeper {
  MpscQueue<Letter, interleaving::Atomics> queue;
  WakeUp<interleaving::Atomics> wake_up;
  interleaving::Atomic<unsigned> kernel{0u};  // Counts what it was given.
  Letter of_sender, of_stalled, of_other;
  int awaited = 0;
  int got = 0;

  void deliver() {
    kernel.fetch_add(1u, std::memory_order_release);
    kernel.wake_one();
  }
  // Its turn ends.
  void sender() {
    of_sender.is_awaited = true;
    queue.push(of_sender);
    if (!wake_up.later()) return;
    wake_up.leaves();
    deliver();
  }
  // Its turn does not.
  void stalled() {
    queue.push(of_stalled);
    wake_up.later();
  }
  // The same of those whose letters nobody waits for.
  void sender_of_nothing() {
    if (!wake_up.later()) return;
    wake_up.leaves();
    deliver();
  }
  void stalled_with_nothing() { wake_up.later(); }
  void other() {
    of_other.is_awaited = true;
    queue.push(of_other);
    if (wake_up.now()) deliver();
  }
  void own(int wanted) {
    for (unsigned seen = 0; got < wanted;) {
      unsigned now = kernel.load(std::memory_order_acquire);
      if (now == seen) {
        kernel.sleep_while(seen);
        now = kernel.load(std::memory_order_acquire);
      }
      seen = now;
      wake_up.came();
      for (Letter* letter = queue.take_all(); letter != nullptr; letter = letter->next) got += letter->is_awaited;
    }
  }
  void own_one() { own(1); }
  void own_two() { own(2); }
  void check() {}
};

void expect_no_failure(const Verdict& verdict) {
  EXPECT_EQ(verdict.failure, "");
  std::printf("%llu schedules\n", static_cast<unsigned long long>(verdict.schedules));
}

TEST(WakeUp, of_one_whose_turn_ends_arrives) {
  expect_no_failure(explore<Sleeper>({&Sleeper::sender, &Sleeper::own_one}, {.stale_loads = 1}));
}
TEST(WakeUp, of_another_thread_arrives_beside_a_worker_that_stalls) {
  expect_no_failure(explore<Sleeper>({&Sleeper::stalled, &Sleeper::other, &Sleeper::own_one}, {.stale_loads = 1}));
}
TEST(WakeUp, of_one_whose_turn_ends_arrives_beside_one_that_stalls) {
  expect_no_failure(explore<Sleeper>({&Sleeper::stalled, &Sleeper::sender, &Sleeper::own_one}, {.stale_loads = 1}));
}
TEST(WakeUp, of_two_arrive_beside_each_other) {
  expect_no_failure(explore<Sleeper>({&Sleeper::sender, &Sleeper::other, &Sleeper::own_two}, {.stale_loads = 1}));
}
TEST(WakeUp, of_another_thread_arrives_with_one_that_brings_nothing) {
  expect_no_failure(
      explore<Sleeper>({&Sleeper::sender_of_nothing, &Sleeper::other, &Sleeper::own_one}, {.stale_loads = 1}));
}
TEST(WakeUp, of_another_thread_arrives_whatever_two_workers_do) {
  expect_no_failure(explore<Sleeper>(
      {&Sleeper::stalled_with_nothing, &Sleeper::sender_of_nothing, &Sleeper::other, &Sleeper::own_one}));
}

}  // namespace
}  // namespace keel::io::wake_up_test
