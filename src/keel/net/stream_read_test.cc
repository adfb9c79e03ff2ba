// read_exact and read_until on every engine, over TCP and Unix sockets.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/net/internal/net_test.h"
#include "keel/net/stream.h"
#include "keel/net/transport.h"
#include "keel/task/group.h"

namespace keel::stream_read_test {
namespace {

using Reads = internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, Reads, internal::every_kind_and_layered(), internal::name_of_engine);

Task<std::string> exactly(Stream& stream, std::size_t size) {
  std::string text(size, '\0');
  co_await stream.read_exact(text);
  co_return text;
}
Task<std::string> line(Stream& stream, std::string delimiter = "\n", std::size_t max = 1000) {
  Chunk chunk = co_await stream.read_until(delimiter, max);
  co_return std::string(chunk);
}
Task<std::string> rest(Stream& stream) {
  std::string text;
  while (true) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return text;
    text += chunk;
  }
}
Task<std::string> some(Stream& stream) {
  Chunk chunk = co_await stream.receive();
  co_return std::string(chunk);
}
// One byte after the other, each on its own.
Task<> trickle(Stream& stream, std::string text) {
  for (const char c : text) {
    co_await stream.write({&c, 1});
    co_await sleep_for(200_us);
  }
  stream.shutdown_write();
}

TEST_P(Reads, read_exact_fills_across_chunks) {
  auto [client, server] = pair();
  const std::string sent = internal::pattern(300'000);
  Start<void> writing;
  writing.begin(internal::write(client, sent), [](StartCore&) noexcept {});
  EXPECT_TRUE(*run(exactly(server, 1)) == sent.substr(0, 1));
  EXPECT_TRUE(*run(exactly(server, 0)) == "");
  EXPECT_TRUE(*run(exactly(server, 250'000)) == sent.substr(1, 250'000));
  EXPECT_TRUE(*run(exactly(server, 49'999)) == sent.substr(250'001));
  ASSERT_TRUE(until([&] { return writing.has_ended(); }));
}

TEST_P(Reads, begin_with_what_somebody_has_read_before) {
  auto [reader, server] = pair();
  Stream client(reader.detach(), "one\ntw");

  ASSERT_TRUE(run(internal::write(server, "o\nthree\nfour")));
  server.shutdown_write();

  EXPECT_EQ(*run(line(client)), "one\n");
  EXPECT_EQ(*run(line(client)), "two\n");
  EXPECT_EQ(*run(exactly(client, 3)), "thr");
  EXPECT_EQ(*run(rest(client)), "ee\nfour");
}

TEST_P(Reads, read_exact_says_how_much_had_come_and_loses_nothing_of_it) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "abc")));
  client.shutdown_write();
  const Result<std::string> result = run(exactly(server, 10));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::Unavailable);
  EXPECT_EQ(result.error().describe(), "the peer finished after 3 of 10 bytes");
  EXPECT_EQ(*run(rest(server)), "abc");
  EXPECT_EQ(run(exactly(server, 10)).error().describe(), "the peer finished after 0 of 10 bytes");
}

TEST_P(Reads, read_exact_of_a_reset_connection_is_unavailable_with_its_errno) {
  if (is_unix()) GTEST_SKIP() << "a Unix socket resets only a peer that it has not read from";
  if (is_layered()) GTEST_SKIP() << "the layer reads what its transport does not, and says goodbye";
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(server, "unread")));
  ASSERT_TRUE(run(internal::write(client, "abc")));
  settle();
  client.close();
  settle();
  const Result<std::string> result = run(exactly(server, 10));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::Unavailable);
  EXPECT_EQ(result.error().errno_value(), ECONNRESET);
}

