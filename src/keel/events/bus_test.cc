#include "keel/events/bus.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/bug.h"
#include "keel/base/sanitizers.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/observe/metric.h"
#include "keel/task/testing.h"

namespace keel::events::bus_test {
namespace {

struct Placed {
  int order = 0;
};
struct Shipped {
  int order = 0;
};

int seen_by_function = 0;
void see(const Placed& event) { seen_by_function = event.order; }

struct Accounts {
  int sum = 0;
  int looks = 0;
  void add(const Placed& event) { sum += event.order; }
  void look(const Placed&) const noexcept { const_cast<Accounts*>(this)->looks++; }
};

struct Buses : ::testing::Test {
  std::string calls;  // What the handlers of a test have written.
  std::vector<std::string> failures;
  Bus bus{{.on_failure = [this](const Failure& failure) {
    failures.push_back(std::string(failure.event) + ": " + failure.error.describe());
  }}};

  auto writes(std::string text) {
    return [this, text = std::move(text)](const Placed&) { calls += text; };
  }
};

// The handlers that are called.

TEST_F(Buses, call_a_handler_before_publish_returns) {
  int order = 0;
  const Subscription subscription = bus.subscribe<Placed>([&](const Placed& event) { order = event.order; });

  bus.publish(Placed{7});

  EXPECT_EQ(order, 7);
}

TEST_F(Buses, call_nobody_for_events_of_another_type) {
  const Subscription subscription = bus.subscribe<Placed>(writes("a"));

  bus.publish(Shipped{1});

  EXPECT_EQ(calls, "");
  EXPECT_EQ(bus.stats<Shipped>().published, 1u);
}

TEST_F(Buses, keep_their_subscribers_apart) {
  Bus other;
  const Subscription subscription = other.subscribe<Placed>(writes("a"));

  bus.publish(Placed{});

  EXPECT_EQ(calls, "");
  EXPECT_EQ(other.stats<Placed>().published, 0u);
}

TEST_F(Buses, call_functions_and_member_functions) {
  Accounts accounts;
  const Subscription function = bus.subscribe<Placed>(see);
  const Subscription member = bus.subscribe<Placed>(accounts, &Accounts::add);
  const Subscription constant = bus.subscribe<Placed>(std::as_const(accounts), &Accounts::look);

  bus.publish(Placed{3});

  EXPECT_EQ(seen_by_function, 3);
  EXPECT_EQ(accounts.sum, 3);
  EXPECT_EQ(accounts.looks, 1);
}

TEST_F(Buses, call_by_priority_and_then_in_the_order_of_subscription) {
  const Subscription b = bus.subscribe<Placed>(writes("b"));
  const Subscription d = bus.subscribe<Placed>(writes("d"), {.priority = std::numeric_limits<int>::min()});
  const Subscription c = bus.subscribe<Placed>(writes("c"));
  const Subscription a = bus.subscribe<Placed>(writes("a"), {.priority = std::numeric_limits<int>::max()});

  bus.publish(Placed{});

  EXPECT_EQ(calls, "abcd");
}

TEST_F(Buses, call_a_handler_for_what_its_filter_lets_pass) {
  Accounts accounts;
  const auto is_large = [](const Placed& event) { return event.order >= 10; };
  const Subscription member = bus.subscribe<Placed>(is_large, accounts, &Accounts::add);
  const Subscription lambda = bus.subscribe<Placed>(is_large, writes("a"));

  for (const int order : {9, 10, 11}) bus.publish(Placed{order});

  EXPECT_EQ(accounts.sum, 21);
  EXPECT_EQ(calls, "aa");
  EXPECT_EQ(bus.stats<Placed>().delivered, 4u);
}

TEST_F(Buses, call_a_hundred_subscribers) {
  std::vector<Subscription> subscriptions;
  for (int i = 0; i < 100; ++i) subscriptions.push_back(bus.subscribe<Placed>(writes("a")));

  bus.publish(Placed{});

  EXPECT_EQ(calls, std::string(100, 'a'));
  EXPECT_EQ(bus.stats<Placed>().delivered, 100u);
  EXPECT_EQ(bus.stats<Placed>().subscribers, 100u);
}

TEST_F(Buses, call_handlers_of_the_same_and_of_other_types_in_the_order_of_subscription) {
  std::vector<Subscription> subscriptions;
  const auto other = [&](char text) { return [this, text](const Placed&) { calls += text; }; };
  for (const char* const one : {"a", "b"}) subscriptions.push_back(bus.subscribe<Placed>(writes(one)));
  for (const char one : {'c', 'd', 'e'}) subscriptions.push_back(bus.subscribe<Placed>(other(one)));
  subscriptions.push_back(bus.subscribe<Placed>(writes("f")));
  subscriptions.push_back(bus.subscribe<Placed>(other('g')));

  bus.publish(Placed{});

  EXPECT_EQ(calls, "abcdefg");
  EXPECT_EQ(bus.stats<Placed>().delivered, 7u);
}

TEST_F(Buses, pass_over_what_has_ended_or_fails_among_handlers_of_one_type) {
  std::vector<Subscription> subscriptions(6);
  const auto handler = [&](std::size_t n) {
    return [&, n](const Placed&) {
      calls += std::to_string(n);
      if (n == 1) subscriptions[2].end();
      if (n == 3) throw std::runtime_error("three");
      if (n == 4) subscriptions[5].end();
    };
  };
  for (std::size_t n = 0; n < subscriptions.size(); ++n) subscriptions[n] = bus.subscribe<Placed>(handler(n));

  bus.publish(Placed{});
  EXPECT_EQ(calls, "0134");
  EXPECT_EQ(bus.stats<Placed>().delivered, 3u);
  EXPECT_EQ(failures.size(), 1u);

  calls.clear();
  bus.publish(Placed{});
  EXPECT_EQ(calls, "0134");
}

TEST_F(Buses, publish_several_events_in_their_order) {
  const std::vector<Placed> events = {{1}, {2}, {3}};
  const auto writes_order = [this](const Placed& event) { calls += std::to_string(event.order); };
  const Subscription first = bus.subscribe<Placed>(writes_order);
  const Subscription second = bus.subscribe<Placed>(writes_order);

  bus.publish_all<Placed>(events);
  bus.publish_all<Placed>({});

  EXPECT_EQ(calls, "112233");
  EXPECT_EQ(bus.stats<Placed>().published, 3u);
  EXPECT_EQ(bus.stats<Placed>().delivered, 6u);
}

TEST_F(Buses, publish_what_cannot_be_copied) {
  int value = 0;
  const Subscription subscription =
      bus.subscribe<std::unique_ptr<int>>([&](const std::unique_ptr<int>& event) { value = *event; });

  bus.publish(std::make_unique<int>(5));

  EXPECT_EQ(value, 5);
}

TEST_F(Buses, have_topics_that_are_the_same_as_their_types) {
  const Topic<Placed> topic = bus.topic<Placed>();
  const Subscription one = topic.subscribe(writes("a"));
  const Subscription other = bus.subscribe<Placed>(writes("b"));

  topic.publish(Placed{});
  bus.publish(Placed{});

  EXPECT_EQ(calls, "abab");
  EXPECT_EQ(topic.stats().published, 2u);
}

// Until when.

TEST_F(Buses, call_a_handler_until_its_subscription_ends) {
  {
    const Subscription subscription = bus.subscribe<Placed>(writes("a"));
    bus.publish(Placed{});
  }
  bus.publish(Placed{});
  Subscription second = bus.subscribe<Placed>(writes("b"));
  bus.publish(Placed{});
  second.end();
  second.end();
  bus.publish(Placed{});

  EXPECT_EQ(calls, "ab");
  EXPECT_EQ(bus.stats<Placed>().subscribers, 0u);
}

TEST_F(Buses, let_a_subscription_move_and_end_the_one_that_was_there) {
  Subscription a = bus.subscribe<Placed>(writes("a"));
  Subscription b = bus.subscribe<Placed>(writes("b"));

  Subscription moved = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_TRUE(moved);
  moved = std::move(b);
  bus.publish(Placed{});

  EXPECT_EQ(calls, "b");
}

TEST_F(Buses, destroy_a_handler_and_its_filter_with_its_subscription) {
  const auto held = std::make_shared<int>(1);
  Subscription subscription = bus.subscribe<Placed>([held](const Placed&) { return *held > 0; },
                                                    [held](const Placed&) { static_cast<void>(*held); });
  const Subscription other = bus.subscribe<Placed>(writes("a"));
  EXPECT_EQ(held.use_count(), 3);

  subscription.end();

  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(Buses, begin_and_end_subscriptions_a_thousand_times) {
  const Subscription stays = bus.subscribe<Placed>(writes("a"));
  for (int i = 0; i < 1000; ++i) {
    const Subscription subscription = bus.subscribe<Placed>(writes("b"));
    if (i % 100 == 0) bus.publish(Placed{});
  }

  EXPECT_EQ(calls, "abababababababababab");
}

// Handlers that fail.

TEST_F(Buses, keep_an_exception_from_other_handlers_and_from_the_publisher) {
  const Subscription first = bus.subscribe<Placed>([](const Placed&) { throw std::runtime_error("no paper"); });
  const Subscription second = bus.subscribe<Placed>(writes("a"));

  bus.publish(Placed{});

  EXPECT_EQ(calls, "a");
  EXPECT_EQ(failures, std::vector<std::string>{"keel::events::bus_test::Placed: exception: no paper"});
  EXPECT_EQ(bus.stats<Placed>().failed, 1u);
  EXPECT_EQ(bus.stats<Placed>().delivered, 1u);
}

TEST_F(Buses, count_and_report_an_error_that_a_handler_returns) {
  const Subscription subscription = bus.subscribe<Placed>([](const Placed& event) -> Result<> {
    if (event.order == 0) return fail(Code::Unavailable, "no printer");
    return {};
  });

  bus.publish(Placed{0});
  bus.publish(Placed{1});

  EXPECT_EQ(failures, std::vector<std::string>{"keel::events::bus_test::Placed: no printer"});
  EXPECT_EQ(bus.stats<Placed>().failed, 1u);
  EXPECT_EQ(bus.stats<Placed>().delivered, 1u);
}

TEST_F(Buses, count_and_report_a_filter_that_throws) {
  const Subscription subscription =
      bus.subscribe<Placed>([](const Placed&) -> bool { throw std::runtime_error("no idea"); }, writes("a"));

  bus.publish(Placed{});

  EXPECT_EQ(calls, "");
  EXPECT_EQ(failures, std::vector<std::string>{"keel::events::bus_test::Placed: exception: no idea"});
  EXPECT_EQ(bus.stats<Placed>().failed, 1u);
}

TEST_F(Buses, go_on_when_nobody_has_asked_about_failures) {
  Bus quiet;
  const Subscription subscription = quiet.subscribe<Placed>([](const Placed&) { throw 1; });

  quiet.publish(Placed{});

  EXPECT_EQ(quiet.stats<Placed>().failed, 1u);
}

// Inside a handler.

TEST_F(Buses, let_a_handler_publish_events_of_another_type) {
  const Subscription placed = bus.subscribe<Placed>([this](const Placed& event) {
    calls += "(";
    bus.publish(Shipped{event.order});
    calls += ")";
  });
  const Subscription shipped = bus.subscribe<Shipped>([this](const Shipped&) { calls += "s"; });
  const Subscription last = bus.subscribe<Placed>(writes("p"));

  bus.publish(Placed{});

  EXPECT_EQ(calls, "(s)p");
}

TEST_F(Buses, let_a_handler_publish_events_of_its_own_type_as_deep_as_it_likes) {
  const Subscription subscription = bus.subscribe<Placed>([this](const Placed& event) {
    calls += "(";
    if (event.order > 0) bus.publish(Placed{event.order - 1});
    calls += ")";
  });

  bus.publish(Placed{20});
  bus.publish(Placed{1});

  EXPECT_EQ(calls, std::string(21, '(') + std::string(21, ')') + "(())");
  EXPECT_EQ(bus.stats<Placed>().published, 23u);
}

TEST_F(Buses, call_a_handler_that_subscribed_inside_another_from_the_next_event_on) {
  Subscription inner;
  const Subscription outer = bus.subscribe<Placed>([&](const Placed&) {
    calls += "o";
    if (!inner) inner = bus.subscribe<Placed>(writes("i"));
  });

  bus.publish(Placed{});
  EXPECT_EQ(calls, "o");
  bus.publish(Placed{});

  EXPECT_EQ(calls, "ooi");
}

TEST_F(Buses, call_nobody_whose_subscription_a_handler_has_just_ended) {
  const auto held = std::make_shared<int>(1);
  Subscription later;
  const Subscription first = bus.subscribe<Placed>([&](const Placed&) {
    calls += "f";
    later.end();
    EXPECT_EQ(held.use_count(), 1) << "nobody runs it";
  });
  later = bus.subscribe<Placed>([this, held](const Placed&) { calls += "l"; });
  const Subscription last = bus.subscribe<Placed>(writes("z"));

  bus.publish(Placed{});

  EXPECT_EQ(calls, "fz");
}

TEST_F(Buses, let_a_handler_end_the_subscription_of_one_before_it) {
  Subscription before = bus.subscribe<Placed>(writes("b"));
  const Subscription after = bus.subscribe<Placed>([&](const Placed&) {
    calls += "a";
    before.end();
  });

  bus.publish(Placed{});
  bus.publish(Placed{});

  EXPECT_EQ(calls, "baa");
}

TEST_F(Buses, let_a_handler_end_its_own_subscription_and_destroy_it_when_it_has_returned) {
  const auto held = std::make_shared<int>(1);
  Subscription once;
  once = bus.subscribe<Placed>([this, held, &once](const Placed&) {
    once.end();
    calls += std::to_string(held.use_count());
  });

  bus.publish(Placed{});

  EXPECT_EQ(calls, "2") << "it is still there while it runs";
  EXPECT_EQ(held.use_count(), 1);
  bus.publish(Placed{});
  EXPECT_EQ(calls, "2");
}

TEST_F(Buses, let_a_handler_end_its_own_subscription_from_a_handler_that_it_has_called) {
  Subscription outer;
  outer = bus.subscribe<Placed>([this](const Placed& event) {
    calls += "o";
    bus.publish(Shipped{event.order});
    calls += "!";
  });
  const Subscription inner = bus.subscribe<Shipped>([&](const Shipped&) {
    outer.end();
    bus.publish(Placed{});
    calls += "i";
  });

  bus.publish(Placed{});

  EXPECT_EQ(calls, "oi!");
}

TEST_F(Buses, let_a_handler_replace_its_own_subscription) {
  Subscription self;
  self = bus.subscribe<Placed>([&](const Placed&) {
    calls += "a";
    self = bus.subscribe<Placed>(writes("b"));
  });

  bus.publish(Placed{});
  bus.publish(Placed{});

  EXPECT_EQ(calls, "ab");
}

TEST_F(Buses, let_a_handler_end_subscriptions_while_several_events_are_published) {
  Subscription self;
  self = bus.subscribe<Placed>([&](const Placed& event) {
    calls += std::to_string(event.order);
    if (event.order == 2) self.end();
  });
  const std::vector<Placed> events = {{1}, {2}, {3}};

  bus.publish_all<Placed>(events);

  EXPECT_EQ(calls, "12");
}

// In numbers.

double value_of(metrics::Registry& registry, std::string_view name, std::string_view event) {
  metrics::Reading reading;
  double value = -1;
  registry.read(reading, [&](std::span<const metrics::Family> families) {
    for (const metrics::Family& family : families) {
      if (family.name != name) continue;
      for (const metrics::Series& series : family.series) {
        if (series.label_values.at(0) == event && series.functions > 0) value = series.function_value;
      }
    }
  });
  return value;
}

TEST_F(Buses, show_their_numbers_as_metrics_for_as_long_as_they_live) {
  metrics::Registry registry;
  {
    Bus measured(registry);
    const Subscription subscription = measured.subscribe<Placed>([](const Placed& event) -> Result<> {
      if (event.order == 0) return fail(Code::Internal, "no");
      return {};
    });
    for (const int order : {0, 1, 2}) measured.publish(Placed{order});

    EXPECT_EQ(value_of(registry, "events_published_total", "keel::events::bus_test::Placed"), 3);
    EXPECT_EQ(value_of(registry, "events_delivered_total", "keel::events::bus_test::Placed"), 2);
    EXPECT_EQ(value_of(registry, "events_failed_total", "keel::events::bus_test::Placed"), 1);
    EXPECT_EQ(value_of(registry, "events_dropped_total", "keel::events::bus_test::Placed"), 0);
    EXPECT_EQ(value_of(registry, "events_subscribers", "keel::events::bus_test::Placed"), 1);
    EXPECT_EQ(value_of(registry, "events_queued", "keel::events::bus_test::Placed"), 0);
    EXPECT_EQ(value_of(registry, "events_published_total", "keel::events::bus_test::Shipped"), -1);
  }
  EXPECT_EQ(value_of(registry, "events_published_total", "keel::events::bus_test::Placed"), -1);
}

TEST_F(Buses, begin_to_count_at_zero_where_another_has_ended) {
  for (int i = 0; i < 3; ++i) {
    Bus fresh;
    EXPECT_EQ(fresh.stats<Placed>().published, 0u);
    fresh.publish(Placed{});
    EXPECT_EQ(fresh.stats<Placed>().published, 1u);
  }
}

// What it costs.

TEST_F(Buses, allocate_nothing_to_publish) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
  keel::testing::TestLoop loop;
  std::uint64_t sum = 0;
  const Subscription inner = bus.subscribe<Shipped>([&](const Shipped&) { ++sum; });
  const Subscription here = bus.subscribe<Placed>([&](const Placed&) {
    ++sum;
    bus.publish(Shipped{});
  });
  const Subscription on_loop = bus.subscribe<Placed>([&](const Placed&) { ++sum; }, {.executor = &loop});
  const auto publish = [&] {
    for (int i = 0; i < 100; ++i) bus.publish(Placed{i});
    loop.run_jobs();
  };
  publish();

  const std::size_t before = keel::internal::allocations();
  publish();
  EXPECT_EQ(keel::internal::allocations(), before);

  EXPECT_EQ(sum, 600u);
}

TEST_F(Buses, allocate_nothing_in_the_long_run_to_subscribe) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
  const auto subscribe = [&] {
    for (int i = 0; i < 100; ++i) const Subscription subscription = bus.subscribe<Placed>([](const Placed&) {});
  };
  subscribe();

  const std::size_t before = keel::internal::allocations();
  subscribe();
  EXPECT_EQ(keel::internal::allocations(), before);
}

// What is a bug.

TEST(BusDeathTest, outlives_its_subscriptions) {
  EXPECT_DEATH(
      {
        Subscription subscription;
        Bus bus;
        subscription = bus.subscribe<Placed>([](const Placed&) {});
      },
      "a Bus must outlive its subscriptions");
}

TEST(Bus, gives_an_executor_only_what_can_be_copied) {
  Bus bus;
  keel::testing::TestLoop loop;
  const auto ignore = [](const std::unique_ptr<int>&) {};
  EXPECT_THROW(static_cast<void>(bus.subscribe<std::unique_ptr<int>>(ignore, {.executor = &loop})), Bug);
}

}  // namespace
}  // namespace keel::events::bus_test
