// Streams and listeners on every engine: io_uring, epoll, the simulation.

#include "keel/net/stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "keel/io/loop.h"
#include "keel/io/socket_options.h"
#include "keel/net/internal/net_test.h"
#include "keel/net/listener.h"
#include "keel/task/group.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::stream_test {
namespace {

using Streams = internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, Streams, internal::every_kind_and_layered(), internal::name_of_engine);

// The echo server of the style guide, as it stands there.
Task<> echo(Stream stream) {
  while (true) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}

Task<> serve(Listener& listener) {
  Scope connections;
  while (true) {
    Stream peer = co_await listener.accept();
    connections.spawn(echo(std::move(peer)));
  }
}

Task<std::string> read_all(Stream& stream) {
  std::string text;
  while (true) {
    Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return text;
    text += chunk;
  }
}

Task<> write_and_finish(Stream& stream, std::string text) {
  co_await stream.write(text);
  stream.shutdown_write();
}

// What `client` says to an echo server, and hears.
Task<std::string> say(Address to, std::string text) {
  Stream stream = co_await Stream::connect(to);
  auto both = co_await all(write_and_finish(stream, text), read_all(stream));
  co_return std::move(std::get<1>(both));
}

Task<> echo_to_three(Address to, std::string* heard) {
  for (int i = 0; i < 3; ++i) heard[i] = co_await say(to, internal::pattern(200'000 + static_cast<std::size_t>(i)));
}

TEST_P(Streams, echo_as_in_the_style_guide) {
  Listener listener = listen();
  Start<void> server;
  ASSERT_FALSE(server.begin(serve(listener), [](StartCore&) noexcept {}));
  std::string heard[3];

  ASSERT_TRUE(run(echo_to_three(listener.address(), heard)));

  for (int i = 0; i < 3; ++i) EXPECT_TRUE(heard[i] == internal::pattern(200'000 + static_cast<std::size_t>(i)));
  server.stop();
  ASSERT_TRUE(until([&] { return server.has_ended(); }));
  EXPECT_EQ(server.take().error().code(), Code::Cancelled);
}

TEST_P(Streams, receive_gives_what_was_written_and_then_the_end) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(write_and_finish(client, "hello")));
  EXPECT_EQ(*run(read_all(server)), "hello");
  EXPECT_EQ(*run(read_all(server)), "");  // The end stays the end.
}

Task<std::string> read_in_pieces(Stream& stream, std::size_t size) {
  std::string text;
  std::string piece(size, '\0');
  while (true) {
    const std::size_t got = co_await stream.read(piece);
    if (got == 0) co_return text;
    text.append(piece, 0, got);
  }
}

TEST_P(Streams, read_copies_at_most_what_there_is_room_for) {
  for (const std::size_t size : {1u, 7u, 100'000u}) {
    auto [client, server] = pair();
    const std::string sent = internal::pattern(size == 1 ? 300 : 50'000);
    ASSERT_TRUE(run(write_and_finish(client, sent)));
    EXPECT_TRUE(*run(read_in_pieces(server, size)) == sent) << size;
  }
}

Task<std::string> read_three_then_receive(Stream& stream) {
  char three[3];
  std::size_t got = 0;
  while (got < 3) got += co_await stream.read(std::span(three).subspan(got));
  std::string text(three, 3);
  co_return text + co_await read_all(stream);
}

TEST_P(Streams, receive_begins_with_what_read_left_of_a_chunk) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(write_and_finish(client, "0123456789")));
  settle();
  const Result<std::string> text = run(with_limit(read_three_then_receive(server)));
  ASSERT_TRUE(text) << text.error().describe();
  EXPECT_EQ(*text, "0123456789");
}

Task<bool> chunk_holds_across_a_write(Stream& from, Stream& to) {
  Chunk chunk = co_await from.receive();
  const std::string copy(chunk);
  const std::string much(2'000'000, 'w');
  co_await to.write(much);
  co_return chunk == copy;
}

TEST_P(Streams, a_chunk_is_valid_until_the_next_receive_whatever_arrives) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, internal::pattern(9000))));
  settle();
  Start<bool> holds;
  ASSERT_FALSE(holds.begin(chunk_holds_across_a_write(server, server), [](StartCore&) noexcept {}));
  settle();
  ASSERT_TRUE(run(internal::write(client, std::string(100'000, 'z'))));
  client.shutdown_write();
  EXPECT_EQ(run(read_count(client, 2'000'000)).value(), 2'000'000u);
  ASSERT_TRUE(until([&] { return holds.has_ended(); }));
  EXPECT_TRUE(*holds.take());
}

Task<std::string> receive_once(Stream& stream) {
  Chunk chunk = co_await stream.receive();
  co_return std::string(chunk);
}

TEST_P(Streams, a_cancelled_receive_loses_nothing) {
  auto [client, server] = pair();
  std::string got;
  for (int i = 0; i < 20; ++i) {
    const Result<std::string> none = run(with_limit(receive_once(server), 1_ms));
    if (none) got += *none;
    ASSERT_TRUE(run(internal::write(client, std::to_string(i % 10))));
    if (i % 3 == 0) settle();
    const Result<std::string> some = run(with_limit(receive_once(server), i % 2 == 0 ? 1_ms : 100_ms));
    if (some) {
      got += *some;
    } else {
      EXPECT_EQ(some.error().code(), Code::DeadlineExceeded);
    }
  }
  client.shutdown_write();
  got += *run(read_all(server));
  EXPECT_EQ(got, "01234567890123456789");
}

TEST_P(Streams, with_timeout_ends_a_receive_with_deadline_exceeded) {
  auto [client, server] = pair();
  const Instant began = now();
  const Result<std::string> result = run(with_limit(receive_once(server), 30_ms));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::DeadlineExceeded);
  EXPECT_GE((now() - began).count_ms(), 29);
}

TEST_P(Streams, a_stopped_receive_is_cancelled) {
  auto [client, server] = pair();
  Start<std::string> waiting;
  ASSERT_FALSE(waiting.begin(receive_once(server), [](StartCore&) noexcept {}));
  settle();
  waiting.stop();
  ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
  EXPECT_EQ(waiting.take().error().code(), Code::Cancelled);
  // Already stopped: it does not even begin.
  StopSource stop;
  stop.request_stop();
  Start<std::string> late;
  EXPECT_TRUE(late.begin(receive_once(server), [](StartCore&) noexcept {}, {.stop = &stop}));
  EXPECT_EQ(late.take().error().code(), Code::Cancelled);
}

TEST_P(Streams, a_write_waits_for_a_peer_that_does_not_read) {
  auto [client, server] = pair();
  const std::string much = internal::pattern(20'000'000);
  Start<void> writing;
  ASSERT_FALSE(writing.begin(internal::write(server, much), [](StartCore&) noexcept {}));
  settle();
  EXPECT_TRUE(writing.is_running());
  EXPECT_EQ(run(read_count(client, much.size())).value(), much.size());
  ASSERT_TRUE(until([&] { return writing.has_ended(); }));
  EXPECT_TRUE(writing.take());
}

TEST_P(Streams, a_write_that_waits_is_cancelled) {
  auto [client, server] = pair();
  const Result<> result = run(with_limit(internal::write(server, internal::pattern(20'000'000)), 30_ms));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::DeadlineExceeded);
}

TEST_P(Streams, a_receiver_that_does_not_ask_slows_the_sender_down) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "x")));
  EXPECT_EQ(*run(receive_once(server)), "x");  // From now on it is armed and paused.
  Start<void> writing;
  ASSERT_FALSE(writing.begin(internal::write(client, internal::pattern(30'000'000)), [](StartCore&) noexcept {}));
  settle();
  EXPECT_TRUE(writing.is_running());
  EXPECT_EQ(run(read_count(server, 30'000'000)).value(), 30'000'000u);
  ASSERT_TRUE(until([&] { return writing.has_ended(); }));
  EXPECT_TRUE(writing.take());
}

