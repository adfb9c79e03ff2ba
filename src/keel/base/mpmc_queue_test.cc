#include "keel/base/mpmc_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/base/testing/interleaving.h"

namespace keel::mpmc_queue_test {
namespace {

using interleaving::explore;
using interleaving::require;
using interleaving::Watched;

TEST(MpmcQueue, gives_elements_in_the_order_of_pushing) {
  MpmcQueue<int> queue(4);
  EXPECT_EQ(queue.try_pop(), std::nullopt);

  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_push(3 * round + i));
    EXPECT_EQ(queue.size(), 3u);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.try_pop(), 3 * round + i);
    EXPECT_EQ(queue.try_pop(), std::nullopt);
    EXPECT_EQ(queue.size(), 0u);
  }
}

TEST(MpmcQueue, refuses_what_does_not_fit_and_leaves_it_alone) {
  MpmcQueue<std::unique_ptr<int>> queue(2);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(2)));

  auto third = std::make_unique<int>(3);
  EXPECT_FALSE(queue.try_push(std::move(third)));
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(**queue.try_pop(), 1);
  EXPECT_TRUE(queue.try_push(std::move(third)));
  EXPECT_EQ(third, nullptr);
}

TEST(MpmcQueue, has_a_power_of_two_of_places_and_two_at_least) {
  EXPECT_EQ(MpmcQueue<int>(1).capacity(), 2u);
  EXPECT_EQ(MpmcQueue<int>(2).capacity(), 2u);
  EXPECT_EQ(MpmcQueue<int>(3).capacity(), 4u);
  EXPECT_EQ(MpmcQueue<int>(1000).capacity(), 1024u);
}