TEST_P(Reads, a_cancelled_read_exact_loses_nothing) {
  auto [client, server] = pair();
  // Before anything has come.
  EXPECT_EQ(run(with_limit(exactly(server, 4), 1_ms)).error().code(), Code::DeadlineExceeded);
  // Midway.
  Start<std::string> reading;
  ASSERT_FALSE(reading.begin(exactly(server, 6), [](StartCore&) noexcept {}));
  ASSERT_TRUE(run(internal::write(client, "0123")));
  settle();
  reading.stop();
  ASSERT_TRUE(until([&] { return reading.has_ended(); }));
  EXPECT_EQ(reading.take().error().code(), Code::Cancelled);
  // Stopped already: it does not begin.
  StopSource stop;
  stop.request_stop();
  Start<std::string> late;
  EXPECT_TRUE(late.begin(exactly(server, 2), [](StartCore&) noexcept {}, {.stop = &stop}));
  EXPECT_EQ(late.take().error().code(), Code::Cancelled);
  // All of it is still there, in order.
  EXPECT_EQ(*run(exactly(server, 2)), "01");
  ASSERT_TRUE(run(internal::write(client, "4567")));
  EXPECT_EQ(*run(exactly(server, 5)), "23456");
  client.shutdown_write();
  EXPECT_EQ(*run(rest(server)), "7");
}

TEST_P(Reads, read_until_gives_line_after_line_and_then_nothing) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "one\n\ntwo\nthree\n")));
  client.shutdown_write();
  EXPECT_EQ(*run(line(server)), "one\n");
  EXPECT_EQ(*run(line(server)), "\n");
  EXPECT_EQ(*run(line(server)), "two\n");
  EXPECT_EQ(*run(line(server)), "three\n");
  EXPECT_EQ(*run(line(server)), "");
  EXPECT_EQ(*run(line(server)), "");
}

Task<std::vector<std::string>> lines(Stream& stream, std::string delimiter) {
  std::vector<std::string> all;
  while (true) {
    Chunk chunk = co_await stream.read_until(delimiter, 10'000);
    if (chunk.empty()) co_return all;
    all.emplace_back(chunk);
  }
}

Task<std::vector<std::string>> trickled(Stream& from, Stream& to, std::string text, std::string delimiter) {
  auto both = co_await all(trickle(from, text), lines(to, delimiter));
  co_return std::move(std::get<1>(both));
}

TEST_P(Reads, read_until_finds_a_delimiter_however_it_is_cut) {
  auto [client, server] = pair();
  // The delimiter's own beginning comes before it.
  const std::string text = "a\r\r\n\r\r\n\rb\r\n\r\r\n\r\nc\r\n\r\n";
  const auto heard = run(trickled(client, server, text, "\r\n\r\n"));
  ASSERT_TRUE(heard) << heard.error().describe();
  EXPECT_EQ(*heard, (std::vector<std::string>{"a\r\r\n\r\r\n\rb\r\n\r\r\n\r\n", "c\r\n\r\n"}));
}

TEST_P(Reads, read_until_gives_long_lines_that_come_in_many_chunks) {
  auto [client, server] = pair();
  std::string sent;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 60; ++i) {
    std::string one(i * 131 % 9000, static_cast<char>('a' + i % 26));
    one += "\r\n";
    sent += one;
    expected.push_back(std::move(one));
  }
  Start<void> writing;
  writing.begin(internal::write(client, sent), [](StartCore&) noexcept {});
  for (const std::string& one : expected) {
    const Result<std::string> got = run(line(server, "\r\n", 10'000));
    ASSERT_TRUE(got) << got.error().describe();
    EXPECT_TRUE(*got == one);
  }
  ASSERT_TRUE(until([&] { return writing.has_ended(); }));
}

TEST_P(Reads, read_until_refuses_what_exceeds_its_limit_and_loses_nothing) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "0123456789\nabc")));
  client.shutdown_write();
  EXPECT_EQ(run(line(server, "\n", 10)).error().code(), Code::OutOfRange);
  EXPECT_EQ(run(line(server, "\n", 10)).error().code(), Code::OutOfRange);
  EXPECT_EQ(*run(line(server, "\n", 11)), "0123456789\n");
  const Result<std::string> without = run(line(server, "\n", 11));
  EXPECT_EQ(without.error().code(), Code::Unavailable);
  EXPECT_EQ(without.error().describe(), "the peer finished after 3 bytes without the delimiter");
  EXPECT_EQ(*run(rest(server)), "abc");
}

