// Subscriptions that begin and end while other threads publish: run under ThreadSanitizer.
#include "keel/events/subscription.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "keel/events/bus.h"
#include "keel/exec/call.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/resume_on.h"
#include "keel/task/start.h"
#include "keel/task/testing.h"

namespace keel::events::subscription_test {
namespace {

struct Placed {
  int order = 0;
};

void ignore(StartCore&) noexcept {}

// Publishes on threads of their own for as long as it lives.
template <class E = Placed>
class Publishers {
 public:
  Publishers(Bus& bus, int count, const E& event = E()) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, &bus, event] {
        while (!is_over_.load(std::memory_order_relaxed)) bus.publish(event);
      });
    }
  }
  ~Publishers() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

TEST(Subscriptions, are_over_when_end_has_returned_whoever_publishes) {
  Bus bus;
  const Publishers publishers(bus, 2);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> calls = 0;
    auto is_over = std::make_unique<bool>(false);  // Not atomic: end() is what orders its readers before its writer.
    std::atomic<bool> is_late = false;
    Subscription subscription = bus.subscribe<Placed>([&calls, &is_late, is_over = is_over.get()](const Placed&) {
      if (*is_over) is_late = true;
      ++calls;
    });
    const Subscription other = bus.subscribe<Placed>([](const Placed&) {});
    while (calls == 0) std::this_thread::yield();

    subscription.end();
    *is_over = true;
    is_over.reset();

    EXPECT_FALSE(is_late);
  }
}

TEST(Subscriptions, begin_and_end_on_several_threads_at_once) {
  Bus bus;
  const Publishers publishers(bus, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&bus] {
      for (int round = 0; round < 50; ++round) {
        int calls = 0;  // Of one publisher, ordered by end().
        Subscription subscription = bus.subscribe<Placed>([&calls](const Placed&) { ++calls; });
        const Subscription second =
            bus.subscribe<Placed>([held = std::make_shared<int>(0)](const Placed&) { ++*held; }, {.priority = round});
        subscription.end();
        calls = -1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(bus.stats<Placed>().subscribers, 0u);
}

TEST(Subscriptions, wait_at_their_end_for_a_handler_that_runs_on_another_thread) {
  Bus bus;
  std::latch began(1);
  std::latch go(1);
  bool has_returned = false;
  Subscription subscription = bus.subscribe<Placed>([&](const Placed&) {
    began.count_down();
    go.wait();
    has_returned = true;
  });
  std::thread publisher([&] { bus.publish(Placed{}); });
  began.wait();
  std::thread letting_go([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    go.count_down();
  });

  subscription.end();

  EXPECT_TRUE(has_returned);
  publisher.join();
  letting_go.join();
}

TEST(Subscriptions, do_not_wait_for_other_handlers_of_their_topic) {
  Bus bus;
  std::latch began(1);
  std::latch go(1);
  const auto held = std::make_shared<int>(1);
  const Subscription blocks = bus.subscribe<Placed>([&](const Placed&) {
    began.count_down();
    go.wait();
  });
  Subscription later = bus.subscribe<Placed>([held](const Placed&) { FAIL() << "it has ended"; });
  std::thread publisher([&] { bus.publish(Placed{}); });
  began.wait();

  later.end();

  EXPECT_EQ(held.use_count(), 1);
  go.count_down();
  publisher.join();
}

TEST(Subscriptions, may_be_ended_by_their_own_handler_on_two_threads_at_once) {
  for (int round = 0; round < 20; ++round) {
    Bus bus;
    const auto held = std::make_shared<int>(1);
    std::atomic<bool> is_first = true;
    Subscription once;
    once = bus.subscribe<Placed>([&once, &is_first, held](const Placed&) {
      if (is_first.exchange(false)) once.end();
    });
    {
      const Publishers publishers(bus, 2);
      while (is_first) std::this_thread::yield();
    }
    bus.publish(Placed{});
    EXPECT_EQ(held.use_count(), 1);
  }
}

TEST(Subscriptions, on_a_pool_run_one_event_at_a_time_and_lose_none_uncounted) {
  constexpr int events = 500;
  ThreadPool pool({.name = "test", .threads = 2});
  Bus bus;
  std::atomic<int> running = 0;
  std::atomic<bool> is_crowded = false;
  int handled = 0;  // Not atomic: one event at a time.
  Subscription subscription = bus.subscribe<Placed>(
      [&](const Placed&) {
        if (running.fetch_add(1) != 0) is_crowded = true;
        ++handled;
        running.fetch_sub(1);
      },
      {.executor = &pool, .queue_max = 64, .when_full = WhenFull::DropOldest});
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&bus] {
      for (int n = 0; n < events; ++n) bus.publish(Placed{n});
    });
  }
  for (std::thread& thread : threads) thread.join();

  subscription.end();

  EXPECT_FALSE(is_crowded);
  const TopicStats stats = bus.stats<Placed>();
  EXPECT_EQ(stats.published, 2u * events);
  EXPECT_EQ(stats.delivered, static_cast<std::uint64_t>(handled));
  EXPECT_EQ(stats.delivered + stats.dropped, 2u * events);
  pool.stop();
}

