#include "keel/task/channel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "keel/task/event.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::channel_test {
namespace {

struct ChannelTest : ::testing::Test {
  testing::TestLoop loop;
  std::vector<int> got;
};
void ignore(StartCore&) noexcept {}

Task<> send_all(Channel<int>& channel, int from, int to, bool close) {
  for (int i = from; i < to; ++i) co_await channel.send(i);
  if (close) channel.close();
}
Task<> receive_all(Channel<int>& channel, std::vector<int>& got) {
  while (auto value = co_await channel.receive()) got.push_back(*value);
}
std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST_F(ChannelTest, gives_values_in_order_whatever_its_capacity) {
  for (const std::size_t capacity : {0u, 1u, 2u, 7u, 100u, 1000u}) {
    for (const bool sender_first : {true, false}) {
      Channel<int> channel(capacity);
      got.clear();
      Start<void> sending, receiving;
      if (sender_first) sending.begin(send_all(channel, 0, 100, true), &ignore);
      receiving.begin(receive_all(channel, got), &ignore);
      if (!sender_first) sending.begin(send_all(channel, 0, 100, true), &ignore);
      loop.run_until([&] { return sending.has_ended() && receiving.has_ended(); });
      EXPECT_EQ(got, numbers(100)) << capacity << sender_first;
      EXPECT_EQ(channel.size(), 0u);
    }
  }
}
TEST_F(ChannelTest, a_full_channel_makes_the_sender_wait) {
  Channel<int> channel(3);
  Start<void> sending;
  EXPECT_FALSE(sending.begin(send_all(channel, 0, 5, false), &ignore));
  EXPECT_EQ(channel.size(), 3u);
  EXPECT_FALSE(channel.try_send(9));
  EXPECT_EQ(*channel.try_receive(), 0);
  loop.run_jobs();
  EXPECT_EQ(channel.size(), 3u) << "the waiting value moved up";
  for (int expected = 1; expected < 5; ++expected) {
    EXPECT_EQ(*channel.try_receive(), expected);
    loop.run_jobs();
  }
  EXPECT_TRUE(sending.take().is_ok());
  EXPECT_EQ(channel.try_receive(), std::nullopt);
}
TEST_F(ChannelTest, without_capacity_a_send_completes_when_the_value_was_taken) {
  Channel<int> channel(0);
  Start<void> sending;
  EXPECT_FALSE(sending.begin(send_all(channel, 7, 8, false), &ignore));
  loop.run_jobs();
  EXPECT_FALSE(sending.has_ended());
  EXPECT_EQ(*channel.try_receive(), 7);
  loop.run_jobs();
  EXPECT_TRUE(sending.has_ended());
  EXPECT_FALSE(channel.try_send(8)) << "nobody waits for it";
}
TEST_F(ChannelTest, close_lets_receivers_take_what_is_inside) {
  Channel<int> channel(4);
  EXPECT_TRUE(channel.try_send(1));
  EXPECT_TRUE(channel.try_send(2));
  channel.close();
  EXPECT_FALSE(channel.try_send(3));
  EXPECT_TRUE(loop.run(receive_all(channel, got)).is_ok());
  EXPECT_EQ(got, (std::vector{1, 2}));
  EXPECT_EQ(loop.run(send_all(channel, 3, 4, false)).error().code(), Code::Cancelled);
}
TEST_F(ChannelTest, close_ends_everyone_who_waits) {
  Channel<int> full(1);
  Channel<int> empty(1);
  Start<void> sending, receiving;
  sending.begin(send_all(full, 0, 2, false), &ignore);
  receiving.begin(receive_all(empty, got), &ignore);
  full.close();
  full.close();
  empty.close();
  loop.run_jobs();
  EXPECT_EQ(sending.take().error().code(), Code::Cancelled);
  EXPECT_TRUE(receiving.take().is_ok());
  EXPECT_EQ(*full.try_receive(), 0) << "what was inside stays";
  EXPECT_EQ(full.try_receive(), std::nullopt) << "what waited was not sent";
}
TEST_F(ChannelTest, a_stopped_sender_has_not_sent) {
  Channel<int> channel(1);
  Start<void> first, second;
  first.begin(send_all(channel, 1, 3, false), &ignore);
  second.begin(send_all(channel, 8, 9, false), &ignore);
  first.stop();
  loop.run_jobs();
  EXPECT_EQ(first.take().error().code(), Code::Cancelled);
  EXPECT_EQ(*channel.try_receive(), 1);
  loop.run_jobs();
  EXPECT_EQ(*channel.try_receive(), 8);
  EXPECT_TRUE(second.has_ended());
}
TEST_F(ChannelTest, a_stopped_receiver_takes_nothing) {
  Channel<int> channel(1);
  Start<void> receiving;
  receiving.begin(receive_all(channel, got), &ignore);
  receiving.stop();
  loop.run_jobs();
  EXPECT_EQ(receiving.take().error().code(), Code::Cancelled);
  EXPECT_TRUE(channel.try_send(5));
  EXPECT_EQ(*channel.try_receive(), 5);
}

// --- What was given to a receiver that is stopped before it continues.

Task<> receive_one(Channel<int>& channel, std::vector<int>& got) {
  if (auto value = co_await channel.receive()) got.push_back(*value);
}
// In a task: what it wakes continues later.
Task<> send_and_stop(Channel<int>& channel, int first, int last, std::vector<Start<void>*> receivers) {
  for (int i = first; i <= last; ++i) EXPECT_TRUE(channel.try_send(int(i)));
  for (Start<void>* receiver : receivers) receiver->stop();
  co_return;
}

TEST_F(ChannelTest, a_value_given_to_a_task_that_is_stopped_before_it_goes_on_is_the_next_to_be_received) {
  Channel<int> channel(2);
  Start<void> receiving;
  receiving.begin(receive_all(channel, got), &ignore);
  EXPECT_TRUE(loop.run(send_and_stop(channel, 5, 7, {&receiving})));
  loop.run_jobs();
  EXPECT_EQ(receiving.take().error().code(), Code::Cancelled);
  EXPECT_EQ(got, std::vector<int>());
  EXPECT_EQ(channel.size(), 3u) << "one more than there is room for";
  EXPECT_FALSE(channel.try_send(8));

  for (int expected = 5; expected <= 7; ++expected) EXPECT_EQ(channel.try_receive(), expected);
  EXPECT_EQ(channel.try_receive(), std::nullopt);
}
TEST_F(ChannelTest, values_that_come_back_keep_their_order) {
  for (const std::size_t capacity : {0u, 1u, 2u, 10u}) {
    Channel<int> channel(capacity);
    std::vector<std::unique_ptr<Start<void>>> receivers;
    std::vector<Start<void>*> stopped;
    for (int i = 0; i < 5; ++i) {
      receivers.push_back(std::make_unique<Start<void>>());
      receivers.back()->begin(receive_all(channel, got), &ignore);
      stopped.push_back(receivers.back().get());
    }
    const int last = 4 + static_cast<int>(capacity);
    EXPECT_TRUE(loop.run(send_and_stop(channel, 0, last, stopped)));
    Start<void> sending;
    EXPECT_FALSE(sending.begin(send_all(channel, last + 1, last + 4, false), &ignore)) << "the channel is full";
    loop.run_jobs();
    for (auto& receiver : receivers) EXPECT_EQ(receiver->take().error().code(), Code::Cancelled);

    std::vector<int> all;
    for (int i = 0; i < last + 4; ++i) {
      all.push_back(channel.try_receive().value_or(-1));
      loop.run_jobs();
    }
    EXPECT_EQ(all, numbers(last + 4)) << capacity;
    EXPECT_TRUE(sending.take());
    EXPECT_EQ(got, std::vector<int>());
  }
}
TEST_F(ChannelTest, a_value_that_comes_back_goes_to_the_next_who_waits) {
  Channel<int> channel(0);
  Start<void> first, second;
  std::vector<int> got_first;
  first.begin(receive_all(channel, got_first), &ignore);
  second.begin(receive_one(channel, got), &ignore);
  EXPECT_TRUE(loop.run(send_and_stop(channel, 5, 5, {&first})));
  loop.run_jobs();
  EXPECT_EQ(first.take().error().code(), Code::Cancelled);
  EXPECT_EQ(got_first, std::vector<int>());
  EXPECT_TRUE(second.take());
  EXPECT_EQ(got, std::vector{5});
}
TEST_F(ChannelTest, a_value_that_comes_back_after_the_close_is_still_received) {
  Channel<int> channel(0);
  Start<void> first, second;
  std::vector<int> got_first;
  first.begin(receive_all(channel, got_first), &ignore);
  second.begin(receive_all(channel, got), &ignore);
  auto close_too = [](Channel<int>& c, Start<void>& stopped) -> Task<> {
    EXPECT_TRUE(c.try_send(5));
    c.close();
    stopped.stop();
    co_return;
  };
  EXPECT_TRUE(loop.run(close_too(channel, first)));
  loop.run_jobs();
  EXPECT_EQ(first.take().error().code(), Code::Cancelled);
  EXPECT_TRUE(second.take()) << "it was woken by the close";
  EXPECT_EQ(got, std::vector{5});
}
TEST_F(ChannelTest, a_sender_goes_on_when_what_came_back_has_been_received) {
  Channel<int> channel(1);
  Start<void> receiving, sending;
  receiving.begin(receive_all(channel, got), &ignore);
  EXPECT_TRUE(loop.run(send_and_stop(channel, 1, 2, {&receiving})));
  loop.run_jobs();
  EXPECT_EQ(receiving.take().error().code(), Code::Cancelled);
  EXPECT_FALSE(sending.begin(send_all(channel, 3, 4, false), &ignore));
  EXPECT_EQ(channel.try_receive(), 1);
  loop.run_jobs();
  EXPECT_FALSE(sending.has_ended()) << "the channel is full without what had come back";
  EXPECT_EQ(channel.try_receive(), 2);
  loop.run_jobs();
  EXPECT_TRUE(sending.take());
  EXPECT_EQ(channel.try_receive(), 3);
}

// --- Of two channels.

Task<int> select(Channel<int>& a, Channel<int>& b) {
  const std::optional<int> value = co_await any(a.receive(), b.receive());
  co_return value.value_or(-1);
}
Task<> send_to_both(Channel<int>& a, Channel<int>& b) {
  EXPECT_TRUE(a.try_send(1));
  EXPECT_TRUE(b.try_send(2));
  co_return;
}
TEST_F(ChannelTest, any_of_two_receives_takes_one_value_when_both_have_come) {
  for (const std::size_t capacity : {0u, 1u}) {
    Channel<int> a(capacity);
    Channel<int> b(capacity);
    Start<int> selecting;
    EXPECT_FALSE(selecting.begin(select(a, b), &ignore));
    EXPECT_TRUE(loop.run(send_to_both(a, b)));
    loop.run_jobs();
    EXPECT_EQ(selecting.take().value(), 1);
    EXPECT_EQ(a.try_receive(), std::nullopt);
    EXPECT_EQ(b.try_receive(), 2);
  }
}
Task<int> first_or_failure(Channel<int>& a, Event& failing) {
  auto fail_after = [](Event& event) -> Task<> {
    co_await event.wait();
    co_await fail(Code::NotFound, "failed");
  };
  auto both = co_await all(fail_after(failing), a.receive());
  auto& [nothing, value] = both;
  co_return value.value_or(-1);
}
TEST_F(ChannelTest, what_the_failure_of_another_task_stops_takes_nothing) {
  Channel<int> channel(1);
  Event failing;
  Start<int> both;
  EXPECT_FALSE(both.begin(first_or_failure(channel, failing), &ignore));
  auto cause = [](Channel<int>& c, Event& event) -> Task<> {
    event.set();
    EXPECT_TRUE(c.try_send(1));
    co_return;
  };
  EXPECT_TRUE(loop.run(cause(channel, failing)));
  loop.run_jobs();
  EXPECT_EQ(both.take().error().code(), Code::NotFound);
  EXPECT_EQ(channel.try_receive(), 1);
}
Task<> send_in_turn(Channel<int>& a, Channel<int>& b, Host& host, int count) {
  const auto coin = [&host] { return host.random() >> 63 == 0; };
  int to_a = 0;
  int to_b = 0;
  while (to_a < count || to_b < count) {
    if (to_a < count && coin() && a.try_send(int(to_a))) ++to_a;
    if (to_b < count && coin() && b.try_send(int(to_b))) ++to_b;
    if (coin()) co_await sleep_for(1_ms);
  }
  a.close();
  b.close();
}
Task<> select_all(Channel<int>& a, Channel<int>& b, std::vector<int>& from_a, std::vector<int>& from_b, int count) {
  auto tagged = [](Channel<int>& from, std::vector<int>& into) -> Task<std::vector<int>*> {
    const std::optional<int> value = co_await from.receive();
    if (!value) co_await fail(Code::NotFound, "closed");
    into.push_back(*value);
    co_return &into;
  };
  for (int i = 0; i < 2 * count; ++i) (void)co_await any(tagged(a, from_a), tagged(b, from_b));
}
TEST_F(ChannelTest, a_loop_over_two_channels_receives_everything_in_order) {
  constexpr int count = 1000;
  for (const std::size_t capacity : {0u, 1u, 4u}) {
    Channel<int> a(capacity);
    Channel<int> b(capacity);
    std::vector<int> from_a;
    std::vector<int> from_b;
    Start<void> receiving, sending;
    receiving.begin(select_all(a, b, from_a, from_b, count), &ignore);
    sending.begin(send_in_turn(a, b, loop, count), &ignore);
    loop.run_until([&] { return receiving.has_ended() && sending.has_ended(); });
    EXPECT_TRUE(receiving.take());
    EXPECT_EQ(from_a, numbers(count));
    EXPECT_EQ(from_b, numbers(count));
  }
}

TEST_F(ChannelTest, receiving_ends_at_a_deadline_and_the_channel_goes_on) {
  Channel<int> channel(1);
  auto limited = [](Channel<int>& c) -> Task<int> {
    auto value = co_await with_timeout(10_ms, c.receive());
    co_return value.value_or(-1);
  };
  EXPECT_EQ(loop.run(limited(channel)).error().code(), Code::DeadlineExceeded);
  EXPECT_TRUE(channel.try_send(5));
  EXPECT_EQ(loop.run(limited(channel)).value(), 5);
}

Task<> produce(Channel<int>& channel, Host& host, int from, int to) {
  for (int i = from; i < to; ++i) {
    if (host.random() % 4 == 0) co_await sleep_for(1_ms);
    co_await channel.send(i);
  }
}
Task<> consume(Channel<int>& channel, Host& host, std::vector<int>& got) {
  while (auto value = co_await channel.receive()) {
    got.push_back(*value);
    if (host.random() % 4 == 0) co_await sleep_for(1_ms);
  }
}
Task<> many_to_many(Channel<int>& channel, Host& host, std::vector<int>& got) {
  Scope consumers;
  for (int i = 0; i < 5; ++i) consumers.spawn(consume(channel, host, got));
  Scope producers;
  for (int i = 0; i < 5; ++i) producers.spawn(produce(channel, host, i * 100, i * 100 + 100));
  co_await producers.join();
  channel.close();
  co_await consumers.join();
}
TEST_F(ChannelTest, each_value_of_many_senders_reaches_one_of_many_receivers) {
  for (const std::size_t capacity : {0u, 1u, 3u}) {
    Channel<int> channel(capacity);
    got.clear();
    EXPECT_TRUE(loop.run(many_to_many(channel, loop, got)).is_ok());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, numbers(500));
  }
}
TEST_F(ChannelTest, carries_what_can_only_be_moved_and_destroys_what_was_not_received) {
  auto counted = std::make_shared<int>(0);
  {
    Channel<std::shared_ptr<int>> channel(2);
    EXPECT_TRUE(channel.try_send(std::shared_ptr<int>(counted)));
    EXPECT_EQ(counted.use_count(), 2);
  }
  EXPECT_EQ(counted.use_count(), 1);
  Channel<std::unique_ptr<int>> unique(1);
  auto value = std::make_unique<int>(3);
  EXPECT_TRUE(unique.try_send(std::move(value)));
  auto refused = std::make_unique<int>(4);
  EXPECT_FALSE(unique.try_send(std::move(refused)));
  EXPECT_TRUE(refused) << "what is refused stays with the sender";
  EXPECT_EQ(**unique.try_receive(), 3);
}