TEST_P(Reads, read_until_counts_its_limit_across_chunks) {
  auto [client, server] = pair();
  Start<std::string> reading;
  ASSERT_FALSE(reading.begin(line(server, "\r\n", 8), [](StartCore&) noexcept {}));
  ASSERT_TRUE(run(internal::write(client, "01234")));
  settle();
  EXPECT_TRUE(reading.is_running());
  ASSERT_TRUE(run(internal::write(client, "56\r\nrest")));  // The delimiter ends one byte too late.
  ASSERT_TRUE(until([&] { return reading.has_ended(); }));
  EXPECT_EQ(reading.take().error().code(), Code::OutOfRange);
  EXPECT_EQ(*run(line(server, "\r\n", 9)), "0123456\r\n");
}

TEST_P(Reads, a_cancelled_read_until_loses_nothing) {
  auto [client, server] = pair();
  EXPECT_EQ(run(with_limit(line(server), 1_ms)).error().code(), Code::DeadlineExceeded);
  Start<std::string> reading;
  ASSERT_FALSE(reading.begin(line(server), [](StartCore&) noexcept {}));
  ASSERT_TRUE(run(internal::write(client, "half ")));
  settle();
  reading.stop();
  ASSERT_TRUE(until([&] { return reading.has_ended(); }));
  EXPECT_EQ(reading.take().error().code(), Code::Cancelled);
  ASSERT_TRUE(run(internal::write(client, "and half\nnext")));
  EXPECT_EQ(*run(line(server)), "half and half\n");
  StopSource stop;
  stop.request_stop();
  Start<std::string> late;
  EXPECT_TRUE(late.begin(line(server), [](StartCore&) noexcept {}, {.stop = &stop}));
  EXPECT_EQ(late.take().error().code(), Code::Cancelled);
  client.shutdown_write();
  EXPECT_EQ(*run(rest(server)), "next");
}

Task<std::string> in_turn(Stream& stream) {
  std::string heard;
  char three[3];
  Chunk line = co_await stream.read_until(" ", 100);
  heard += line;
  co_await stream.read_exact(three);
  heard.append(three, 3);
  std::size_t got = co_await stream.read(three);
  heard.append(three, got);
  while (heard.size() < 20) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) break;
    heard += chunk;
  }
  co_return heard;
}

TEST_P(Reads, follow_each_other_in_any_order) {
  for (int round = 0; round < 2; ++round) {
    auto [client, server] = pair();
    const std::string text = "word 3456789abcdefgh";
    Start<void> writing;
    writing.begin(round == 0 ? internal::write(client, text) : trickle(client, text), [](StartCore&) noexcept {});
    EXPECT_EQ(*run(with_limit(in_turn(server))), text);
    ASSERT_TRUE(until([&] { return writing.has_ended(); }));
  }
}

// What read_until gives stays as it is while later bytes come.
Task<bool> line_holds_across_a_write(Stream& stream) {
  Chunk line = co_await stream.read_until("\n", 1000);
  const std::string copy(line);
  const std::string much(2'000'000, 'w');
  co_await stream.write(much);
  co_return line == copy&& copy == "first line\n";
}

