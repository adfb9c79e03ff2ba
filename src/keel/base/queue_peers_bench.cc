// What queue_bench.cc measures, with the queues of Boost.Lockfree and of moodycamel, for those who have them, each in
// its fastest way: tokens and bulk for moodycamel's ConcurrentQueue, and its ReaderWriterQueue for one thread to
// another.

#include <benchmark/benchmark.h>

#include "keel/base/internal/queue_bench.h"

#ifdef KEEL_BENCH_LOCKFREE
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#endif
#ifdef KEEL_BENCH_CONCURRENT_QUEUE
#include <concurrentqueue.h>
#endif
#ifdef KEEL_BENCH_READER_WRITER_QUEUE
#include <readerwriterqueue.h>
#endif

namespace keel {
namespace {

using internal::Message;
using internal::pass;
using internal::places;
using internal::Plain;

[[maybe_unused]] void one_and_one(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"producers", "consumers"})->Args({1, 1})->UseManualTime();
}
[[maybe_unused]] void one_and_two(benchmark::internal::Benchmark* benchmark) {
  one_and_one(benchmark);
  benchmark->Args({2, 1})->Args({2, 2});
}

#ifdef KEEL_BENCH_LOCKFREE
struct BoostSpsc : Plain<BoostSpsc> {
  bool push(Message& message) { return queue.push(&message); }
  std::size_t take(std::uint64_t& sum) {
    return queue.consume_one([&sum](Message* message) { sum += message->number; });
  }
  boost::lockfree::spsc_queue<Message*, boost::lockfree::capacity<places>> queue;
};
struct BoostSpscBatch : Plain<BoostSpscBatch> {
  bool push(Message& message) { return queue.push(&message); }
  std::size_t take(std::uint64_t& sum) {
    return queue.consume_all([&sum](Message* message) { sum += message->number; });
  }
  boost::lockfree::spsc_queue<Message*, boost::lockfree::capacity<places>> queue;
};
struct BoostQueue : Plain<BoostQueue> {
  bool push(Message& message) { return queue.bounded_push(&message); }
  std::size_t take(std::uint64_t& sum) {
    Message* message = nullptr;
    if (!queue.pop(message)) return 0;
    sum += message->number;
    return 1;
  }
  boost::lockfree::queue<Message*, boost::lockfree::capacity<places>> queue;
};
void boost_spsc(benchmark::State& state) { pass<BoostSpsc>(state); }
void boost_spsc_batch(benchmark::State& state) { pass<BoostSpscBatch>(state); }
void boost_queue(benchmark::State& state) { pass<BoostQueue>(state); }
BENCHMARK(boost_spsc)->Apply(one_and_one);
BENCHMARK(boost_spsc_batch)->Apply(one_and_one);
BENCHMARK(boost_queue)->Apply(one_and_two);
#endif

#ifdef KEEL_BENCH_READER_WRITER_QUEUE
struct ReaderWriter : Plain<ReaderWriter> {
  bool push(Message& message) { return queue.try_enqueue(&message); }
  std::size_t take(std::uint64_t& sum) {
    Message* message = nullptr;
    if (!queue.try_dequeue(message)) return 0;
    sum += message->number;
    return 1;
  }
  moodycamel::ReaderWriterQueue<Message*> queue{places - 1};  // For one more it would take twice as many places.
};
void moodycamel_spsc(benchmark::State& state) { pass<ReaderWriter>(state); }
BENCHMARK(moodycamel_spsc)->Apply(one_and_one);
#endif

#ifdef KEEL_BENCH_CONCURRENT_QUEUE
using ConcurrentQueue = moodycamel::ConcurrentQueue<Message*>;
template <class Between>
struct Concurrent {
  struct Producer {
    explicit Producer(Concurrent& own) : queue(own.queue), token(own.queue) {}
    bool push(Message& message) { return queue.enqueue(token, &message); }
    ConcurrentQueue& queue;
    moodycamel::ProducerToken token;
  };
  struct Consumer {
    explicit Consumer(Concurrent& own) : queue(own.queue), token(own.queue) {}
    std::size_t take(std::uint64_t& sum) {
      Message* messages[64];
      const std::size_t count = queue.try_dequeue_bulk(token, messages, 64);
      for (std::size_t i = 0; i < count; ++i) sum += messages[i]->number;
      if (count != 0) Between::run();
      return count;
    }
    ConcurrentQueue& queue;
    moodycamel::ConsumerToken token;
  };
  ConcurrentQueue queue{2 * internal::messages_per_round};  // So that it allocates nothing while it is measured.
};
void moodycamel_queue(benchmark::State& state) { pass<Concurrent<internal::OtherWork>>(state); }
void moodycamel_queue_polled(benchmark::State& state) { pass<Concurrent<internal::NoOtherWork>>(state); }
BENCHMARK(moodycamel_queue)->Apply(one_and_two);
BENCHMARK(moodycamel_queue_polled)->Apply(one_and_two);
#endif

}  // namespace
}  // namespace keel
