// Delivery by executors: what waits, in which order, and what is given up.

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "keel/events/bus.h"
#include "keel/task/testing.h"

namespace keel::events::mailbox_test {
namespace {

struct Placed {
  std::string order;
};

struct Mailboxes : ::testing::Test {
  keel::testing::TestLoop loop;
  std::string calls;
  std::vector<std::string> failures;
  Bus bus{{.on_failure = [this](const Failure& failure) { failures.push_back(failure.error.describe()); }}};

  Subscription subscribe(std::size_t queue_max, WhenFull when_full = WhenFull::DropNewest) {
    return bus.subscribe<Placed>([this](const Placed& event) { calls += event.order; },
                                 {.executor = &loop, .queue_max = queue_max, .when_full = when_full});
  }
  void publish(std::string_view orders) {
    for (const char order : orders) bus.publish(Placed{std::string(1, order)});
  }
};

TEST_F(Mailboxes, deliver_on_the_executor_in_the_order_of_publishing) {
  Executor* on = nullptr;
  const Subscription subscription = subscribe(8);
  const Subscription where =
      bus.subscribe<Placed>([&](const Placed&) { on = Executor::current(); }, {.executor = &loop});

  publish("abc");
  EXPECT_EQ(calls, "");
  EXPECT_EQ(on, nullptr);
  EXPECT_EQ(subscription.queued(), 3u);
  EXPECT_EQ(bus.stats<Placed>().queued, 6u);
  loop.run_jobs();

  EXPECT_EQ(calls, "abc");
  EXPECT_EQ(on, &loop);
  EXPECT_EQ(subscription.queued(), 0u);
  EXPECT_EQ(bus.stats<Placed>().delivered, 6u);
}

TEST_F(Mailboxes, keep_a_copy_of_the_event) {
  const Subscription subscription = subscribe(8);
  {
    Placed event{"a long text that lies on the heap, and not in the event"};
    bus.publish(event);
    event.order = "something else";
  }
  loop.run_jobs();

  EXPECT_EQ(calls, "a long text that lies on the heap, and not in the event");
}

TEST_F(Mailboxes, take_as_many_as_they_may_and_drop_what_comes_last) {
  const Subscription subscription = subscribe(3);

  publish("abc");
  EXPECT_EQ(subscription.dropped(), 0u);
  publish("de");

  EXPECT_EQ(subscription.queued(), 3u);
  EXPECT_EQ(subscription.dropped(), 2u);
  EXPECT_EQ(bus.stats<Placed>().dropped, 2u);
  loop.run_jobs();
  EXPECT_EQ(calls, "abc");
  publish("f");
  loop.run_jobs();
  EXPECT_EQ(calls, "abcf");
}

TEST_F(Mailboxes, drop_what_has_waited_longest_if_asked_to) {
  const Subscription subscription = subscribe(3, WhenFull::DropOldest);

  publish("abc");
  EXPECT_EQ(subscription.dropped(), 0u);
  publish("de");

  EXPECT_EQ(subscription.queued(), 3u);
  EXPECT_EQ(subscription.dropped(), 2u);
  EXPECT_EQ(bus.stats<Placed>().dropped, 2u);
  loop.run_jobs();
  EXPECT_EQ(calls, "cde");
}

TEST_F(Mailboxes, of_one_place_hold_the_first_or_the_last) {
  Subscription subscription = subscribe(1);
  publish("ab");
  loop.run_jobs();
  subscription = subscribe(1, WhenFull::DropOldest);
  publish("cd");
  loop.run_jobs();

  EXPECT_EQ(calls, "ad");
}

TEST_F(Mailboxes, have_room_for_as_many_while_a_handler_runs) {
  Subscription subscription;
  subscription = bus.subscribe<Placed>(
      [&](const Placed& event) {
        calls += event.order;
        if (event.order != "a") return;
        publish("bcd");
        EXPECT_EQ(subscription.queued(), 2u);
        EXPECT_EQ(subscription.dropped(), 1u);
      },
      {.executor = &loop, .queue_max = 2});

  publish("a");
  loop.run_jobs();

  EXPECT_EQ(calls, "abc");
}

TEST_F(Mailboxes, let_others_have_a_turn_when_much_waits) {
  struct Other : Job {
    explicit Other(std::string& text)
        : Job([](Job& job) noexcept { static_cast<Other&>(job).calls += '|'; }), calls(text) {}
    std::string& calls;
  };
  Other other(calls);
  const Subscription subscription = subscribe(200);

  publish(std::string(65, 'a'));
  loop.post(other);
  loop.run_jobs();

  EXPECT_EQ(calls, std::string(64, 'a') + "|a");
}

TEST_F(Mailboxes, filter_before_an_event_is_copied) {
  const Subscription subscription =
      bus.subscribe<Placed>([](const Placed& event) { return event.order == "b"; },
                            [this](const Placed& event) { calls += event.order; }, {.executor = &loop, .queue_max = 1});

  publish("abc");
  EXPECT_EQ(subscription.queued(), 1u);
  loop.run_jobs();

  EXPECT_EQ(calls, "b");
  EXPECT_EQ(bus.stats<Placed>().dropped, 0u);
}

TEST_F(Mailboxes, count_and_report_handlers_that_fail_and_go_on) {
  const Subscription subscription = bus.subscribe<Placed>(
      [this](const Placed& event) -> Result<> {
        calls += event.order;
        if (event.order == "a") throw std::runtime_error("thrown");
        if (event.order == "b") return fail(Code::Unavailable, "returned");
        return {};
      },
      {.executor = &loop});

  publish("abc");
  loop.run_jobs();

  EXPECT_EQ(calls, "abc");
  EXPECT_EQ(failures, (std::vector<std::string>{"exception: thrown", "returned"}));
  EXPECT_EQ(bus.stats<Placed>().failed, 2u);
  EXPECT_EQ(bus.stats<Placed>().delivered, 1u);
}

struct Fragile {
  explicit Fragile(bool f) : fails(f) {}
  Fragile(const Fragile& other) : fails(other.fails) {
    if (fails) throw std::runtime_error("no copy");
  }
  bool fails;
};

TEST_F(Mailboxes, count_an_event_that_cannot_be_copied_now_and_keep_its_place_free) {
  const Subscription subscription =
      bus.subscribe<Fragile>([this](const Fragile&) { calls += "f"; }, {.executor = &loop, .queue_max = 1});

  for (int i = 0; i < 3; ++i) bus.publish(Fragile(true));
  bus.publish(Fragile(false));
  loop.run_jobs();

  EXPECT_EQ(calls, "f");
  EXPECT_EQ(failures, (std::vector<std::string>{"exception: no copy", "exception: no copy", "exception: no copy"}));
  EXPECT_EQ(bus.stats<Fragile>().failed, 3u);
}

TEST_F(Mailboxes, drop_what_waits_when_the_subscription_ends) {
  const auto held = std::make_shared<const int>(1);
  Subscription subscription = bus.subscribe<std::shared_ptr<const int>>(
      [this](const std::shared_ptr<const int>&) { calls += "x"; }, {.executor = &loop});
  bus.publish(held);
  bus.publish(held);
  EXPECT_EQ(held.use_count(), 3);

  subscription.end();

  EXPECT_EQ(held.use_count(), 1);
  loop.run_jobs();
  EXPECT_EQ(calls, "");
  EXPECT_EQ(bus.stats<std::shared_ptr<const int>>().dropped, 2u);
}

TEST_F(Mailboxes, let_a_handler_end_its_own_subscription) {
  const auto held = std::make_shared<int>(1);
  Subscription subscription;
  subscription = bus.subscribe<Placed>(
      [&, held](const Placed& event) {
        calls += event.order;
        subscription.end();
        calls += std::to_string(held.use_count());
      },
      {.executor = &loop});

  publish("ab");
  loop.run_jobs();

  EXPECT_EQ(calls, "a2") << "it is still there while it runs";
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(bus.stats<Placed>().dropped, 1u);
}

TEST_F(Mailboxes, let_a_filter_end_its_own_subscription) {
  Subscription subscription;
  subscription = bus.subscribe<Placed>(
      [&](const Placed&) {
        subscription.end();
        return true;
      },
      [this](const Placed& event) { calls += event.order; }, {.executor = &loop});

  publish("ab");
  loop.run_jobs();

  EXPECT_EQ(calls, "");
  EXPECT_EQ(bus.stats<Placed>().dropped, 1u);
}

TEST_F(Mailboxes, may_end_after_their_bus_when_a_job_of_theirs_is_still_posted) {
  {
    Bus brief;
    const Subscription subscription =
        brief.subscribe<Placed>([this](const Placed& event) { calls += event.order; }, {.executor = &loop});
    brief.publish(Placed{"a"});
  }
  loop.run_jobs();

  EXPECT_EQ(calls, "");
}

TEST_F(Mailboxes, keep_events_that_are_aligned_to_a_line) {
  struct alignas(64) Line {
    int value = 0;
  };
  int sum = 0;
  const Subscription subscription = bus.subscribe<Line>(
      [&](const Line& line) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&line) % 64, 0u);
        sum += line.value;
      },
      {.executor = &loop});

  for (int i = 1; i <= 3; ++i) bus.publish(Line{i});
  loop.run_jobs();

  EXPECT_EQ(sum, 6);
}

}  // namespace
}  // namespace keel::events::mailbox_test