Task<> write_until_it_breaks(Stream& stream) {
  const std::string some(100'000, 's');
  while (true) co_await stream.write(some);
}

Task<> establish(Stream& stream) { co_await stream.establish(); }

TEST_P(Streams, are_established_after_the_handshake_of_their_layer) {
  Pair streams = pair();
  EXPECT_EQ(streams.client.layer() != nullptr, is_layered());

  EXPECT_TRUE(run(establish(streams.client)));
  EXPECT_TRUE(run(establish(streams.client))) << "and again";

  EXPECT_TRUE(!is_layered() || streams.client.layer()->is_established());
}

TEST_P(Streams, establishing_fails_as_the_handshake_does_and_can_be_cancelled) {
  if (!is_layered()) GTEST_SKIP() << "nothing is waited for";
  Listener listener = listen();
  TestLayers mute("mute", false);
  Stream client(*mute.make(run(Stream::connect(listener.address())).value().detach(), "server.test"));
  const Result<> late = run(with_limit(establish(client), 20_ms));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded);

  Stream server(*layers_.make(run(accept_from(listener)).value().detach(), ""));
  const Result<> failed = run(establish(server));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message(), "the test layer does not understand its peer");
}

TEST_P(Streams, a_broken_connection_is_unavailable) {
  auto [client, server] = pair();
  {
    // Closed with something unread: a reset.
    ASSERT_TRUE(run(internal::write(server, "unread")));
    settle();
    Stream gone = std::move(client);
  }
  const Result<> written = run(write_until_it_breaks(server));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::Unavailable) << written.error().describe();
  EXPECT_NE(written.error().errno_value(), 0);
}

