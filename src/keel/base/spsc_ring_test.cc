#include "keel/base/spsc_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/testing/interleaving.h"

namespace keel::spsc_ring_test {
namespace {

using interleaving::explore;
using interleaving::require;
using interleaving::Watched;

TEST(SpscRing, gives_elements_in_the_order_of_pushing) {
  SpscRing<int> ring(4);
  EXPECT_EQ(ring.try_pop(), std::nullopt);

  for (int round = 0; round < 10; ++round) {  // Round and round: the indices leave the storage behind.
    EXPECT_TRUE(ring.try_push(3 * round));
    EXPECT_TRUE(ring.try_push(3 * round + 1));
    EXPECT_TRUE(ring.try_emplace(3 * round + 2));
    EXPECT_EQ(ring.size(), 3u);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ring.try_pop(), 3 * round + i);
    EXPECT_EQ(ring.try_pop(), std::nullopt);
    EXPECT_EQ(ring.size(), 0u);
  }
}

TEST(SpscRing, refuses_what_does_not_fit_and_leaves_it_alone) {
  SpscRing<std::unique_ptr<int>> ring(2);
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(1)));
  EXPECT_TRUE(ring.try_push(std::make_unique<int>(2)));

  auto third = std::make_unique<int>(3);
  EXPECT_FALSE(ring.try_push(std::move(third)));
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(**ring.try_pop(), 1);
  EXPECT_TRUE(ring.try_push(std::move(third)));
  EXPECT_EQ(third, nullptr);
}

TEST(SpscRing, has_a_power_of_two_of_places_and_one_at_least) {
  EXPECT_EQ(SpscRing<int>(1).capacity(), 1u);
  EXPECT_EQ(SpscRing<int>(2).capacity(), 2u);
  EXPECT_EQ(SpscRing<int>(3).capacity(), 4u);
  EXPECT_EQ(SpscRing<int>(1000).capacity(), 1024u);

  SpscRing<int> one(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(one.try_push(i));
    EXPECT_FALSE(one.try_push(i));
    EXPECT_EQ(one.try_pop(), i);
  }
}

TEST(SpscRing, moves_as_many_at_once_as_fit_and_as_there_are) {
  SpscRing<std::string> ring(4);
  std::string in[] = {"a", "b", "c"};
  std::string out[3];

  EXPECT_EQ(ring.push_some(in), 3u);
  EXPECT_EQ(ring.pop_some(std::span(out, 2)), 2u);
  EXPECT_EQ(out[1], "b");
  std::string more[] = {"d", "e", "f", "g"};
  EXPECT_EQ(ring.push_some(more), 3u);  // Over the end of the storage.
  EXPECT_EQ(more[3], "g");
  EXPECT_EQ(ring.push_some(std::span(more).subspan(3)), 0u);
  EXPECT_EQ(ring.pop_some(out), 3u);
  EXPECT_EQ(out[0] + out[1] + out[2], "cde");
  EXPECT_EQ(ring.pop_some(out), 1u);
  EXPECT_EQ(out[0], "f");
  EXPECT_EQ(ring.pop_some(out), 0u);
  EXPECT_EQ(ring.push_some({}), 0u);
}

TEST(SpscRing, is_written_and_read_in_place_up_to_the_end_of_its_storage) {
  SpscRing<int> ring(8);
  EXPECT_EQ(ring.room().size(), 8u);
  std::iota(ring.room().begin(), ring.room().begin() + 6, 0);
  ring.publish(6);

  EXPECT_EQ(ring.front().size(), 6u);
  EXPECT_EQ(ring.front()[4], 4);
  ring.pop(5);
  ASSERT_EQ(ring.room().size(), 2u);  // Then the storage ends; five are free in front of what waits.
  ring.room()[0] = 6;
  ring.room()[1] = 7;
  ring.publish(2);
  EXPECT_EQ(ring.room().size(), 5u);
  ring.publish(0);
  EXPECT_EQ(ring.front().size(), 3u);
  EXPECT_EQ(ring.front()[2], 7);
  ring.pop(3);
  EXPECT_TRUE(ring.front().empty());

  SpscRing<int> full(2);
  full.publish(2);
  EXPECT_TRUE(full.room().empty());
}