TEST(Subscriptions, on_a_pool_wait_at_their_end_for_the_handler) {
  ThreadPool pool({.name = "test", .threads = 1});
  Bus bus;
  std::latch began(1);
  bool has_returned = false;
  Subscription subscription = bus.subscribe<Placed>(
      [&](const Placed&) {
        began.count_down();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        has_returned = true;
      },
      {.executor = &pool});
  bus.publish(Placed{});
  began.wait();

  subscription.end();

  EXPECT_TRUE(has_returned);
  pool.stop();
}

// Takes its time to be copied, and tells when a copy is left somewhere.
struct Parcel {
  Parcel() = default;
  Parcel(const Parcel& other) : content(other.content) { std::this_thread::yield(); }
  std::shared_ptr<const int> content = std::make_shared<const int>(1);
};

TEST(Subscriptions, on_a_pool_are_over_when_end_has_returned_whoever_publishes) {
  ThreadPool pool({.name = "test", .threads = 2});
  Bus bus;
  const Parcel parcel;
  {
    const Publishers publishers(bus, 2, parcel);
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> calls = 0;
      auto is_over = std::make_unique<bool>(false);  // Not atomic: end() is what orders its readers before its writer.
      std::atomic<bool> is_late = false;
      Subscription subscription = bus.subscribe<Parcel>(
          [&calls, &is_late, is_over = is_over.get()](const Parcel& event) {
            ++calls;
            for (int i = 0; i < 10; ++i) {
              if (*is_over || *event.content != 1) is_late = true;
              std::this_thread::yield();
            }
          },
          {.executor = &pool,
           .queue_max = 4,
           .when_full = round % 2 == 0 ? WhenFull::DropOldest : WhenFull::DropNewest});
      while (calls <= round % 4) std::this_thread::yield();

      subscription.end();
      *is_over = true;
      is_over.reset();

      EXPECT_FALSE(is_late);
    }
  }
  pool.stop();

  EXPECT_EQ(parcel.content.use_count(), 1) << "what was copied into queues is gone";
}

TEST(Subscriptions, on_a_pool_may_be_ended_by_their_own_filter_while_another_thread_publishes) {
  const Parcel parcel;
  const auto held = std::make_shared<int>(1);
  for (int round = 0; round < 50; ++round) {
    std::latch go(1);
    ThreadPool pool({.name = "test", .threads = 1});
    ASSERT_TRUE(execute(pool, [&go] { go.wait(); }));
    Bus bus;
    Subscription subscription;
    std::atomic<int> filtered = 0;
    subscription = bus.subscribe<Parcel>(
        [&](const Parcel&) {
          if (filtered.fetch_add(1) == round % 4) subscription.end();
          return true;
        },
        [held](const Parcel&) { FAIL() << "it has ended before the pool has a thread for it"; },
        {.executor = &pool, .queue_max = 4});
    {
      const Publishers publishers(bus, 2, parcel);
      while (filtered <= round % 4) std::this_thread::yield();
    }
    go.count_down();
    pool.stop();

    EXPECT_EQ(bus.stats<Parcel>().dropped, static_cast<std::uint64_t>(filtered));
    EXPECT_EQ(held.use_count(), 1);
  }
  EXPECT_EQ(parcel.content.use_count(), 1);
}

Task<int> publishes_and_waits(Bus& bus, int times) {
  int delivered = 0;
  for (int i = 0; i < times; ++i) {
    const Delivery became = co_await bus.publish_and_wait(Placed{i});
    delivered += static_cast<int>(became.delivered);
  }
  co_return delivered;
}