TEST_P(Reads, what_read_until_gives_is_valid_until_the_next_read) {
  auto [client, server] = pair();
  Start<bool> holds;
  ASSERT_FALSE(holds.begin(line_holds_across_a_write(server), [](StartCore&) noexcept {}));
  ASSERT_TRUE(run(internal::write(client, "first ")));
  settle();
  ASSERT_TRUE(run(internal::write(client, "line\nsecond")));
  settle();
  ASSERT_TRUE(run(internal::write(client, std::string(100'000, 'z'))));
  EXPECT_EQ(run(read_count(client, 2'000'000)).value(), 2'000'000u);
  ASSERT_TRUE(until([&] { return holds.has_ended(); }));
  EXPECT_TRUE(*holds.take());
  EXPECT_EQ(*run(exactly(server, 6)), "second");
}

TEST_P(Reads, shutdown_ends_a_read_that_another_task_waits_in) {
  auto [client, server] = pair();
  Start<std::string> waiting;
  ASSERT_FALSE(waiting.begin(some(server), [](StartCore&) noexcept {}));
  settle();
  server.shutdown();
  ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
  EXPECT_EQ(*waiting.take(), "");
  const Result<std::string> seen = run(rest(client));
  EXPECT_EQ(seen.has_value(), !is_layered()) << "a layer misses the goodbye of its peer";
  if (seen) {
    EXPECT_EQ(*seen, "");
  }
}

TEST_P(Reads, a_watched_stream_knows_that_something_came_and_keeps_it) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "one")));
  EXPECT_EQ(*run(exactly(server, 3)), "one");
  server.watch();
  settle();
  EXPECT_FALSE(server.has_input());

  ASSERT_TRUE(run(internal::write(client, "two")));

  ASSERT_TRUE(until([&] { return server.has_input(); }));
  EXPECT_EQ(*run(exactly(server, 3)), "two");
  EXPECT_FALSE(server.has_input());
  server.watch();
  ASSERT_TRUE(run(internal::write(client, "three")));
  client.shutdown_write();
  EXPECT_EQ(*run(rest(server)), "three");
}

TEST_P(Reads, a_watched_stream_knows_that_its_peer_has_gone) {
  auto [client, server] = pair();
  server.watch();  // Before anything was read.
  settle();
  EXPECT_FALSE(server.has_input());

  client.close();

  ASSERT_TRUE(until([&] { return server.has_input(); }));
  EXPECT_EQ(*run(rest(server)), "");
}

TEST_P(Reads, a_watched_stream_may_be_closed) {
  auto [client, server] = pair();
  server.watch();
  settle();
  server.close();
  EXPECT_EQ(*run(rest(client)), "");
}

// As before STARTTLS, or in a tunnel that a proxy has opened.
TEST_P(Reads, a_stream_whose_reading_has_ended_may_be_put_under_a_layer) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "begin\n")));
  EXPECT_EQ(*run(line(server)), "begin\n");
  ASSERT_TRUE(run(internal::write(server, "go on\n")));
  EXPECT_EQ(*run(line(client)), "go on\n");

  ASSERT_TRUE(run(client.end_reading()));
  const Result<> ended = run(server.end_reading());
  ASSERT_TRUE(ended) << ended.error().describe();
  if (is_layered()) return;  // One layer at a time.
  Stream above = Stream::layered(layers_, "server.test", std::move(client)).value();
  Stream below = Stream::layered(layers_, "", std::move(server)).value();

  ASSERT_TRUE(run(internal::write(above, "inverted")));
  EXPECT_EQ(*run(exactly(below, 8)), "inverted");
  ASSERT_TRUE(run(internal::write(below, "as well")));
  EXPECT_EQ(*run(exactly(above, 7)), "as well");
}

TEST_P(Reads, the_reading_of_a_stream_that_was_not_read_ends_at_once) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(server.end_reading()));
  ASSERT_TRUE(run(internal::write(client, "one")));
  EXPECT_EQ(*run(exactly(server, 3)), "one");
}

TEST_P(Reads, the_reading_may_go_on_after_it_has_ended) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "one")));
  EXPECT_EQ(*run(exactly(server, 3)), "one");
  ASSERT_TRUE(run(server.end_reading()));
  ASSERT_TRUE(run(internal::write(client, "two")));
  EXPECT_EQ(*run(exactly(server, 3)), "two");
}

TEST_P(Reads, ending_the_reading_tells_of_bytes_that_were_not_read) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "one\ntwo\n")));
  EXPECT_EQ(*run(line(server)), "one\n");
  const Result<> ended = run(server.end_reading());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::Protocol);
}

TEST_P(Reads, ending_the_reading_tells_of_a_peer_that_has_finished) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "one")));
  client.shutdown_write();
  EXPECT_EQ(*run(rest(server)), "one");
  const Result<> ended = run(server.end_reading());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), Code::Unavailable);
}

}  // namespace
}  // namespace keel::stream_read_test