TEST_P(Streams, a_refused_connect_is_unavailable_and_names_the_address) {
  Address nobody = free_address();
  {
    Listener listener = listen();
    nobody = listener.address();
  }
  settle();
  const Result<Stream> stream = run(Stream::connect(nobody));
  ASSERT_FALSE(stream);
  // The simulation has no files: the path of a Unix socket ends with its listener.
  EXPECT_EQ(stream.error().code(), GetParam() == internal::Which::SimUnix ? Code::NotFound : Code::Unavailable);
  EXPECT_NE(stream.error().describe().find(nobody.to_string()), std::string::npos) << stream.error().describe();
}

TEST_P(Streams, know_both_addresses) {
  auto [client, server] = pair();
  if (is_unix()) {  // The client has no path.
    EXPECT_EQ(server.local_address(), client.peer_address());
    return;
  }
  EXPECT_EQ(client.local_address(), server.peer_address());
  EXPECT_EQ(server.local_address(), client.peer_address());
}

TEST_P(Streams, take_options_and_tell_them) {
  auto [client, server] = pair();
  if (is_unix()) {
    EXPECT_EQ(client.set_options({.no_delay = true}).error().code(), Code::Unsupported);
    EXPECT_EQ(client.set_options({.hop_limit = 3}).error().code(), Code::Unsupported);
    EXPECT_FALSE(client.options().user_timeout);
    EXPECT_FALSE(client.options().hop_limit);
    EXPECT_GT(*client.options().send_buffer_bytes, 0);
    return;
  }
  EXPECT_EQ(client.set_options({.broadcast = true}).error().code(), Code::Unsupported);
  ASSERT_TRUE(client.set_options({.hop_limit = 33, .traffic_class = 0x28}));
  EXPECT_EQ(client.options().hop_limit, 33);
  EXPECT_EQ(client.options().traffic_class, 0x28);
  EXPECT_FALSE(client.options().multicast_hop_limit);
  EXPECT_TRUE(*server.options().no_delay);
  EXPECT_TRUE(*client.options().no_delay);
  ASSERT_TRUE(client.set_options({.no_delay = false, .keep_alive = io::KeepAlive{.idle = 9_s}, .user_timeout = 7_s}));
  EXPECT_FALSE(*client.options().no_delay);
  EXPECT_EQ(client.options().keep_alive->idle, 9_s);
  EXPECT_EQ(client.options().keep_alive->count, io::KeepAlive().count);
  EXPECT_EQ(*client.options().user_timeout, 7_s);
  EXPECT_EQ(client.set_options({.user_timeout = -1_s}).error().code(), Code::InvalidArgument);
}