using Owned = std::unique_ptr<int>;
Task<> send_owned(Channel<Owned>& channel, Owned& value) { co_await channel.send(std::move(value)); }

TEST_F(ChannelTest, a_send_that_fails_leaves_the_value_with_its_sender) {
  Channel<Owned> channel(1);
  Owned first = std::make_unique<int>(1);
  Owned second = std::make_unique<int>(2);
  EXPECT_TRUE(loop.run(send_owned(channel, first)));
  EXPECT_FALSE(first);

  Start<void> stopped;
  EXPECT_FALSE(stopped.begin(send_owned(channel, second), &ignore));
  stopped.stop();
  loop.run_jobs();
  EXPECT_EQ(stopped.take().error().code(), Code::Cancelled);
  ASSERT_TRUE(second) << "stopped while it waited";

  Start<void> waiting;
  EXPECT_FALSE(waiting.begin(send_owned(channel, second), &ignore));
  EXPECT_EQ(**channel.try_receive(), 1);
  loop.run_jobs();
  EXPECT_TRUE(waiting.take()) << "sent again";
  EXPECT_FALSE(second);

  Owned third = std::make_unique<int>(3);
  EXPECT_FALSE(waiting.begin(send_owned(channel, third), &ignore));
  channel.close();
  loop.run_jobs();
  EXPECT_EQ(waiting.take().error().code(), Code::Cancelled);
  ASSERT_TRUE(third) << "the channel was closed meanwhile";
  EXPECT_EQ(loop.run(send_owned(channel, third)).error().code(), Code::Cancelled);
  EXPECT_TRUE(third) << "it was closed before";
  EXPECT_EQ(**channel.try_receive(), 2);
}
Task<> send_texts(Channel<std::string>& channel) {
  const std::string kept = "one that is too long for the small buffer";
  co_await channel.send(kept);
  co_await channel.send("made from a literal, also too long for the small buffer");
  co_await channel.send(std::string(40, 'x'));
  co_await with_timeout(1_s, channel.send(kept + kept));
  EXPECT_EQ(kept, "one that is too long for the small buffer");
}
Task<std::size_t> receive_texts(Channel<std::string>& channel) {
  std::size_t size = 0;
  for (int i = 0; i < 4; ++i) {
    const std::optional<std::string> text = co_await channel.receive();
    size += text.value_or("").size();
  }
  co_return size;
}
TEST_F(ChannelTest, what_is_sent_may_be_copied_converted_and_made_in_the_awaiting_expression) {
  for (const std::size_t capacity : {0u, 1u, 4u}) {
    Channel<std::string> channel(capacity);
    Start<void> sending;
    sending.begin(send_texts(channel), &ignore);
    EXPECT_EQ(loop.run(receive_texts(channel)).value(), 41u + 55u + 40u + 82u);
    loop.run_until([&] { return sending.has_ended(); });
    EXPECT_TRUE(sending.take());
  }
}

}  // namespace
}  // namespace keel::channel_test
