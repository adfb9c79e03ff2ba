// Writing in parts and both directions at the same time, on every engine, over TCP and Unix sockets.

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "keel/net/internal/net_test.h"
#include "keel/net/stream.h"
#include "keel/task/group.h"

namespace keel::stream_write_test {
namespace {

using Writes = internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, Writes, internal::every_kind_and_layered(), internal::name_of_engine);

Task<> write_parts(Stream& stream, std::vector<std::string> parts) {
  const std::vector<std::string_view> views(parts.begin(), parts.end());
  co_await stream.write(views);
}
Task<std::string> read_all(Stream& stream) {
  std::string text;
  while (true) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return text;
    text += chunk;
  }
}
Task<std::string> first(Stream& stream) {
  Chunk chunk = co_await stream.receive();
  co_return std::string(chunk);
}

TEST_P(Writes, send_all_parts_in_order) {
  auto [client, server] = pair();
  std::vector<std::string> parts;
  std::string whole;
  for (std::size_t i = 0; i < Stream::parts_max; ++i) {
    parts.push_back(i % 7 == 3 ? std::string() : internal::pattern(i * 997 % 40'000 + 1));
    whole += parts.back();
  }
  Start<void> writing;
  writing.begin(write_parts(client, parts), [](StartCore&) noexcept {});
  EXPECT_EQ(run(read_count(server, 10)).value() > 0, true);
  Start<std::string> reading;
  reading.begin(read_all(server), [](StartCore&) noexcept {});
  ASSERT_TRUE(until([&] { return writing.has_ended(); }));
  EXPECT_TRUE(writing.take());
  client.shutdown_write();
  ASSERT_TRUE(until([&] { return reading.has_ended(); }));
  const std::string tail = *reading.take();
  EXPECT_TRUE(tail.size() < whole.size() && tail == whole.substr(whole.size() - tail.size()));
}

Task<std::string> ask_unhurried(Stream& stream, std::string question) {
  Stream::Write write = stream.write(question);
  write.set_unhurried(true);
  co_await write;
  std::string text;
  while (text.size() < question.size()) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) break;
    text += chunk;
  }
  co_return std::move(text);
}
Task<> answer(Stream& stream) {
  while (true) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}
TEST_P(Writes, that_are_unhurried_arrive_and_end) {
  auto [client, server] = pair();
  Start<void> answering;
  answering.begin(answer(server), [](StartCore&) noexcept {});
  for (int i = 0; i < 20; ++i) {
    const std::string question = "question " + std::to_string(i);
    EXPECT_EQ(*run(ask_unhurried(client, question)), question);
  }
  client.shutdown_write();
  ASSERT_TRUE(until([&] { return answering.has_ended(); }));
}

TEST_P(Writes, nothing_in_parts_is_nothing_written) {
  auto [client, server] = pair();
  EXPECT_TRUE(run(write_parts(client, {})));
  EXPECT_TRUE(run(write_parts(client, {"", ""})));
  EXPECT_TRUE(run(write_parts(client, {"", "x", ""})));
  client.shutdown_write();
  EXPECT_EQ(*run(read_all(server)), "x");
}

TEST_P(Writes, in_parts_can_be_cancelled) {
  auto [client, server] = pair();
  const std::vector<std::string> much(10, std::string(2'000'000, 'm'));
  const Result<> late = run(with_limit(write_parts(server, much), 20_ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded);
  StopSource stop;
  stop.request_stop();
  Start<void> stopped;
  EXPECT_TRUE(stopped.begin(write_parts(server, {"x"}), [](StartCore&) noexcept {}, {.stop = &stop}));
  EXPECT_EQ(stopped.take().error().code(), Code::Cancelled);
}

TEST_P(Writes, in_parts_to_a_peer_that_has_gone_are_unavailable) {
  auto [client, server] = pair();
  client.close();
  Result<> result;
  for (int i = 0; i < 100 && result; ++i) {
    result = run(write_parts(server, {"a", "b"}));
    settle();
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::Unavailable);
  // A layer may have words of its own for it.
  if (!is_layered()) {
    EXPECT_NE(result.error().errno_value(), 0);
  }
}

TEST_P(Writes, the_peer_s_end_is_seen_while_a_write_waits) {
  auto [client, server] = pair();
  Start<void> writing;
  ASSERT_FALSE(writing.begin(internal::write(server, internal::pattern(20'000'000)), [](StartCore&) noexcept {}));
  client.shutdown_write();
  EXPECT_EQ(*run(first(server)), "");
  EXPECT_TRUE(writing.is_running());
  EXPECT_EQ(run(read_count(client, 20'000'000)).value(), 20'000'000u);
  ASSERT_TRUE(until([&] { return writing.has_ended(); }));
  EXPECT_TRUE(writing.take());
}

TEST_P(Writes, shutdown_ends_a_write_that_another_task_waits_in) {
  auto [client, server] = pair();
  Start<void> writing;
  ASSERT_FALSE(writing.begin(internal::write(server, internal::pattern(20'000'000)), [](StartCore&) noexcept {}));
  settle();
  server.shutdown();
  ASSERT_TRUE(until([&] { return writing.has_ended(); }));
  const Result<> result = writing.take();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::Unavailable);
  EXPECT_EQ(result.error().errno_value(), EPIPE);
}

}  // namespace
}  // namespace keel::stream_write_test