TEST_P(Streams, reset_on_close_resets) {
  if (is_unix()) GTEST_SKIP() << "an option of TCP";
  if (is_layered()) GTEST_SKIP() << "the layer says goodbye first";
  for (const bool reset : {false, true}) {
    auto [client, server] = pair();
    ASSERT_TRUE(client.set_options({.reset_on_close = reset}));
    Start<std::string> reading;
    ASSERT_FALSE(reading.begin(read_all(server), [](StartCore&) noexcept {}));
    client.close();
    ASSERT_TRUE(until([&] { return reading.has_ended(); }));
    const Result<std::string> result = reading.take();
    EXPECT_EQ(result.has_value(), !reset);
    if (reset) {
      EXPECT_EQ(result.error().errno_value(), ECONNRESET);
    }
  }
}

Task<Stream> connect_from(Address to, Address from) { co_return co_await Stream::connect(to, {.from = from}); }

TEST_P(Streams, connect_from_the_address_they_are_told) {
  Listener listener = listen();
  Start<Stream> accepting;
  accepting.begin(accept_from(listener), [](StartCore&) noexcept {});
  const Address from = is_unix() ? free_address() : *Address::parse("127.0.0.9:0");
  Stream client = *run(connect_from(listener.address(), from));
  ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  Stream server = *accepting.take();
  Address seen = server.peer_address();
  if (is_unix()) {
    EXPECT_EQ(seen.to_string(), from.to_string());
    return;
  }
  EXPECT_NE(seen.port(), 0);
  EXPECT_EQ(seen, client.local_address());
  seen.set_port(0);
  EXPECT_EQ(seen, from);
  const Result<Stream> wrong = run(connect_from(listener.address(), *Address::parse("[::1]:0")));
  ASSERT_FALSE(wrong);
}

