// Topics that keep their last events. Crosses threads: run under ThreadSanitizer.

#include "keel/events/internal/kept.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/bug.h"
#include "keel/events/bus.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/testing.h"

namespace keel::events::internal::kept_test {
namespace {

struct Celsius {
  int value = 0;
};

class KeptTopics : public ::testing::Test {
 protected:
  auto writes(std::vector<int>& values) {
    return [&values](const Celsius& event) { values.push_back(event.value); };
  }
  void publish(int from, int to) {
    for (int i = from; i <= to; ++i) bus.publish(Celsius{i});
  }
  Bus bus{{.on_failure = [this](const Failure&) { ++failures; }}};
  int failures = 0;
};

TEST_F(KeptTopics, give_the_last_event_to_whoever_subscribes_later) {
  bus.keep<Celsius>();
  publish(1, 3);
  std::vector<int> values;

  const Subscription late = bus.subscribe<Celsius>(writes(values));
  EXPECT_EQ(values, std::vector<int>{3}) << "before subscribe() returns";
  publish(4, 4);

  EXPECT_EQ(values, (std::vector<int>{3, 4}));
}

TEST_F(KeptTopics, give_the_last_of_several_in_their_order) {
  bus.keep<Celsius>(3);
  std::vector<int> early, late, some, none;
  const Subscription first = bus.subscribe<Celsius>(writes(early));
  publish(1, 5);

  const Subscription all = bus.subscribe<Celsius>(writes(late));
  const Subscription newest = bus.subscribe<Celsius>(writes(some), {.replay_max = 2});
  const Subscription only_new = bus.subscribe<Celsius>(writes(none), {.replay_max = 0});
  publish(6, 6);

  EXPECT_EQ(early, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(late, (std::vector<int>{3, 4, 5, 6}));
  EXPECT_EQ(some, (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(none, (std::vector<int>{6}));
}

TEST_F(KeptTopics, keep_nothing_unless_they_are_told) {
  publish(1, 1);
  std::vector<int> values;

  const Subscription late = bus.subscribe<Celsius>(writes(values));

  EXPECT_TRUE(values.empty());
}

TEST_F(KeptTopics, let_a_filter_decide_about_what_was_kept) {
  bus.keep<Celsius>(4);
  publish(1, 4);
  std::vector<int> values;

  const Subscription even =
      bus.subscribe<Celsius>([](const Celsius& event) { return event.value % 2 == 0; }, writes(values));

  EXPECT_EQ(values, (std::vector<int>{2, 4}));
}

TEST_F(KeptTopics, are_counted_like_others) {
  bus.keep<Celsius>(2);
  publish(1, 2);
  std::vector<int> values;
  const Subscription works = bus.subscribe<Celsius>(writes(values));
  const Subscription fails = bus.subscribe<Celsius>([](const Celsius&) { throw std::runtime_error("no"); });
  publish(3, 3);

  const TopicStats stats = bus.stats<Celsius>();
  EXPECT_EQ(stats.published, 3u);
  EXPECT_EQ(stats.delivered, 3u);
  EXPECT_EQ(stats.failed, 3u);
  EXPECT_EQ(stats.subscribers, 2u);
  EXPECT_EQ(failures, 3);
}

TEST_F(KeptTopics, deliver_what_was_kept_on_the_executor_before_what_comes) {
  bus.keep<Celsius>(3);
  publish(1, 3);
  std::vector<int> values;
  ThreadPool pool({.name = "kept", .threads = 1});
  Subscription late = bus.subscribe<Celsius>(writes(values), {.executor = &pool});
  publish(4, 5);
  testing::TestLoop loop;

  EXPECT_TRUE(loop.run([](Bus& b) -> Task<> { co_await b.publish_and_wait(Celsius{6}); }(bus)));

  late.end();
  pool.stop();
  EXPECT_EQ(values, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

struct Sink {
  int sum = 0;
  Task<> add(const Celsius& event) {
    sum += event.value;
    co_return;
  }
};

TEST_F(KeptTopics, wait_for_tasks_but_give_them_nothing_that_was_kept) {
  bus.keep<Celsius>();
  publish(1, 1);
  Sink sink;
  Subscription task = bus.subscribe<Celsius>(sink, &Sink::add);
  EXPECT_EQ(bus.stats<Celsius>().dropped, 1u);
  testing::TestLoop loop;

  const Result<Delivery> became = loop.run(bus.publish_and_wait(Celsius{10}));

  ASSERT_TRUE(became);
  EXPECT_EQ(became->delivered, 1u);
  EXPECT_EQ(sink.sum, 10);
}

TEST_F(KeptTopics, let_a_handler_publish_while_it_is_given_what_was_kept) {
  bus.keep<Celsius>(2);
  publish(1, 2);
  std::vector<int> values;

  const Subscription one = bus.subscribe<Celsius>([&](const Celsius& event) {
    values.push_back(event.value);
    if (event.value < 10) bus.publish(Celsius{event.value + 10});
  });

  EXPECT_EQ(values, (std::vector<int>{1, 11, 2, 12}));
}

TEST_F(KeptTopics, end_what_they_keep) {
  const auto held = std::make_shared<int>(1);
  {
    Bus other;
    other.keep<std::shared_ptr<int>>(2);
    for (int i = 0; i < 5; ++i) other.publish(held);
    EXPECT_EQ(held.use_count(), 3);
    const Subscription late = other.subscribe<std::shared_ptr<int>>([](const std::shared_ptr<int>&) {});
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(KeptTopics, are_told_once_and_before_anybody_subscribes) {
  std::vector<int> values;
  {
    const Subscription early = bus.subscribe<Celsius>(writes(values));
    EXPECT_THROW(bus.keep<Celsius>(), Bug);
  }
  bus.keep<Celsius>();
  EXPECT_THROW(bus.keep<Celsius>(), Bug);
  EXPECT_THROW(bus.keep<int>(0), Bug);
}

// Whoever subscribes while others publish gets each event once, and none is missing between what was kept and what
// came.
TEST_F(KeptTopics, give_each_event_once_while_another_thread_publishes) {
  constexpr int count = 20'000;
  bus.keep<Celsius>(count);
  std::atomic<bool> begun{false};
  std::thread publisher([&] {
    for (int i = 0; i < count; ++i) {
      bus.publish(Celsius{i});
      if (i == 10) begun = true;
    }
  });
  while (!begun) std::this_thread::yield();
  for (int round = 0; round < 5; ++round) {
    std::vector<int> values;
    Subscription late = bus.subscribe<Celsius>(writes(values));
    std::this_thread::yield();
    late.end();
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<int>(i));
    EXPECT_GE(values.size(), 10u);
  }
  publisher.join();
}

}  // namespace
}  // namespace keel::events::internal::kept_test
