#include "keel/task/channel.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "keel/task/scope.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel {
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

// The value is already given to a receiver that is stopped before it runs again: it keeps the value.
TEST_F(ChannelTest, a_value_that_was_given_is_received_even_if_the_task_is_stopped_meanwhile) {
  Channel<int> channel(1);
  auto send_and_stop = [](Channel<int>& c, Start<void>& receiver) -> Task<> {
    co_await c.send(5);
    receiver.stop();
  };
  Start<void> receiving, sending;
  receiving.begin(receive_all(channel, got), &ignore);
  sending.begin(send_and_stop(channel, receiving), &ignore);
  loop.run_jobs();
  EXPECT_EQ(got, std::vector{5});
  EXPECT_EQ(receiving.take().error().code(), Code::Cancelled);
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

}  // namespace
}  // namespace keel
