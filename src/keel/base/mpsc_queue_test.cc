#include "keel/base/mpsc_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/base/testing/interleaving.h"

namespace keel::mpsc_queue_test {
namespace {

using interleaving::explore;
using interleaving::require;
using interleaving::Watched;

struct Letter {
  Letter* next = nullptr;
  int number = 0;
};

std::vector<int> numbers(Letter* at) {
  std::vector<int> found;
  for (; at != nullptr; at = at->next) found.push_back(at->number);
  return found;
}

TEST(MpscQueue, gives_all_elements_in_the_order_of_pushing) {
  MpscQueue<Letter> queue;
  Letter one{.number = 1}, two{.number = 2}, three{.number = 3};
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.take_all(), nullptr);

  queue.push(one);
  queue.push(two);
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(numbers(queue.take_all()), (std::vector{1, 2}));
  EXPECT_TRUE(queue.empty());
  queue.push(three);
  queue.push(one);
  EXPECT_EQ(numbers(queue.take_all()), (std::vector{3, 1}));
}

TEST(MpscQueue, tells_who_has_to_wake_its_owner) {
  MpscQueue<Letter> queue;
  Letter one, two, three;
  EXPECT_TRUE(queue.push(one));
  EXPECT_FALSE(queue.push(two));
  queue.take_all();
  one.next = &two;
  EXPECT_TRUE(queue.push_all(one, two));
  EXPECT_FALSE(queue.push_all(three, three));
}

TEST(MpscQueue, keeps_a_chain_together_and_in_its_order) {
  MpscQueue<Letter> queue;
  Letter letters[5];
  for (int i = 0; i < 5; ++i) letters[i].number = i;
  letters[1].next = &letters[2];
  letters[2].next = &letters[3];

  queue.push(letters[0]);
  queue.push_all(letters[1], letters[3]);
  queue.push(letters[4]);

  EXPECT_EQ(numbers(queue.take_all()), (std::vector{0, 1, 2, 3, 4}));
}

// Writes next to it would slow down the pushing threads, and pushes the writer.
TEST(MpscQueue, has_a_cache_line_of_its_own) {
  struct Owner {
    char before;
    MpscQueue<Letter> queue;
    char after;
  } owner;
  const auto line = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) / cache_line; };

  EXPECT_NE(line(&owner.before), line(&owner.queue));
  EXPECT_NE(line(&owner.after), line(&owner.queue));
}

TEST(MpscQueue, takes_from_several_threads_what_each_has_pushed_in_its_order) {
  constexpr int each = 5'000;
  MpscQueue<Letter> queue;
  std::vector<Letter> of_one(each), of_two(each);
  const auto push = [&queue](std::vector<Letter>& letters, int first) {
    for (Letter& letter : letters) {
      letter.number = first++;
      queue.push(letter);
    }
  };
  std::thread one(push, std::ref(of_one), 0);
  std::thread two(push, std::ref(of_two), each);
  int next_of_one = 0;
  int next_of_two = each;
  bool in_order = true;
  while (next_of_one + next_of_two < 3 * each) {
    Letter* at = queue.take_all();
    if (at == nullptr) std::this_thread::yield();
    for (; at != nullptr; at = at->next) {
      int& next = at->number < each ? next_of_one : next_of_two;
      in_order &= at->number == next++;
    }
  }
  one.join();
  two.join();

  EXPECT_TRUE(in_order);
  EXPECT_EQ(next_of_one, each);
  EXPECT_TRUE(queue.empty());
}

// ---- In every schedule. The queue's one atomic is 0.

struct Node {
  Watched<Node*> next{nullptr};
  Watched<int> number{0};
};

template <template <class, class> class Queue>
struct Mailbox {
  Queue<Node, interleaving::Atomics> queue;
  Node of_one[2];
  Node of_two[2];
  int told_one = 0;  // How often a pusher was told that the queue was empty.
  int told_two = 0;
  int batches = 0;
  int next_of[2] = {0, 0};

  void one() {
    for (int i = 0; i < 2; ++i) {
      of_one[i].number = i;
      told_one += queue.push(of_one[i]);
    }
  }
  void two() {
    of_two[0].number = 10;
    of_two[1].number = 11;
    of_two[0].next = &of_two[1];
    told_two += queue.push_all(of_two[0], of_two[1]);
  }
  void own() {
    take();
    take();
  }
  void take() {
    int before = -1;
    for (Node* at = queue.take_all(); at != nullptr;) {
      Node* const next = at->next;
      const int number = at->number;
      if (before == -1) ++batches;
      require(before != 10 || number == 11, "a chain stays together");
      require(number % 10 == next_of[number / 10]++, "elements of one thread come in the order of pushing");
      before = number;
      at = next;
    }
    require(before != 10, "a chain is taken as a whole");
  }
  void check() {
    take();
    require(next_of[0] == 2 && next_of[1] == 2, "what was pushed is taken once");
    require(told_one + told_two == batches, "for each batch one of its pushers was told that the queue was empty");
  }
};

template <class Run>
interleaving::Verdict explore_mailbox(const interleaving::Options& options) {
  return explore<Run>({&Run::one, &Run::two, &Run::own}, options);
}

TEST(MpscQueue, delivers_everything_in_every_schedule) {
  if (KEEL_THREAD_SANITIZER) GTEST_SKIP() << "fibers are slow there, and it has no threads";
  for (const int stale_loads : {0, 1}) {
    const auto verdict = explore_mailbox<Mailbox<MpscQueue>>({.stale_loads = stale_loads});
    EXPECT_EQ(verdict.failure, "");
    EXPECT_GT(verdict.schedules, 100u);
  }
}

TEST(MpscQueue, needs_each_of_its_memory_orders) {
  EXPECT_NE(explore_mailbox<Mailbox<MpscQueue>>({.weak_loads_of = 0}).failure, "");
  EXPECT_NE(explore_mailbox<Mailbox<MpscQueue>>({.weak_stores_of = 0}).failure, "");
}

// What the two tests above are worth: the queue with one wrong step, a load and a store in place of the exchange.
template <class T, class Atomics>
class LosingQueue {
 public:
  bool push(T& element) { return push_all(element, element); }
  bool push_all(T& first, T& last) {
    T* before = newest_.load(std::memory_order_relaxed);
    do {
      first.next = before;
      if (&first != &last) last.next = &first;
    } while (!newest_.compare_exchange_weak(before, &last, std::memory_order_release, std::memory_order_relaxed));
    return before == nullptr;
  }
  T* take_all() {
    T* at = newest_.load(std::memory_order_acquire);
    newest_.store(nullptr, std::memory_order_relaxed);
    T* oldest = nullptr;
    while (at != nullptr) {
      T* const next = at->next;
      at->next = oldest;
      oldest = at;
      at = next;
    }
    return oldest;
  }

 private:
  typename Atomics::template Atomic<T*> newest_{nullptr};
};

TEST(MpscQueue, would_be_caught_losing_an_element) { EXPECT_NE(explore_mailbox<Mailbox<LosingQueue>>({}).failure, ""); }

}  // namespace
}  // namespace keel::mpsc_queue_test