TEST(Subscriptions, on_a_pool_are_waited_for_by_a_task_on_a_loop) {
  keel::testing::TestLoop loop;
  ThreadPool pool({.name = "test", .threads = 2});
  Bus bus;
  std::atomic<int> handled = 0;
  const auto handle = [&](const Placed&) { ++handled; };
  Subscription one = bus.subscribe<Placed>(handle, {.executor = &pool});
  Subscription other = bus.subscribe<Placed>(handle, {.executor = &pool});

  EXPECT_EQ(loop.run(publishes_and_waits(bus, 100)).value(), 200);

  EXPECT_EQ(handled, 200);
  one.end();
  other.end();
  pool.stop();
}

struct Slow {
  std::latch began{1};
  std::latch go{1};
  ThreadPool* pool = nullptr;
  bool has_ended = false;
  Task<> handle(const Placed&) {
    Executor& home = *(co_await this_task()).executor;
    co_await resume_on(*pool);
    began.count_down();
    go.wait();
    co_await resume_on(home);
    has_ended = true;
  }
};

TEST(Subscriptions, finish_when_a_task_on_another_loop_has_ended) {
  keel::testing::TestLoop loop;
  Bus bus;
  Slow slow;
  Subscription subscription = bus.subscribe<Placed>(slow, &Slow::handle);
  std::thread publisher([&bus, &slow] {
    keel::testing::TestLoop other;
    ThreadPool pool({.name = "test", .threads = 1});  // Ends before the loop to which it posts.
    slow.pool = &pool;
    EXPECT_EQ(other.run(publishes_and_waits(bus, 1)).value(), 1);
  });
  slow.began.wait();

  Start<void> finishing;
  EXPECT_FALSE(finishing.begin(subscription.finish(), &ignore));
  slow.go.count_down();
  loop.run_until([&] { return finishing.has_ended(); });

  EXPECT_TRUE(finishing.take());
  EXPECT_TRUE(slow.has_ended);
  publisher.join();
}

template <int n>
struct First {};

// Each type of events has its index, and on each bus its topic, from whoever asks first.
template <int n>
void ask_first() {
  constexpr int asking = 2;
  for (int round = 0; round < 5; ++round) {
    Bus bus;
    std::atomic<int> calls = 0;
    std::array<Subscription, asking> subscriptions;
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (Subscription& subscription : subscriptions) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < asking) {
        }
        subscription = bus.subscribe<First<n>>([&calls](const First<n>&) { ++calls; });
      });
    }
    for (std::thread& thread : threads) thread.join();

    bus.publish(First<n>());

    EXPECT_EQ(calls, asking);
  }
}

TEST(Subscriptions, are_to_one_topic_when_several_threads_ask_for_it_first) {
  []<int... n>(std::integer_sequence<int, n...>) { (ask_first<n>(), ...); }(std::make_integer_sequence<int, 20>());
}

TEST(Subscriptions, are_counted_while_several_events_are_published_at_once) {
  constexpr std::uint64_t batches = 4000;
  Bus bus;
  const std::array<Placed, 8> events = {};
  const Subscription subscription = bus.subscribe<Placed>([](const Placed&) {});
  std::atomic<int> publishing = 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < batches; ++n) bus.publish_all<Placed>(events);
      --publishing;
    });
  }

  std::uint64_t published = 0;
  while (publishing > 0) {
    const Subscription other = bus.subscribe<Placed>([](const Placed&) {});
    const TopicStats stats = bus.stats<Placed>();
    EXPECT_GE(stats.published, published);
    EXPECT_EQ(stats.subscribers, 2u);
    published = stats.published;
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(bus.stats<Placed>().published, 2 * batches * events.size());
  EXPECT_GE(bus.stats<Placed>().delivered, 2 * batches * events.size());
}

TEST(Subscriptions, are_counted_exactly_whatever_thread_publishes) {
  Bus bus;
  std::atomic<std::uint64_t> calls = 0;
  const Subscription subscription = bus.subscribe<Placed>([&](const Placed&) { ++calls; });
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&bus] {
        for (int n = 0; n < 100; ++n) bus.publish(Placed{n});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  EXPECT_EQ(calls, 1500u);
  EXPECT_EQ(bus.stats<Placed>().published, 1500u);
  EXPECT_EQ(bus.stats<Placed>().delivered, 1500u);
}

}  // namespace
}  // namespace keel::events::subscription_test
