#include "keel/task/event.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::event_test {
namespace {

struct EventTest : ::testing::Test {
  testing::TestLoop loop;
  Event event;
  std::string said;
};
void ignore(StartCore&) noexcept {}

Task<> wait_and_say(Event& event, std::string& said, char word) {
  co_await event.wait();
  said += word;
}

TEST_F(EventTest, a_set_event_is_not_waited_for) {
  event.set();
  Start<void> start;
  EXPECT_TRUE(start.begin(wait_and_say(event, said, 'a'), &ignore));
  EXPECT_EQ(said, "a");
}
TEST_F(EventTest, set_wakes_all_in_the_order_they_came) {
  Start<void> first, second;
  EXPECT_FALSE(first.begin(wait_and_say(event, said, 'a'), &ignore));
  EXPECT_FALSE(second.begin(wait_and_say(event, said, 'b'), &ignore));
  event.set();
  loop.run_jobs();
  EXPECT_EQ(said, "ab");
  EXPECT_TRUE(first.has_ended() && second.has_ended());
}
TEST_F(EventTest, a_reset_event_is_waited_for_again) {
  event.set();
  event.reset();
  Start<void> start;
  EXPECT_FALSE(start.begin(wait_and_say(event, said, 'a'), &ignore));
  loop.run_jobs();
  EXPECT_EQ(said, "");
  event.set();
  loop.run_jobs();
  EXPECT_EQ(said, "a");
}

Task<> wait_reset_wait(Event& event, std::string& said) {
  co_await event.wait();
  event.reset();
  said += '1';
  co_await event.wait();
  said += '2';
}
TEST_F(EventTest, who_was_woken_goes_on_even_if_another_resets_it_first) {
  Start<void> resets, waits;
  EXPECT_FALSE(resets.begin(wait_reset_wait(event, said), &ignore));
  EXPECT_FALSE(waits.begin(wait_and_say(event, said, 'b'), &ignore));
  event.set();
  loop.run_jobs();
  EXPECT_EQ(said, "1b");
  EXPECT_FALSE(resets.has_ended()) << "it waits for the next set()";
  event.set();
  loop.run_jobs();
  EXPECT_EQ(said, "1b2");
}

TEST_F(EventTest, a_stopped_wait_ends_with_cancelled_and_is_not_woken_later) {
  Start<void> start;
  EXPECT_FALSE(start.begin(wait_and_say(event, said, 'a'), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  event.set();
  loop.run_jobs();
  EXPECT_EQ(said, "");
}
TEST_F(EventTest, a_stopped_task_does_not_begin_to_wait) {
  StopSource stop;
  stop.request_stop();
  event.set();
  Start<void> start;
  EXPECT_TRUE(start.begin(wait_and_say(event, said, 'a'), &ignore, {.stop = &stop}));
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
}
TEST_F(EventTest, a_wait_ends_at_its_deadline) {
  auto limited = [](Event& e) -> Task<> { co_await with_timeout(10_ms, e.wait()); };
  EXPECT_EQ(loop.run(limited(event)).error().code(), Code::DeadlineExceeded);
}

// `first` is woken and stops `second`, which set() has taken from the list already.
Task<> wait_and_stop(Event& event, Start<void>& other) {
  co_await event.wait();
  other.stop();
}
TEST_F(EventTest, one_that_is_woken_may_stop_another_that_is_being_woken) {
  Start<void> first, second;
  EXPECT_FALSE(first.begin(wait_and_stop(event, second), &ignore));
  EXPECT_FALSE(second.begin(wait_and_say(event, said, 'b'), &ignore));
  event.set();
  loop.run_jobs();
  EXPECT_TRUE(first.has_ended() && second.has_ended());
  // Either is right, depending on who came first; nothing is lost and nothing runs twice.
  EXPECT_EQ(second.take().is_ok(), said == "b");
}
TEST_F(EventTest, is_one_of_several_things_to_wait_for) {
  auto either = [](Event& e) -> Task<> { co_await any(e.wait(), sleep_for(1_s)); };
  event.set();
  const Instant before = loop.now();
  EXPECT_TRUE(loop.run(either(event)).is_ok());
  EXPECT_EQ(loop.now(), before);
  EXPECT_EQ(loop.timers(), 0);
}

TEST(EventDeathTest, ending_before_a_waiter_is_a_bug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        testing::TestLoop loop;
        Start<void> start;
        std::string said;
        {
          Event event;
          start.begin(wait_and_say(event, said, 'a'), &ignore);
        }
      },
      "must outlive");
}

}  // namespace
}  // namespace keel::event_test
