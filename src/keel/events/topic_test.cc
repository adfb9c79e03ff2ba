// publish_and_wait(), and handlers that give Tasks.
#include "keel/events/topic.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/bug.h"
#include "keel/events/bus.h"
#include "keel/task/event.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::events::topic_test {
namespace {

struct Placed {
  int order = 0;
};

// Another loop than the one that publishes, which runs when it is told to.
struct Elsewhere final : Executor {
  void post(Job& job) noexcept override { jobs.push_back(&job); }
  void run_one() {
    Job& job = *jobs.front();
    jobs.erase(jobs.begin());
    Executor* const before = Executor::set_current(this);
    job.run(job);
    Executor::set_current(before);
  }
  std::vector<Job*> jobs;
};

void ignore(StartCore&) noexcept {}

struct Topics : ::testing::Test {
  keel::testing::TestLoop loop;
  Elsewhere elsewhere;
  std::string calls;
  std::vector<std::string> failures;
  Bus bus{{.on_failure = [this](const Failure& failure) { failures.push_back(failure.error.describe()); }}};
  Event go;

  Task<> slow(const Placed& event) {
    calls += "<";
    co_await sleep_for(10_ms);
    calls += std::to_string(event.order) + ">";
  }
  Task<> waits(const Placed&) {
    calls += "w";
    co_await go.wait();
    calls += "!";
  }
  Task<> refuses(const Placed&) {
    co_await fail(Code::Unavailable, "not today");
    calls += "never";
  }
  Task<> throws(const Placed&) {
    throw std::runtime_error("thrown");
    co_return;
  }
  Task<Delivery> publish_within(Duration time) {
    const Delivery became = co_await with_timeout(time, bus.publish_and_wait(Placed{}));
    co_return became;
  }
  Result<Delivery> published_off_the_loop() {
    Executor* const before = Executor::set_current(nullptr);
    Start<Delivery> publishing;
    const bool has_ended = publishing.begin(bus.publish_and_wait(Placed{}), &ignore);
    Executor::set_current(before);
    EXPECT_TRUE(has_ended);
    return publishing.take();
  }
  auto writes(std::string text) {
    return [this, text = std::move(text)](const Placed&) { calls += text; };
  }
};

TEST_F(Topics, wait_for_handlers_in_the_publishers_thread_and_for_tasks_by_priority) {
  const Subscription slow = bus.subscribe<Placed>(*this, &Topics::slow);
  const Subscription first = bus.subscribe<Placed>(*this, &Topics::slow, {.priority = 1});
  const Subscription here = bus.subscribe<Placed>(writes("h"));

  const Delivery became = loop.run(bus.publish_and_wait(Placed{7})).value();

  EXPECT_EQ(calls, "h<7><7>");
  EXPECT_EQ(became.delivered, 3u);
  EXPECT_EQ(became.failed + became.dropped, 0u);
  EXPECT_EQ(bus.stats<Placed>().delivered, 3u);
  EXPECT_EQ(bus.stats<Placed>().published, 1u);
}

TEST_F(Topics, without_subscribers_have_nothing_to_wait_for) {
  EXPECT_EQ(loop.run(bus.topic<Placed>().publish_and_wait(Placed{})).value().delivered, 0u);
}

TEST_F(Topics, wait_until_executors_have_handled_the_event) {
  const Subscription away = bus.subscribe<Placed>(writes("a"), {.executor = &elsewhere});
  const Subscription also = bus.subscribe<Placed>(writes("b"), {.executor = &elsewhere});
  Start<Delivery> publishing;

  EXPECT_FALSE(publishing.begin(bus.publish_and_wait(Placed{}), &ignore));
  loop.run_jobs();
  EXPECT_FALSE(publishing.has_ended());
  elsewhere.run_one();
  loop.run_jobs();
  EXPECT_FALSE(publishing.has_ended());
  elsewhere.run_one();
  EXPECT_FALSE(publishing.has_ended()) << "it goes on at home";
  loop.run_jobs();

  ASSERT_TRUE(publishing.has_ended());
  EXPECT_EQ(publishing.take().value().delivered, 2u);
  EXPECT_EQ(calls, "ab");
}

TEST_F(Topics, wait_for_handlers_on_the_loop_that_publishes) {
  const Subscription same = bus.subscribe<Placed>(writes("a"), {.executor = &loop});

  EXPECT_EQ(loop.run(bus.publish_and_wait(Placed{})).value().delivered, 1u);
  EXPECT_EQ(calls, "a");
}

TEST_F(Topics, tell_how_many_handlers_failed_and_how_many_did_not_get_the_event) {
  const Subscription throwing = bus.subscribe<Placed>([](const Placed&) { throw std::runtime_error("here"); });
  const Subscription task_throws = bus.subscribe<Placed>(*this, &Topics::throws);
  const Subscription task_refuses = bus.subscribe<Placed>(*this, &Topics::refuses);
  const Subscription away = bus.subscribe<Placed>(
      [](const Placed& event) -> Result<> {
        if (event.order == 2) return fail(Code::Internal, "away");
        return {};
      },
      {.executor = &loop, .queue_max = 1});
  bus.publish(Placed{1});  // Takes the only place.
  failures.clear();

  const Delivery full = loop.run(bus.publish_and_wait(Placed{2})).value();
  loop.run_jobs();
  const Delivery failed = loop.run(bus.publish_and_wait(Placed{2})).value();

  EXPECT_EQ(full.delivered, 0u);
  EXPECT_EQ(full.failed, 3u);
  EXPECT_EQ(full.dropped, 1u);
  EXPECT_EQ(failed.failed, 4u);
  EXPECT_EQ(failed.dropped, 0u);
  EXPECT_EQ(failures, (std::vector<std::string>{"exception: here", "exception: thrown", "not today", "exception: here",
                                                "exception: thrown", "not today", "away"}));
  EXPECT_EQ(calls, "");
}

TEST_F(Topics, pass_over_handlers_that_give_tasks_when_nobody_waits) {
  const Subscription slow = bus.subscribe<Placed>(*this, &Topics::slow);
  const Subscription here = bus.subscribe<Placed>(writes("h"));

  bus.publish(Placed{});

  EXPECT_EQ(calls, "h");
  EXPECT_EQ(bus.stats<Placed>().dropped, 1u);
}

TEST_F(Topics, run_no_task_for_what_the_filter_holds_back) {
  const Subscription slow =
      bus.subscribe<Placed>([](const Placed& event) { return event.order > 1; }, *this, &Topics::slow);

  loop.run(bus.publish_and_wait(Placed{1})).value();
  loop.run(bus.publish_and_wait(Placed{2})).value();

  EXPECT_EQ(calls, "<2>");
}

TEST_F(Topics, let_a_publisher_stop_waiting_for_executors) {
  const Subscription away = bus.subscribe<Placed>(writes("a"), {.executor = &elsewhere});

  const Result<Delivery> became = loop.run(publish_within(10_ms));

  ASSERT_FALSE(became);
  EXPECT_EQ(became.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(calls, "");
  elsewhere.run_one();
  EXPECT_EQ(calls, "a") << "the handler runs all the same";
  EXPECT_EQ(loop.run_jobs(), 0) << "and tells nobody";
}

TEST_F(Topics, let_a_publisher_be_stopped_when_all_has_been_handled_and_it_does_not_know_yet) {
  const Subscription away = bus.subscribe<Placed>(writes("a"), {.executor = &elsewhere});
  Start<Delivery> publishing;
  publishing.begin(bus.publish_and_wait(Placed{}), &ignore);

  elsewhere.run_one();
  publishing.stop();
  loop.run_jobs();

  ASSERT_TRUE(publishing.has_ended());
  EXPECT_EQ(publishing.take().value().delivered, 1u);
}

TEST_F(Topics, stop_the_task_that_runs_and_begin_no_other_when_the_publisher_is_stopped) {
  const Subscription waits = bus.subscribe<Placed>(*this, &Topics::waits);
  const Subscription slow = bus.subscribe<Placed>(*this, &Topics::slow, {.priority = -1});

  const Result<Delivery> became = loop.run(publish_within(10_ms));

  ASSERT_FALSE(became);
  EXPECT_EQ(became.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(calls, "w");
  go.set();
  loop.run_jobs();
  EXPECT_EQ(calls, "w");
}

TEST_F(Topics, decide_what_waits_for_an_executor_when_its_subscription_ends) {
  Subscription away = bus.subscribe<Placed>(writes("a"), {.executor = &elsewhere});
  Start<Delivery> publishing;
  publishing.begin(bus.publish_and_wait(Placed{}), &ignore);

  away.end();
  loop.run_jobs();

  ASSERT_TRUE(publishing.has_ended());
  EXPECT_EQ(publishing.take().value().dropped, 1u);
  elsewhere.run_one();
  EXPECT_EQ(calls, "");
}

// Ends of subscriptions.

TEST_F(Topics, finish_a_subscription_when_its_tasks_have_ended) {
  Subscription waits = bus.subscribe<Placed>(*this, &Topics::waits);
  Start<Delivery> one, other;
  Start<void> finishing;
  one.begin(bus.publish_and_wait(Placed{}), &ignore);
  other.begin(bus.publish_and_wait(Placed{}), &ignore);
  EXPECT_EQ(calls, "ww");

  EXPECT_FALSE(finishing.begin(waits.finish(), &ignore));
  loop.run(bus.publish_and_wait(Placed{})).value();
  EXPECT_EQ(calls, "ww") << "none begins any more";
  EXPECT_FALSE(finishing.has_ended());
  go.set();
  loop.run_jobs();

  EXPECT_EQ(calls, "ww!!");
  ASSERT_TRUE(finishing.has_ended());
  EXPECT_TRUE(finishing.take());
  EXPECT_FALSE(waits);
  EXPECT_EQ(one.take().value().delivered, 1u);
  EXPECT_EQ(other.take().value().delivered, 1u);
}

TEST_F(Topics, finish_a_subscription_without_tasks_at_once) {
  Subscription slow = bus.subscribe<Placed>(*this, &Topics::slow);
  Subscription none;

  EXPECT_TRUE(loop.run(slow.finish()));
  EXPECT_TRUE(loop.run(none.finish()));

  EXPECT_EQ(bus.stats<Placed>().subscribers, 0u);
}

TEST_F(Topics, finish_a_subscription_even_when_asked_to_stop) {
  Subscription waits = bus.subscribe<Placed>(*this, &Topics::waits);
  Start<Delivery> publishing;
  Start<void> finishing;
  publishing.begin(bus.publish_and_wait(Placed{}), &ignore);
  finishing.begin(waits.finish(), &ignore);

  finishing.stop();
  loop.run_jobs();
  EXPECT_FALSE(finishing.has_ended());
  go.set();
  loop.run_jobs();

  ASSERT_TRUE(finishing.has_ended());
  EXPECT_TRUE(finishing.take());
  EXPECT_TRUE(publishing.take());
}

TEST_F(Topics, let_a_handler_end_another_subscription_whose_task_has_not_begun) {
  Subscription slow = bus.subscribe<Placed>(*this, &Topics::slow);
  const Subscription first = bus.subscribe<Placed>([&](const Placed&) { slow.end(); }, {.priority = 1});

  EXPECT_EQ(loop.run(bus.publish_and_wait(Placed{})).value().delivered, 1u);
  EXPECT_EQ(calls, "");
}

using TopicsDeathTest = Topics;

TEST_F(TopicsDeathTest, do_not_let_a_subscription_end_while_its_task_is_under_way) {
  EXPECT_DEATH(
      {
        Subscription waits = bus.subscribe<Placed>(*this, &Topics::waits);
        Start<Delivery> publishing;
        publishing.begin(bus.publish_and_wait(Placed{}), &ignore);
        waits.end();
      },
      "must be ended by co_await finish");
}

TEST_F(Topics, take_no_executor_for_a_handler_that_gives_a_task) {
  EXPECT_THROW(static_cast<void>(bus.subscribe<Placed>(*this, &Topics::slow, {.executor = &loop})), Bug);
  EXPECT_EQ(bus.stats<Placed>().subscribers, 0u);
}

// A thread of a pool, or none: nothing would wake it.
TEST_F(Topics, wait_for_handlers_on_executors_only_on_a_loop) {
  const Subscription here = bus.subscribe<Placed>(writes("here"));
  EXPECT_TRUE(published_off_the_loop()) << "nothing has to be waited for";
  const Subscription there = bus.subscribe<Placed>(writes("there"), {.executor = &elsewhere});

  const Result<Delivery> became = published_off_the_loop();

  ASSERT_FALSE(became);
  EXPECT_TRUE(became.error().is_bug());
  EXPECT_NE(became.error().message().find("only if it is called on a serial executor"), std::string_view::npos);
  elsewhere.run_one();
  EXPECT_EQ(calls, "hereherethere") << "the event was published";
}

}  // namespace
}  // namespace keel::events::topic_test