TEST(MpmcQueue, ends_what_was_not_popped) {
  const auto counted = std::make_shared<int>(1);
  {
    MpmcQueue<std::shared_ptr<int>> queue(4);
    for (int i = 0; i < 3; ++i) queue.try_push(counted);
    queue.try_pop();
    EXPECT_EQ(counted.use_count(), 3);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(MpmcQueueDeathTest, stops_a_queue_without_room) {
  EXPECT_DEATH(MpmcQueue<int>(0), "from 1 to 2\\^40");
  EXPECT_DEATH(MpmcQueue<int>(MpmcQueue<int>::capacity_max + 1), "from 1 to 2\\^40");
}

TEST(MpmcQueue, gives_each_element_to_one_of_several_threads) {
  constexpr int each = 5'000;
  MpmcQueue<int> queue(128);
  std::atomic<int> popped = 0;
  std::vector<std::vector<int>> got(2);
  std::vector<std::thread> threads;
  for (int producer = 0; producer < 2; ++producer) {
    threads.emplace_back([&queue, producer] {
      for (int i = 0; i < each;) {
        if (queue.try_push(producer * each + i)) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (int consumer = 0; consumer < 2; ++consumer) {
    threads.emplace_back([&queue, &popped, &mine = got[static_cast<std::size_t>(consumer)]] {
      while (popped.load(std::memory_order_relaxed) < 2 * each) {
        if (const auto element = queue.try_pop()) {
          mine.push_back(*element);
          popped.fetch_add(1, std::memory_order_relaxed);
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::vector<int> times(2 * each);
  for (const auto& mine : got) {
    int last[] = {-1, -1};
    for (const int element : mine) {
      ++times[static_cast<std::size_t>(element)];
      EXPECT_GT(element, last[element / each]) << "elements of one producer came out of order";
      last[element / each] = element;
    }
  }
  EXPECT_EQ(times, std::vector<int>(2 * each, 1));
}

// ---- In every schedule. The turns of the two cells are the atomics 0 and 1.

using Queue = MpmcQueue<Watched<int>, interleaving::Atomics>;

// What was pushed, what was popped, and in which order.
struct Passed {
  Queue queue{2};
  int pushed[4] = {0, 0, 0, 0};
  int popped[4] = {0, 0, 0, 0};
  void push(int number) { pushed[number] = queue.try_push(number); }
  // Gives the number, or none.
  int pop(int none) {
    const int number = queue.try_pop().value_or(none);
    if (number != none) ++popped[number];
    return number;
  }
  void check() {
    while (pop(-1) != -1) {
    }
    for (int i = 0; i < 4; ++i) require(popped[i] == pushed[i], "what was pushed is popped once");
  }
};

struct TwoProducers : Passed {
  void push_even() {
    push(0);
    push(2);
  }
  void push_odd() {
    push(1);
    push(3);
  }
  void pop_twice() {
    int last[] = {-1, -1};
    for (int i = 0; i < 2; ++i) {
      const int number = pop(-1);
      if (number == -1) continue;
      require(number > last[number % 2], "elements of one producer come in the order of pushing");
      last[number % 2] = number;
    }
  }
};

TEST(MpmcQueue, gives_each_element_once_in_every_schedule_of_two_producers) {
  if (KEEL_THREAD_SANITIZER) GTEST_SKIP() << "fibers are slow there, and it has no threads";
  const auto verdict =
      explore<TwoProducers>({&TwoProducers::push_even, &TwoProducers::push_odd, &TwoProducers::pop_twice});

  EXPECT_EQ(verdict.failure, "");
  EXPECT_GT(verdict.schedules, 500u);
}

struct TwoConsumers : Passed {
  TwoConsumers() {
    push(0);
    push(1);
  }
  void pop_twice() {
    const int first = pop(-1);
    const int second = pop(-1);
    require(first < second || second == -1, "a consumer gets elements in the order of pushing");
  }
  void push_into_their_places() {
    push(2);
    push(3);
  }
};

TEST(MpmcQueue, gives_each_element_once_in_every_schedule_of_two_consumers) {
  if (KEEL_THREAD_SANITIZER) GTEST_SKIP() << "fibers are slow there, and it has no threads";
  const auto verdict = explore<TwoConsumers>(
      {&TwoConsumers::pop_twice, &TwoConsumers::pop_twice, &TwoConsumers::push_into_their_places});

  EXPECT_EQ(verdict.failure, "");
  EXPECT_GT(verdict.schedules, 500u);
}

struct RoundAgain {
  Queue queue{2};
  int pushed = 0;
  int popped = 0;
  void produce() {
    for (int i = 0; i < 3; ++i) pushed += queue.try_push(pushed);
  }
  void consume() {
    for (int i = 0; i < 2; ++i) pop();
  }
  bool pop() {
    const auto element = queue.try_pop();
    if (element) require(*element == popped++, "elements come in the order of pushing");
    return element.has_value();
  }
  void check() {
    while (pop()) {
    }
    require(pushed >= 2 && popped == pushed, "what was pushed is popped once");
  }
};

TEST(MpmcQueue, uses_its_places_again_in_every_schedule) {
  const auto verdict = explore<RoundAgain>({&RoundAgain::produce, &RoundAgain::consume}, {.stale_loads = 2});

  EXPECT_EQ(verdict.failure, "");
  EXPECT_GT(verdict.schedules, 10u);
}

TEST(MpmcQueue, needs_each_of_its_memory_orders) {
  for (const int cell : {0, 1}) {
    EXPECT_NE(explore<RoundAgain>({&RoundAgain::produce, &RoundAgain::consume}, {.weak_loads_of = cell}).failure, "");
    EXPECT_NE(explore<RoundAgain>({&RoundAgain::produce, &RoundAgain::consume}, {.weak_stores_of = cell}).failure, "");
  }
}

struct HeldBack {
  Queue queue{2};
  void push() { queue.try_push(0); }
  void push_and_pop() {
    queue.try_push(1);
    require(queue.try_pop().has_value(), "something was pushed before");
  }
  void check() {}
};

TEST(MpmcQueue, may_hide_a_push_behind_one_that_has_not_ended) {
  const std::string failure = explore<HeldBack>({&HeldBack::push, &HeldBack::push_and_pop}).failure;

  EXPECT_TRUE(failure.starts_with("something was pushed before")) << failure;
}

}  // namespace
}  // namespace keel::mpmc_queue_test
