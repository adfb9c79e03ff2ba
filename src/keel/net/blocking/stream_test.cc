// Blocking streams over TCP and Unix sockets.

#include "keel/net/blocking/stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/host.h"
#include "keel/net/blocking/internal/blocking_test.h"
#include "keel/net/resolver.h"

namespace keel::blocking::blocking_stream_test {
namespace {

using internal::pattern;
using internal::rest;
using BlockingStreams = internal::BlockingTest;
INSTANTIATE_TEST_SUITE_P(, BlockingStreams, internal::tcp_and_unix(), internal::name_of_kind);

TEST_P(BlockingStreams, carry_bytes_both_ways_and_tell_the_end) {
  auto [client, server] = pair();
  const std::string sent = pattern(3'000'000);
  std::thread peer([&] {
    EXPECT_TRUE(client.write(sent, 20_s));
    client.shutdown_write();
    EXPECT_EQ(rest(client), "thanks");
  });
  EXPECT_TRUE(rest(server) == sent);
  EXPECT_TRUE(server.receive()->empty());
  EXPECT_TRUE(server.write("thanks"));
  server.close();
  peer.join();
}

TEST_P(BlockingStreams, read_in_every_way_one_after_the_other) {
  auto [client, server] = pair();
  std::thread peer([&] {
    for (const char c : std::string("line\r\n12345678ab")) {
      EXPECT_TRUE(client.write({&c, 1}));
      Host::system().sleep(200_us);
    }
    client.close();
  });
  EXPECT_EQ(*server.read_until("\r\n", 100, 10_s), "line\r\n");
  char eight[8];
  ASSERT_TRUE(server.read_exact(eight, 10_s));
  EXPECT_EQ(std::string(eight, 8), "12345678");
  ASSERT_EQ(*server.read({eight, 1}, 10_s), 1u);
  EXPECT_EQ(eight[0], 'a');
  EXPECT_EQ(rest(server), "b");
  peer.join();
}

TEST_P(BlockingStreams, a_read_that_ends_early_or_exceeds_its_limit_loses_nothing) {
  auto [client, server] = pair();
  ASSERT_TRUE(client.write("0123456789\nabc"));
  client.shutdown_write();
  EXPECT_EQ(server.read_until("\n", 10).error().code(), Code::OutOfRange);
  EXPECT_EQ(*server.read_until("\n", 11), "0123456789\n");
  EXPECT_EQ(server.read_until("\n", 11).error().describe(), "the peer finished after 3 bytes without the delimiter");
  char ten[10];
  const Result<> exact = server.read_exact(ten);
  EXPECT_EQ(exact.error().code(), Code::Unavailable);
  EXPECT_EQ(exact.error().describe(), "the peer finished after 3 of 10 bytes");
  EXPECT_EQ(rest(server), "abc");
  EXPECT_EQ(*server.read_until("\n", 11), "");
}

// A server must not respond with them as with errors of its own client.
TEST_P(BlockingStreams, errors_of_the_peer_are_from_the_environment) {
  auto [client, server] = pair();
  ASSERT_TRUE(client.write("0123456789"));
  client.shutdown_write();
  char eleven[11];

  EXPECT_TRUE(server.read_until("\n", 5).error().is_from_environment());
  EXPECT_TRUE(server.read_until("\n", 100).error().is_from_environment());
  EXPECT_TRUE(server.read_exact(eleven).error().is_from_environment());

  auto much = pair();
  ASSERT_TRUE(much.client.write(pattern(10'001)));
  EXPECT_TRUE(much.server.close_gently(10_s, 10'000).error().is_from_environment());
  const int file = ::memfd_create("empty", MFD_CLOEXEC);
  const Result<> sent = server.send_file(file, 0, 1);
  EXPECT_EQ(sent.error().code(), Code::OutOfRange);
  EXPECT_TRUE(sent.error().is_from_environment());
  ::close(file);
  const Address nobody = [&] { return Listener::bind(free_address()).value().address(); }();
  EXPECT_TRUE(Stream::connect(std::vector<Address>{nobody, nobody}, 5_s).error().is_from_environment());
  EXPECT_TRUE(Stream::connect(std::vector<Address>()).error().is_from_environment());
}

TEST_P(BlockingStreams, a_read_past_its_time_limit_loses_nothing) {
  auto [client, server] = pair();
  ASSERT_TRUE(client.write("half"));
  char eight[8];
  const Instant began = Host::system().now();
  EXPECT_EQ(server.read_exact(eight, 30_ms).error().code(), Code::DeadlineExceeded);
  EXPECT_GE((Host::system().now() - began).count_ms(), 30);
  EXPECT_EQ(server.read_until("\n", 100, 1_ms).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(*server.receive(0_s), "half");  // It is there: nobody waits.
  EXPECT_EQ(server.receive(0_s).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(server.read(eight, 1_ms).error().code(), Code::DeadlineExceeded);
}

TEST_P(BlockingStreams, write_parts_in_order) {
  auto [client, server] = pair();
  std::vector<std::string> texts;
  std::vector<std::string_view> parts;
  std::string whole;
  for (std::size_t i = 0; i < Stream::parts_max; ++i) texts.push_back(pattern(i * 331 % 20'000));
  for (const std::string& text : texts) {
    parts.push_back(text);
    whole += text;
  }
  std::thread peer([&] {
    EXPECT_TRUE(client.write(parts, 20_s));
    client.shutdown_write();
  });
  EXPECT_TRUE(rest(server) == whole);
  peer.join();
  EXPECT_TRUE(server.write(std::span<const std::string_view>()));
}

TEST_P(BlockingStreams, a_write_to_a_peer_that_does_not_read_meets_its_time_limit) {
  auto [client, server] = pair();
  const std::string much(30'000'000, 'm');
  EXPECT_EQ(server.write(much, 30_ms).error().code(), Code::DeadlineExceeded);
}

TEST_P(BlockingStreams, a_broken_connection_is_unavailable) {
  auto [client, server] = pair();
  ASSERT_TRUE(server.write("unread"));
  client.close();
  Result<> written;
  for (int i = 0; i < 1000 && written; ++i) {
    written = server.write("x");
    Host::system().sleep(100_us);
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::Unavailable);
  EXPECT_NE(written.error().errno_value(), 0);
}

TEST_P(BlockingStreams, go_on_waiting_when_a_signal_comes) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};  // Without SA_RESTART: system calls end with EINTR.
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  for (const Duration limit : {20_s, Duration::forever()}) {
    auto [client, server] = pair();
    std::atomic<bool> reading = false;
    std::atomic<bool> done = false;
    std::string got;
    std::thread reader([&] {
      reading = true;
      const Result<Chunk> chunk = server.receive(limit);
      if (chunk) got = *chunk;
      done = true;
    });
    while (!reading) std::this_thread::yield();
    for (int i = 0; i < 50; ++i) {
      pthread_kill(reader.native_handle(), SIGUSR1);
      Host::system().sleep(200_us);
    }
    EXPECT_FALSE(done);
    EXPECT_TRUE(client.write("word"));
    reader.join();
    EXPECT_EQ(got, "word");
  }
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(BlockingStreams, shutdown_ends_a_read_of_another_thread) {
  auto [client, server] = pair();
  std::atomic<bool> reading = false;
  std::thread reader([&] {
    reading = true;
    EXPECT_EQ(*server.receive(), "");
  });
  while (!reading) std::this_thread::yield();
  server.shutdown();
  reader.join();
  EXPECT_EQ(server.write("x").error().errno_value(), EPIPE);
}

TEST_P(BlockingStreams, shutdown_ends_a_write_of_another_thread) {
  auto [client, server] = pair();
  std::atomic<bool> writing = false;
  Result<> written;
  std::thread writer([&] {
    const std::string much(30'000'000, 'm');
    writing = true;
    written = server.write(much);
  });
  while (!writing) std::this_thread::yield();
  server.shutdown();
  writer.join();
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::Unavailable);
}

TEST_P(BlockingStreams, wait_for_room_without_a_time_limit) {
  auto [client, server] = pair();
  const std::string much = pattern(30'000'000);
  std::thread writer([&] {
    EXPECT_TRUE(server.write(much));
    server.shutdown_write();
  });
  EXPECT_TRUE(rest(client) == much);
  writer.join();
}

// One that was taken over from a program with a loop.
TEST(BlockingStream, waits_on_a_descriptor_that_did_not) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  Stream first(fds[0]);
  Stream second(fds[1]);
  EXPECT_EQ(fcntl(fds[0], F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(first.receive(10_ms).error().code(), Code::DeadlineExceeded);
  std::thread writer([&] { EXPECT_TRUE(second.write("later")); });
  EXPECT_EQ(*first.receive(), "later");
  writer.join();
}

TEST_P(BlockingStreams, move) {
  auto [client, server] = pair();
  ASSERT_TRUE(client.write("one\ntwo\n"));
  client.shutdown_write();
  EXPECT_EQ(*server.read_until("\n", 10), "one\n");
  Stream moved = std::move(server);
  EXPECT_EQ(*moved.read_until("\n", 10), "two\n");
}

TEST_P(BlockingStreams, a_refused_connect_names_the_address) {
  const Address nobody = [&] { return Listener::bind(free_address()).value().address(); }();
  const Result<Stream> stream = Stream::connect(nobody, 5_s);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::Unavailable);
  EXPECT_NE(stream.error().describe().find(nobody.to_string()), std::string::npos) << stream.error().describe();
}

TEST_P(BlockingStreams, connect_meets_its_time_limit) {
  Listener full = Listener::bind(free_address(), {.backlog = 1}).value();
  std::vector<Stream> held;
  for (int i = 0; i < 20; ++i) {
    Result<Stream> stream = Stream::connect(full.address(), 50_ms);
    if (!stream) {
      EXPECT_EQ(stream.error().code(), Code::DeadlineExceeded) << stream.error().describe();
      return;
    }
    held.push_back(*std::move(stream));
  }
  ADD_FAILURE() << "a queue that is never full";
}

// A listener whose queue is full and stays so, and who fills it.
struct Silent {
  Listener listener;
  std::vector<Stream> held;
};
Silent silent(const Address& at) {
  Silent made{Listener::bind(at, {.backlog = 1}).value(), {}};
  for (int i = 0; i < 20; ++i) {
    Result<Stream> stream = Stream::connect(made.listener.address(), 50_ms);
    if (!stream) return made;
    made.held.push_back(*std::move(stream));
  }
  ADD_FAILURE() << "a queue that is never full";
  return made;
}

TEST(BlockingConnect, shares_its_time_among_the_addresses) {
  const Silent nobody = silent(*Address::parse("127.0.0.1:0"));
  Listener live = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  const Address dead = nobody.listener.address();

  const Instant began = Host::system().now();
  const Result<Stream> stream = Stream::connect({dead, live.address()}, 2_s);
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), live.address());
  const Duration took = Host::system().now() - began;
  EXPECT_GE(took, 1_s) << "half of it";
  EXPECT_LT(took, 2_s);

  const Instant again = Host::system().now();
  const Result<Stream> none = Stream::connect({dead, dead, dead}, 300_ms);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::DeadlineExceeded);
  EXPECT_GE(Host::system().now() - again, 300_ms);
  EXPECT_LT(Host::system().now() - again, 2_s);
  // All three were tried.
  const std::string said = none.error().describe();
  EXPECT_EQ(std::ranges::count(said, ';'), 2) << said;
}

TEST(BlockingConnect, goes_on_to_the_next_address_when_one_refuses) {
  const Address refuses = [] { return Listener::bind(*Address::parse("127.0.0.1:0")).value().address(); }();
  Listener live = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  EXPECT_TRUE(Stream::connect({refuses, live.address()}, 10_s));
  const Result<Stream> stream = Stream::connect({refuses, refuses}, 10_s);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::Unavailable);
  EXPECT_EQ(Stream::connect(std::vector<Address>()).error().code(), Code::InvalidArgument);
}

// The names of this machine that lead to both versions of IP, of which the system asks the sixth first.
TEST(BlockingConnect, reaches_a_name_of_which_one_address_is_silent) {
  Listener live = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  const std::uint16_t port = live.address().port();
  const Result<std::vector<Address>> known = Resolver::system_lookup("localhost");
  ASSERT_TRUE(known) << known.error().describe();
  if (known->size() < 2 || known->front().family() != AF_INET6) GTEST_SKIP() << "localhost has one address";
  const Silent nobody = silent(*Address::ip("::1", port));
  const Result<Stream> stream = Stream::connect("localhost", port, 2_s);
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), live.address());
}

TEST(BlockingConnect, begins_at_the_address_it_is_told) {
  Listener listener = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  const Address from = *Address::parse("127.0.0.9:0");
  const Result<Stream> client = Stream::connect(listener.address(), 10_s, {.from = from});
  ASSERT_TRUE(client) << client.error().describe();
  Address seen = listener.accept(10_s)->peer_address();
  EXPECT_EQ(seen, client->local_address());
  seen.set_port(0);
  EXPECT_EQ(seen, from);
  EXPECT_FALSE(Stream::connect(listener.address(), 10_s, {.from = *Address::parse("[::1]:0")}));
}

// Whatever the system permits.
TEST(BlockingConnect, with_fast_open_connects_and_writes) {
  Listener listener = Listener::bind(*Address::parse("127.0.0.1:0"), {.fast_open = 16}).value();
  for (int round = 0; round < 3; ++round) {
    Stream client = Stream::connect(listener.address(), 10_s, {.fast_open = true}).value();
    EXPECT_TRUE(client.write("early", 10_s));
    Stream server = listener.accept(10_s).value();
    EXPECT_EQ(*server.receive(10_s), "early");
  }
}

TEST_P(BlockingStreams, take_options_and_tell_them) {
  auto [client, server] = pair();
  ASSERT_TRUE(client.set_options({.send_buffer_bytes = 50'000}));
  EXPECT_GE(*client.options().send_buffer_bytes, 50'000);
  if (is_unix()) {
    EXPECT_EQ(client.set_options({.no_delay = true}).error().code(), Code::Unsupported);
    return;
  }
  EXPECT_TRUE(*client.options().no_delay);
  EXPECT_TRUE(*server.options().no_delay) << "as the listener has it";
  ASSERT_TRUE(client.set_options({.no_delay = false, .hop_limit = 5}));
  EXPECT_FALSE(*client.options().no_delay);
  EXPECT_EQ(client.options().hop_limit, 5);
  EXPECT_EQ(client.set_options({.user_timeout = -1_s}).error().code(), Code::InvalidArgument);
}

TEST_P(BlockingStreams, with_unread_input_reset_the_connection_and_gently_do_not) {
  const std::string answer = pattern(180'000);
  for (const bool gently : {false, true}) {
    auto [client, server] = pair();
    ASSERT_TRUE(server.set_options({.send_buffer_bytes = 1 << 20}));
    ASSERT_TRUE(client.write(pattern(20'000)));
    ASSERT_TRUE(server.write(answer, 10_s));
    Result<> closed;
    std::thread closing([&, &ours = server] {
      if (gently) {
        closed = ours.close_gently(10_s);
      } else {
        ours.close();
      }
    });
    if (!gently) closing.join();
    std::string got;
    Result<Chunk> chunk = client.receive(10_s);
    for (; chunk && !chunk->empty(); chunk = client.receive(10_s)) got += *chunk;
    EXPECT_EQ(chunk.has_value(), gently);
    EXPECT_TRUE(is_unix() || gently || got.size() < answer.size());
    if (!gently) continue;
    EXPECT_TRUE(got == answer);
    client.close();
    closing.join();
    EXPECT_TRUE(closed) << closed.error().describe();
  }
}

TEST_P(BlockingStreams, close_gently_within_their_limits) {
  auto late = pair();
  EXPECT_EQ(late.server.close_gently(30_ms).error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(rest(late.client), "");
  auto much = pair();
  ASSERT_TRUE(much.client.write(pattern(10'001)));
  EXPECT_EQ(much.server.close_gently(10_s, 10'000).error().code(), Code::OutOfRange);
  auto broken = pair();
  ASSERT_TRUE(broken.server.write("unread"));
  broken.client.close();
  EXPECT_EQ(broken.server.close_gently(10_s).error().code(), Code::Unavailable);
  auto shut = pair();
  shut.server.shutdown();
  EXPECT_TRUE(shut.server.close_gently(10_s));
}

TEST_P(BlockingStreams, connect_waits_for_a_listener_whose_queue_is_full) {
  Listener full = Listener::bind(free_address(), {.backlog = 1}).value();
  std::vector<Stream> held;
  while (held.size() < 20) {
    Result<Stream> stream = Stream::connect(full.address(), 50_ms);
    if (!stream) break;
    held.push_back(*std::move(stream));
  }
  ASSERT_LT(held.size(), 20u);
  std::thread accepting([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (std::size_t i = 0; i < held.size(); ++i) EXPECT_TRUE(full.accept(5_s));
  });

  EXPECT_TRUE(Stream::connect(full.address(), 5_s));
  accepting.join();
}

TEST(BlockingConnect, finds_localhost_by_its_name) {
  Listener listener = Listener::bind(*Address::parse("127.0.0.1:0")).value();
  const Result<Stream> stream = Stream::connect("localhost", listener.address().port(), 10_s);
  ASSERT_TRUE(stream) << stream.error().describe();
  EXPECT_EQ(stream->peer_address(), listener.address());
  EXPECT_TRUE(Stream::connect("127.0.0.1", listener.address().port(), 10_s));
}

}  // namespace
}  // namespace keel::blocking::blocking_stream_test
