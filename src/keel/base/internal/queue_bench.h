// What the benchmarks of queues share: messages that are passed from producers to consumers, and how it is seen that
// each arrived once.
//
// A queue under test has a Producer with `bool push(Message&)` and a Consumer with `std::size_t take(std::uint64_t&
// sum)`, each constructed from it on its own thread; take() adds up the numbers of what it gives and says how many they
// are.

#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "keel/base/atomics.h"
#include "keel/base/host.h"

namespace keel::internal {

inline constexpr std::size_t messages_per_round = 100'000;
inline constexpr std::size_t places = 1024;  // Of a bounded queue.

struct Message {
  Message* next = nullptr;
  std::uint64_t number = 0;
};

// For queues that need nothing of a thread's own.
template <class Queue>
struct Plain {
  struct Producer {
    explicit Producer(Queue& q) : queue(q) {}
    bool push(Message& message) { return queue.push(message); }
    Queue& queue;
  };
  struct Consumer {
    explicit Consumer(Queue& q) : queue(q) {}
    std::size_t take(std::uint64_t& sum) { return queue.take(sum); }
    Queue& queue;
  };
};

// After an unsuccessful try: retries soon, then after longer and longer pauses, and at last lets another thread run.
class Patience {
 public:
  void wait() {
    if (pauses_ > 64) {
      std::this_thread::yield();
      return;
    }
    for (int i = 0; i < pauses_; ++i) pause();
    pauses_ *= 2;
  }
  void end() { pauses_ = 1; }

 private:
  static void pause() {
#ifdef __SSE2__
    __builtin_ia32_pause();
#endif
  }
  int pauses_ = 1;
};

// What a consumer that takes many together does between two takes. One that looks again immediately finds few each
// time, and takes the cache line on which they come from whoever sends them; an event loop has other work to do.
struct OtherWork {
  static void run() {
    const Instant until = Host::system().now() + 250_ns;
    while (Host::system().now() < until) continue;
  }
};
struct NoOtherWork {
  static void run() {}
};

// Passes rounds of messages with as many producers and consumers as the arguments say, each a thread: nanoseconds for a
// message, from when all are ready until the last one ends. `state` is the benchmark's.
template <class Queue>
void pass(auto& state) {
  const auto producers = static_cast<std::size_t>(state.range(0));
  const auto consumers = static_cast<std::size_t>(state.range(1));
  std::vector<Message> messages(messages_per_round);
  bool all_arrived = true;
  while (state.KeepRunningBatch(messages_per_round)) {
    // On lines of their own: what the consumers count does not slow down a queue that is small.
    struct alignas(cache_line) Tested {
      Queue queue;
    } tested;
    struct alignas(cache_line) Counted {
      std::atomic<std::size_t> taken = 0;
      std::atomic<std::uint64_t> sum = 0;
    } counted;
    Queue& queue = tested.queue;
    std::barrier ready(static_cast<std::ptrdiff_t>(producers + consumers));
    std::vector<Instant> began(producers + consumers);
    std::vector<Instant> ended(producers + consumers);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers; ++i) {
      threads.emplace_back([&, i] {
        typename Queue::Producer producer(queue);
        Patience patience;
        ready.arrive_and_wait();
        began[i] = Host::system().now();
        for (std::size_t at = i; at < messages.size(); at += producers) {
          messages[at].number = at + 1;  // The sender of a message has just written it.
          while (!producer.push(messages[at])) patience.wait();
          patience.end();
        }
        ended[i] = Host::system().now();
      });
    }
    for (std::size_t i = producers; i < producers + consumers; ++i) {
      threads.emplace_back([&, i] {
        typename Queue::Consumer consumer(queue);
        Patience patience;
        std::uint64_t own_sum = 0;
        std::size_t own = 0;
        ready.arrive_and_wait();
        began[i] = Host::system().now();
        for (;;) {
          const std::size_t got = consumer.take(own_sum);
          own += got;
          if (got != 0) patience.end();
          if (got != 0 && own < messages.size()) continue;
          // Only who finds nothing tells the others what it has: they share no counter on the way.
          if (own != 0) counted.taken.fetch_add(std::exchange(own, 0), std::memory_order_relaxed);
          if (counted.taken.load(std::memory_order_relaxed) == messages.size()) break;
          patience.wait();
        }
        counted.sum.fetch_add(own_sum, std::memory_order_relaxed);
        ended[i] = Host::system().now();
      });
    }
    for (std::thread& thread : threads) thread.join();
    const Duration took = *std::ranges::max_element(ended) - *std::ranges::min_element(began);
    state.SetIterationTime(took.count_seconds());
    all_arrived &= counted.taken == messages.size() && counted.sum == messages.size() * (messages.size() + 1) / 2;
  }
  if (!all_arrived) state.SkipWithError("not every message arrived once");
}

}  // namespace keel::internal