TEST(SpscRing, ends_what_was_not_popped) {
  const auto counted = std::make_shared<int>(1);
  {
    SpscRing<std::shared_ptr<int>> ring(4);
    for (int i = 0; i < 4; ++i) ring.try_push(counted);
    EXPECT_EQ(ring.front().size(), 4u);
    ring.pop(1);
    EXPECT_EQ(counted.use_count(), 4);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(SpscRing, stays_as_it_was_when_a_constructor_throws) {
  struct Thrower {
    explicit Thrower(bool throws) {
      if (throws) throw 1;
    }
  };
  SpscRing<Thrower> ring(1);
  EXPECT_THROW(ring.try_emplace(true), int);
  EXPECT_EQ(ring.size(), 0u);
  EXPECT_TRUE(ring.try_emplace(false));
}

TEST(SpscRingDeathTest, stops_what_its_caller_must_not_do) {
  SpscRing<int> ring(2);
  EXPECT_DEATH(ring.publish(3), "publish\\(\\) cannot add more elements than the ring had room for");
  ring.publish(1);
  EXPECT_DEATH(ring.pop(1),
               "pop\\(\\) cannot remove more elements than front\\(\\) returned");  // Nobody has looked yet.
  EXPECT_DEATH(SpscRing<int>(0), "from 1 to 2\\^40");
  EXPECT_DEATH(SpscRing<int>(SpscRing<int>::capacity_max + 1), "from 1 to 2\\^40");
}

TEST(SpscRing, hands_every_element_to_another_thread_in_order) {
  constexpr int elements = 20'000;
  SpscRing<int> ring(256);
  std::thread producer([&ring] {
    int next = 0;
    int some[10];
    while (next < elements) {
      std::iota(some, some + 10, next);
      const int pushed = next % 3 == 0 ? ring.try_push(next) : static_cast<int>(ring.push_some(some));
      next += pushed;
      if (pushed == 0) std::this_thread::yield();
    }
  });
  int expected = 0;
  bool in_order = true;
  while (expected < elements) {
    const auto one = ring.try_pop();
    if (one) in_order &= *one == expected++;
    const auto waiting = ring.front();
    for (const int each : waiting) in_order &= each == expected++;
    ring.pop(waiting.size());
    if (!one) std::this_thread::yield();
  }
  producer.join();

  EXPECT_TRUE(in_order);
}

// ---- In every schedule. Of the ring's atomics the head is 0, the tail 1.

struct OneByOne {
  SpscRing<Watched<int>, interleaving::Atomics> ring{2};
  int pushed = 0;
  int popped = 0;
  void produce() {
    for (int i = 0; i < 3; ++i) pushed += ring.try_push(pushed);
  }
  void consume() {
    for (int i = 0; i < 3; ++i) pop();
  }
  bool pop() {
    const auto element = ring.try_pop();
    if (element) require(*element == popped++, "elements come in the order of pushing");
    return element.has_value();
  }
  void check() {
    require(pushed >= 2, "two elements fit into a ring of two");
    while (pop()) {
    }
    require(popped == pushed, "what was pushed is popped once");
  }
};

TEST(SpscRing, hands_over_every_element_in_every_schedule) {
  for (const int stale_loads : {0, 2}) {
    const auto verdict = explore<OneByOne>({&OneByOne::produce, &OneByOne::consume}, {.stale_loads = stale_loads});
    EXPECT_EQ(verdict.failure, "");
    EXPECT_GT(verdict.schedules, 20u);
  }
}

TEST(SpscRing, needs_each_of_its_memory_orders) {
  for (const int atomic : {0, 1}) {
    EXPECT_NE(explore<OneByOne>({&OneByOne::produce, &OneByOne::consume}, {.weak_loads_of = atomic}).failure, "");
    EXPECT_NE(explore<OneByOne>({&OneByOne::produce, &OneByOne::consume}, {.weak_stores_of = atomic}).failure, "");
  }
}

struct ManyAtOnce {
  SpscRing<Watched<int>, interleaving::Atomics> ring{2};
  int pushed = 0;
  int popped = 0;
  void produce() {
    for (int i = 0; i < 2; ++i) {
      Watched<int> some[] = {pushed, pushed + 1};
      pushed += static_cast<int>(ring.push_some(some));
    }
  }
  void see(const Watched<int>& element) { require(element == popped++, "elements come in the order of pushing"); }
  void consume() {
    Watched<int> some[2];
    const std::size_t count = ring.pop_some(some);
    for (std::size_t i = 0; i < count; ++i) see(some[i]);
    const auto waiting = ring.front();
    for (const auto& element : waiting) see(element);
    ring.pop(waiting.size());
  }
  void check() {
    consume();
    consume();
    require(popped == pushed, "what was pushed is popped once");
  }
};

TEST(SpscRing, hands_over_batches_in_every_schedule) {
  const auto verdict = explore<ManyAtOnce>({&ManyAtOnce::produce, &ManyAtOnce::consume}, {.stale_loads = 2});

  EXPECT_EQ(verdict.failure, "");
  EXPECT_GT(verdict.schedules, 10u);
}

struct Looking {
  SpscRing<Watched<int>, interleaving::Atomics> ring{2};
  void produce() { ring.try_push(1); }
  void consume() { ring.try_pop(); }
  void look() { require(ring.size() <= 1, "a ring in which there never were two has at most one"); }
  void check() {}
};

TEST(SpscRing, has_a_size_that_it_may_have_had) {
  EXPECT_EQ(explore<Looking>({&Looking::produce, &Looking::consume, &Looking::look}, {.stale_loads = 1}).failure, "");
  EXPECT_NE(
      explore<Looking>({&Looking::produce, &Looking::consume, &Looking::look}, {.stale_loads = 1, .weak_loads_of = 1})
          .failure,
      "");
}

}  // namespace
}  // namespace keel::spsc_ring_test
