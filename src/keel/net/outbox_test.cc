// Outboxes on every engine, over TCP and Unix sockets.

#include "keel/net/outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/net/internal/net_test.h"

namespace keel::outbox_test {
namespace {

using Outboxes = internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, Outboxes, internal::every_kind_and_layered(), internal::name_of_engine);

Task<std::string> read_all(Stream& stream) {
  std::string text;
  while (true) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return text;
    text += chunk;
  }
}
Task<std::string> read_some(Stream& stream, std::size_t count) {
  std::string text(count, '\0');
  co_await stream.read_exact(text);
  co_return text;
}
Task<> below_low(Outbox& outbox) { co_await outbox.below_low(); }
Task<> drained(Outbox& outbox) { co_await outbox.drained(); }
void ignore(StartCore&) noexcept {}
Buffer buffer_of(std::string_view text) {
  Buffer buffer;
  buffer.append(text);
  return buffer;
}

TEST_P(Outboxes, write_in_order_what_was_pushed) {
  auto [client, server] = pair();
  Outbox outbox(server);
  std::string expected;
  for (std::size_t i = 0; i < 100; ++i) {
    const std::string piece = internal::pattern(i * 89 % 9000);
    ASSERT_TRUE(i % 3 == 0 ? outbox.push(buffer_of(piece)) : outbox.push(piece));
    expected += piece;
    EXPECT_EQ(outbox.queued_bytes(), expected.size());
  }
  Start<void> running;
  running.begin(outbox.run(), ignore);
  EXPECT_TRUE(*run(read_some(client, expected.size())) == expected);
  ASSERT_TRUE(run(drained(outbox)));
  EXPECT_EQ(outbox.queued_bytes(), 0u);
  // And again, now that it waits.
  ASSERT_TRUE(outbox.push("last words"));
  outbox.close();
  EXPECT_EQ(outbox.push("too late").error().code(), Code::FailedPrecondition);
  ASSERT_TRUE(until([&] { return running.has_ended(); }));
  EXPECT_TRUE(running.take());
  Start<void> closing;
  closing.begin(server.close_gently(), ignore);  // A layer of the client may answer what it received.
  const Result<std::string> rest = run(read_all(client));
  ASSERT_TRUE(rest) << rest.error().describe();
  EXPECT_EQ(*rest, "last words");
  client.close();
  ASSERT_TRUE(until([&] { return closing.has_ended(); }));
  EXPECT_TRUE(closing.take());
}

TEST_P(Outboxes, end_when_they_are_closed_empty) {
  auto [client, server] = pair();
  Outbox outbox(server);
  Start<void> running;
  ASSERT_FALSE(running.begin(outbox.run(), ignore));
  outbox.close();
  ASSERT_TRUE(until([&] { return running.has_ended(); }));
  EXPECT_TRUE(running.take());
}

// Pushes until it is rejected; returns how much was taken.
std::size_t fill(Outbox& outbox, std::string_view piece) {
  std::size_t pushed = 0;
  while (outbox.push(piece)) pushed += piece.size();
  return pushed;
}

