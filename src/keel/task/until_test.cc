#include "keel/task/until.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "keel/task/channel.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::until_test {
namespace {

struct UntilTest : ::testing::Test {
  testing::TestLoop loop;
  Event event;
  bool begun = false;
  bool left = false;
};
void ignore(StartCore&) noexcept {}

Task<std::unique_ptr<int>> number(Duration duration, bool& begun, bool& left) {
  struct Leaving {
    bool& left;
    ~Leaving() { left = true; }
  } leaving{left};
  begun = true;
  co_await sleep_for(duration);
  co_return std::make_unique<int>(7);
}
Task<int> number_until(Event& event, Duration duration, bool& begun, bool& left) {
  const std::optional<std::unique_ptr<int>> got = co_await until(event, number(duration, begun, left));
  co_return got ? **got : -1;
}

TEST_F(UntilTest, yields_what_is_awaited) {
  for (const Duration duration : {Duration(), 5_ms}) {
    EXPECT_EQ(loop.run(number_until(event, duration, begun, left)).value(), 7);
  }
  EXPECT_FALSE(event.is_set());
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(UntilTest, stops_it_when_the_event_comes_and_waits_for_it) {
  Start<int> start;
  EXPECT_FALSE(start.begin(number_until(event, 1_h, begun, left), &ignore));
  event.set();
  loop.run_jobs();
  EXPECT_TRUE(left);
  EXPECT_EQ(start.take().value(), -1);
  EXPECT_EQ(loop.timers(), 0);
}
TEST_F(UntilTest, does_not_begin_it_when_the_event_has_come) {
  event.set();
  EXPECT_EQ(loop.run(number_until(event, Duration(), begun, left)).value(), -1);
  EXPECT_FALSE(begun);
}

Task<bool> waits_until(Event& event, Event& other) {
  const std::optional<std::monostate> happened = co_await until(event, other.wait());
  co_return happened.has_value();
}
Task<> set_both(Event& first, Event& second) {
  first.set();
  second.set();
  co_return;
}
TEST_F(UntilTest, takes_an_operation_that_yields_nothing) {
  Event other;
  Start<bool> start;
  EXPECT_FALSE(start.begin(waits_until(event, other), &ignore));
  other.set();
  loop.run_jobs();
  EXPECT_TRUE(start.take().value());
}
TEST_F(UntilTest, yields_when_both_have_come) {
  Event other;
  Start<bool> start;
  EXPECT_FALSE(start.begin(waits_until(event, other), &ignore));
  EXPECT_TRUE(loop.run(set_both(other, event)));
  loop.run_jobs();
  EXPECT_TRUE(start.take().value());
  other.reset();
  event.reset();
  EXPECT_FALSE(start.begin(waits_until(event, other), &ignore));
  EXPECT_TRUE(loop.run(set_both(event, other)));
  loop.run_jobs();
  EXPECT_TRUE(start.take().value()) << "what was woken has seen it";
}
TEST_F(UntilTest, leaves_in_a_channel_what_comes_with_the_event) {
  Channel<int> channel(1);
  auto next_until = [](Event& e, Channel<int>& from) -> Task<bool> {
    const std::optional<std::optional<int>> got = co_await until(e, from.receive());
    co_return got.has_value();
  };
  auto set_and_send = [](Event& e, Channel<int>& to) -> Task<> {
    e.set();
    EXPECT_TRUE(to.try_send(5));
    co_return;
  };
  Start<bool> start;
  EXPECT_FALSE(start.begin(next_until(event, channel), &ignore));
  EXPECT_TRUE(loop.run(set_and_send(event, channel)));
  loop.run_jobs();
  EXPECT_FALSE(start.take().value());
  EXPECT_EQ(channel.try_receive(), 5);
}

Task<int> failing(Code code, Duration duration) {
  co_await sleep_for(duration);
  co_return fail(code, "failed");
}
Task<int> failing_until(Event& event, Code code, Duration duration) {
  const std::optional<int> got = co_await until(event, failing(code, duration));
  co_return got.value_or(-1);
}
TEST_F(UntilTest, ends_with_the_error_of_what_is_awaited) {
  for (const Code code : {Code::NotFound, Code::Cancelled}) {
    for (const Duration duration : {Duration(), 5_ms}) {
      EXPECT_EQ(loop.run(failing_until(event, code, duration)).error().code(), code);
    }
  }
}
// A task that has an error of its own to tell when it is stopped.
Task<int> fails_when_stopped() {
  const Result<> slept = co_await attempt(sleep_for(1_h));
  co_return slept ? Error(Code::Internal, "nobody stopped it") : Error(Code::DataLoss, "not written");
}
TEST_F(UntilTest, tells_an_error_that_comes_because_it_was_stopped) {
  auto body = [](Event& e) -> Task<int> {
    const std::optional<int> got = co_await until(e, fails_when_stopped());
    co_return got.value_or(-1);
  };
  Start<int> start;
  EXPECT_FALSE(start.begin(body(event), &ignore));
  event.set();
  loop.run_jobs();
  EXPECT_EQ(start.take().error().code(), Code::DataLoss);
}
TEST_F(UntilTest, is_stopped_with_its_task) {
  Start<int> start;
  EXPECT_FALSE(start.begin(number_until(event, 1_h, begun, left), &ignore));
  start.stop();
  loop.run_jobs();
  EXPECT_TRUE(left);
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  StopSource stopped;
  stopped.request_stop();
  begun = false;
  EXPECT_TRUE(start.begin(number_until(event, 1_h, begun, left), &ignore, {.stop = &stopped}));
  EXPECT_EQ(start.take().error().code(), Code::Cancelled);
  EXPECT_FALSE(begun);
}
TEST_F(UntilTest, obeys_a_limit) {
  auto limited = [](UntilTest& test) -> Task<int> {
    co_return co_await with_timeout(10_ms, number_until(test.event, 1_h, test.begun, test.left));
  };
  EXPECT_EQ(loop.run(limited(*this)).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(loop.timers(), 0);
}

}  // namespace
}  // namespace keel::until_test