TEST_P(Streams, what_was_written_before_a_close_arrives) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, internal::pattern(100'000))));
  client.close();
  EXPECT_TRUE(*run(read_all(server)) == internal::pattern(100'000));
}

TEST_P(Streams, may_be_destroyed_while_the_peer_still_sends) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, internal::pattern(50'000))));
  EXPECT_FALSE(run(receive_once(server))->empty());
  {
    Stream gone = std::move(server);
  }
  const Result<> written = run(write_until_it_breaks(client));
  EXPECT_FALSE(written);
}

class StreamsThatClose : public internal::NetTest {
 protected:
  // A server has answered and not read what the client sent. `answer_` fits into the buffers, but not into the
  // client's.
  Pair answered() {
    auto [client, server] = pair();
    EXPECT_TRUE(is_sim() || server.set_options({.send_buffer_bytes = 1 << 20}));
    EXPECT_TRUE(run(internal::write(client, internal::pattern(20'000))));
    settle();
    EXPECT_TRUE(run(with_limit(internal::write(server, answer_))));
    return {std::move(client), std::move(server)};
  }
  // What comes, and whether its end came.
  static Task<std::string> read_rest(Stream& stream, bool& ended) {
    std::string text;
    while (true) {
      Result<Chunk> chunk = co_await attempt(stream.receive());
      ended = chunk.has_value();
      if (!chunk || chunk->empty()) co_return text;
      text += *chunk;
    }
  }
  static Task<> close_it(Stream& stream, Duration timeout, std::uint64_t bytes_max) {
    co_await stream.close_gently(timeout, bytes_max);
  }
  std::string hear(Stream& stream, bool& ended) { return *run(read_rest(stream, ended)); }

  const std::string answer_ = internal::pattern(180'000);
};
INSTANTIATE_TEST_SUITE_P(, StreamsThatClose, internal::every_kind(), internal::name_of_engine);

TEST_P(StreamsThatClose, with_unread_input_reset_the_connection) {
  auto [client, server] = answered();
  bool ended = true;
  server.close();
  settle();
  const std::string got = hear(client, ended);
  EXPECT_FALSE(ended);
  // What the client's buffer did not hold is lost; between Unix sockets it holds all, in the simulation it may.
  EXPECT_TRUE(is_unix() || is_sim() || got.size() < answer_.size()) << got.size();
}

TEST_P(StreamsThatClose, gently_lose_nothing) {
  auto [client, server] = answered();
  bool ended = false;
  Start<void> closing;
  ASSERT_FALSE(closing.begin(close_it(server, 10_s, 1 << 20), [](StartCore&) noexcept {}));
  settle();
  // It sends still.
  ASSERT_TRUE(run(internal::write(client, internal::pattern(50'000))));
  settle();
  EXPECT_TRUE(closing.is_running());
  EXPECT_TRUE(hear(client, ended) == answer_);
  EXPECT_TRUE(ended);
  client.close();
  ASSERT_TRUE(until([&] { return closing.has_ended(); }));
  EXPECT_TRUE(closing.take());
}

TEST_P(StreamsThatClose, gently_wait_no_longer_than_they_are_told) {
  auto [client, server] = pair();
  const Instant began = now();
  EXPECT_EQ(run(close_it(server, 30_ms, 1 << 20)).error().code(), Code::DeadlineExceeded);
  EXPECT_GE((now() - began).count_ms(), 29);
  EXPECT_EQ(*run(read_all(client)), "") << "the end";
}

TEST_P(StreamsThatClose, gently_read_no_more_than_they_are_told) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, internal::pattern(10'001))));
  EXPECT_EQ(run(close_it(server, 10_s, 10'000)).error().code(), Code::OutOfRange);
  bool ended = false;
  hear(client, ended);
}

TEST_P(StreamsThatClose, gently_close_when_they_are_cancelled) {
  auto [client, server] = pair();
  Start<void> closing;
  ASSERT_FALSE(closing.begin(close_it(server, 10_s, 1 << 20), [](StartCore&) noexcept {}));
  settle();
  closing.stop();
  ASSERT_TRUE(until([&] { return closing.has_ended(); }));
  EXPECT_EQ(closing.take().error().code(), Code::Cancelled);
  EXPECT_FALSE(run(write_until_it_breaks(client))) << "nobody is there";
}

TEST_P(StreamsThatClose, gently_say_that_the_connection_broke) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(server, "unread")));
  settle();
  client.close();
  const Result<> closed = run(close_it(server, 10_s, 1 << 20));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code(), Code::Unavailable) << closed.error().describe();
}

TEST_P(Streams, lend_their_descriptor) {
  auto [client, server] = pair();
  if (is_sim()) {
    EXPECT_EQ(engine().local_address(client.native_handle()), client.local_address());
    return;
  }
  const int bytes = 50'000;
  ASSERT_EQ(setsockopt(client.native_handle(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
  EXPECT_GE(*client.options().send_buffer_bytes, bytes);
  EXPECT_NE(client.native_handle(), server.native_handle());
}

TEST_P(Streams, move_between_operations) {
  auto [client, server] = pair();
  ASSERT_TRUE(run(internal::write(client, "one")));
  EXPECT_EQ(run(read_count(server, 3)).value(), 3u);
  Stream moved = std::move(server);
  ASSERT_TRUE(run(write_and_finish(client, "two")));
  EXPECT_EQ(*run(read_all(moved)), "two");
}

}  // namespace
}  // namespace keel::stream_test
