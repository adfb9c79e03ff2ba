// A message through each of the queues, and through a std::deque behind a mutex: nanoseconds for one, with a thread for
// each producer and consumer. queue_peers_bench.cc does the same with the queues of others. With two cores, two
// producers and two consumers are more threads than cores: what that measures is oversubscription.
//
// Every queue passes pointers to messages that exist. `spsc_batch` pushes and pops as many together as there is room
// and waiting; the mailbox always gives all that is there, in `mpsc` to an owner with other work between two takes, and
// in `mpsc_polled` to one that looks again immediately.

#include <benchmark/benchmark.h>

#include <deque>
#include <mutex>
#include <span>

#include "keel/base/internal/queue_bench.h"
#include "keel/base/mpmc_queue.h"
#include "keel/base/mpsc_queue.h"
#include "keel/base/spsc_ring.h"

namespace keel {
namespace {

using internal::Message;
using internal::pass;
using internal::places;
using internal::Plain;

struct Spsc : Plain<Spsc> {
  bool push(Message& message) { return ring.try_push(&message); }
  std::size_t take(std::uint64_t& sum) {
    const auto message = ring.try_pop();
    if (!message) return 0;
    sum += (*message)->number;
    return 1;
  }
  SpscRing<Message*> ring{places};
};

struct SpscBatch {
  // Gathers a few before it pushes them.
  struct Producer {
    explicit Producer(SpscBatch& queue) : ring(queue.ring) {}
    bool push(Message& message) {
      if (room.empty() && (room = ring.room()).empty()) return false;
      room[used++] = &message;
      // The round's last message must not stay behind.
      if (used == room.size() || used == 64 || message.number == internal::messages_per_round) {
        ring.publish(used);
        used = 0;
        room = {};
      }
      return true;
    }
    SpscRing<Message*>& ring;
    std::span<Message*> room;
    std::size_t used = 0;
  };
  struct Consumer {
    explicit Consumer(SpscBatch& queue) : ring(queue.ring) {}
    std::size_t take(std::uint64_t& sum) {
      const auto waiting = ring.front();
      for (const Message* message : waiting) sum += message->number;
      ring.pop(waiting.size());
      return waiting.size();
    }
    SpscRing<Message*>& ring;
  };
  SpscRing<Message*> ring{places};
};

template <class Between>
struct Mailbox : Plain<Mailbox<Between>> {
  bool push(Message& message) {
    queue.push(message);
    return true;
  }
  std::size_t take(std::uint64_t& sum) {
    std::size_t count = 0;
    for (Message* at = queue.take_all(); at != nullptr; at = at->next) {
      sum += at->number;
      ++count;
    }
    if (count != 0) Between::run();
    return count;
  }
  MpscQueue<Message> queue;
};

struct Mpmc : Plain<Mpmc> {
  bool push(Message& message) { return queue.try_push(&message); }
  std::size_t take(std::uint64_t& sum) {
    const auto message = queue.try_pop();
    if (!message) return 0;
    sum += (*message)->number;
    return 1;
  }
  MpmcQueue<Message*> queue{places};
};

struct Mutex : Plain<Mutex> {
  bool push(Message& message) {
    std::lock_guard lock(mutex);
    if (queue.size() == places) return false;
    queue.push_back(&message);
    return true;
  }
  std::size_t take(std::uint64_t& sum) {
    Message* message = nullptr;
    {
      std::lock_guard lock(mutex);
      if (queue.empty()) return 0;
      message = queue.front();
      queue.pop_front();
    }
    sum += message->number;
    return 1;
  }
  std::mutex mutex;
  std::deque<Message*> queue;
};

void one_and_one(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"producers", "consumers"})->Args({1, 1})->UseManualTime();
}
void two_and_one(benchmark::internal::Benchmark* benchmark) {
  one_and_one(benchmark);
  benchmark->Args({2, 1});
}
void two_and_two(benchmark::internal::Benchmark* benchmark) {
  one_and_one(benchmark);
  benchmark->Args({2, 2});
}

void spsc(benchmark::State& state) { pass<Spsc>(state); }
void spsc_batch(benchmark::State& state) { pass<SpscBatch>(state); }
void mpsc(benchmark::State& state) { pass<Mailbox<internal::OtherWork>>(state); }
void mpsc_polled(benchmark::State& state) { pass<Mailbox<internal::NoOtherWork>>(state); }
void mpmc(benchmark::State& state) { pass<Mpmc>(state); }
void mutex_deque(benchmark::State& state) { pass<Mutex>(state); }
BENCHMARK(spsc)->Apply(one_and_one);
BENCHMARK(spsc_batch)->Apply(one_and_one);
BENCHMARK(mpsc)->Apply(two_and_one);
BENCHMARK(mpsc_polled)->Apply(two_and_one);
BENCHMARK(mpmc)->Apply(two_and_two);
BENCHMARK(mutex_deque)->Apply(two_and_two)->Args({2, 1});

}  // namespace
}  // namespace keel