TEST_P(Outboxes, refuse_what_exceeds_their_bound_and_say_when_there_is_room) {
  auto [client, server] = pair();
  Outbox outbox(server, {.high_bytes = 300'000, .low_bytes = 100'000, .bytes_max = 1'000'000});
  Start<void> running;
  ASSERT_FALSE(running.begin(outbox.run(), ignore));
  const std::string piece = internal::pattern(10'000);
  // First until the system's buffers are full, then until ours is.
  std::size_t pushed = 0;
  while (outbox.queued_bytes() < 900'000) {
    pushed += fill(outbox, piece);
    settle();
  }
  pushed += fill(outbox, piece);
  EXPECT_EQ(outbox.push(piece).error().code(), Code::ResourceExhausted);
  EXPECT_LE(outbox.queued_bytes(), 1'000'000u);
  EXPECT_GT(outbox.queued_bytes() + piece.size(), 1'000'000u);
  EXPECT_TRUE(outbox.is_above_high());
  Start<void> waiting;
  ASSERT_FALSE(waiting.begin(below_low(outbox), ignore));
  settle();
  EXPECT_TRUE(waiting.is_running());

  Start<std::string> reading;
  ASSERT_FALSE(reading.begin(read_some(client, pushed), ignore));
  ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
  EXPECT_TRUE(waiting.take());
  EXPECT_LE(outbox.queued_bytes(), 100'000u);
  EXPECT_FALSE(outbox.is_above_high());
  ASSERT_TRUE(until([&] { return reading.has_ended(); }));
  const std::string got = *reading.take();
  for (std::size_t at = 0; at < pushed; at += piece.size()) ASSERT_TRUE(got.compare(at, piece.size(), piece) == 0);

  outbox.close();
  ASSERT_TRUE(until([&] { return running.has_ended(); }));
}

TEST_P(Outboxes, a_peer_that_does_not_read_holds_up_nobody_else) {
  Pair slow = pair();
  Pair one = pair();
  Pair two = pair();
  Outbox to_slow(slow.server, {.bytes_max = 100'000});
  Outbox to_one(one.server);
  Outbox to_two(two.server);
  Start<void> running[3];
  running[0].begin(to_slow.run(), ignore);
  running[1].begin(to_one.run(), ignore);
  running[2].begin(to_two.run(), ignore);
  const std::string line = internal::pattern(50'000);
  // Rejected once is slow; rejected again and again is stuck.
  int refused = 0;
  for (int i = 0; i < 1000 && refused < 10; ++i) {
    refused = to_slow.push(line) ? 0 : refused + 1;
    for (Outbox* outbox : {&to_one, &to_two}) ASSERT_TRUE(outbox->push(line));
    ASSERT_TRUE(*run(read_some(one.client, line.size())) == line);
    ASSERT_TRUE(*run(read_some(two.client, line.size())) == line);
  }
  ASSERT_EQ(refused, 10);

  slow.server.shutdown();  // It was too slow.
  ASSERT_TRUE(until([&] { return running[0].has_ended(); }));
  EXPECT_EQ(running[0].take().error().code(), Code::Unavailable);
  EXPECT_EQ(to_slow.push(line).error().code(), Code::Unavailable);
  to_one.close();
  to_two.close();
  ASSERT_TRUE(until([&] { return running[1].has_ended() && running[2].has_ended(); }));
}

TEST_P(Outboxes, tell_everyone_who_waits_that_the_connection_broke) {
  auto [client, server] = pair();
  Outbox outbox(server, {.high_bytes = 0, .low_bytes = 0, .bytes_max = 50'000'000});
  ASSERT_TRUE(outbox.push(internal::pattern(40'000'000)));
  Start<void> running;
  Start<void> waiting[2];
  ASSERT_FALSE(running.begin(outbox.run(), ignore));
  ASSERT_FALSE(waiting[0].begin(below_low(outbox), ignore));
  ASSERT_FALSE(waiting[1].begin(drained(outbox), ignore));
  settle();
  client.close();
  ASSERT_TRUE(until([&] { return running.has_ended(); }));
  EXPECT_EQ(running.take().error().code(), Code::Unavailable);
  ASSERT_TRUE(until([&] { return waiting[0].has_ended() && waiting[1].has_ended(); }));
  for (Start<void>& one : waiting) EXPECT_EQ(one.take().error().code(), Code::Unavailable);
  EXPECT_EQ(run(drained(outbox)).error().code(), Code::Unavailable);
}

TEST_P(Outboxes, can_be_cancelled) {
  auto [client, server] = pair();
  Outbox outbox(server, {.bytes_max = 50'000'000});
  ASSERT_TRUE(outbox.push(internal::pattern(40'000'000)));
  Start<void> running;
  ASSERT_FALSE(running.begin(outbox.run(), ignore));
  // Waiting, midway and late, leaves nothing behind.
  EXPECT_EQ(run(with_limit(below_low(outbox), 2_ms)).error().code(), Code::DeadlineExceeded);
  Start<void> waiting;
  ASSERT_FALSE(waiting.begin(drained(outbox), ignore));
  waiting.stop();
  ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
  EXPECT_EQ(waiting.take().error().code(), Code::Cancelled);
  running.stop();
  ASSERT_TRUE(until([&] { return running.has_ended(); }));
  EXPECT_EQ(running.take().error().code(), Code::Cancelled);
  EXPECT_EQ(outbox.push("x").error().code(), Code::Unavailable);
  // Stopped before it begins.
  Outbox never(server);
  ASSERT_TRUE(never.push("x"));
  StopSource stop;
  stop.request_stop();
  Start<void> late;
  EXPECT_TRUE(late.begin(never.run(), ignore, {.stop = &stop}));
  EXPECT_EQ(late.take().error().code(), Code::Cancelled);
}

Task<> push_and_read(Outbox& outbox, Stream& client, int rounds, std::size_t& allocated) {
  char eleven[11];
  std::size_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 2) before = internal::allocations();
    EXPECT_TRUE(outbox.push("hello "));
    EXPECT_TRUE(outbox.push("world"));
    co_await client.read_exact(eleven);
  }
  allocated = internal::allocations() - before;
}

TEST_P(Outboxes, allocate_nothing_per_message) {
  if (KEEL_SANITIZED || simulation_ != nullptr) GTEST_SKIP() << "sanitizers and the simulation allocate";
  auto [client, server] = pair();
  Outbox outbox(server);
  Start<void> running;
  ASSERT_FALSE(running.begin(outbox.run(), ignore));
  std::size_t allocated = 1;
  ASSERT_TRUE(run(push_and_read(outbox, client, 400, allocated)));
  EXPECT_EQ(allocated, 0u);
  outbox.close();
  ASSERT_TRUE(until([&] { return running.has_ended(); }));
}

}  // namespace
}  // namespace keel::outbox_test
