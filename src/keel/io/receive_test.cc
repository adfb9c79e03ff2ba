// Receiving on every engine: what comes together, paused, held and ended.

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "keel/io/engine.h"
#include "keel/io/internal/engine_testing.h"
#include "keel/io/runtime.h"

namespace keel::io::receive_test {
namespace {

using testing::Accepter;
using testing::pattern;
using testing::Reader;
using testing::Sender;
using testing::unfinished;
using testing::Which;

using ReceivingEngines = testing::EngineTest;

TEST_P(ReceivingEngines, data_and_end_of_stream_that_come_together_are_both_seen) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Sender sender;
  sender.set("last words", 10);
  send(sender, made.client);
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  engine().close(made.client);
  pass(20_ms);

  Reader reader;
  read(reader, made.server);
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));

  EXPECT_EQ(reader.got, "last words");
  EXPECT_EQ(reader.final, 0);
  engine().close(made.server);
  end_and_close(accepter);
}

// A read stops in front of an urgent byte, though more has come: tcp(7), "MSG_OOB".
TEST_P(ReceivingEngines, bytes_around_an_urgent_one_are_all_read) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no urgent bytes";
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  settle();
  std::string sent;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(::send(made.client, "abc", 3, MSG_NOSIGNAL), 3);
    ASSERT_EQ(::send(made.client, "!", 1, MSG_NOSIGNAL | MSG_OOB), 1);
    ASSERT_EQ(::send(made.client, "def", 3, MSG_NOSIGNAL), 3);
    sent += "abcdef";
    EXPECT_TRUE(until([&] { return reader.got.size() >= sent.size(); }, 2_s));
    EXPECT_EQ(reader.got, sent);
  }
  engine().close(made.client);
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));
  EXPECT_EQ(reader.final, 0);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, a_paused_receive_slows_the_peer_and_loses_nothing) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  const std::string much = pattern(32 * 1024 * 1024);
  Reader reader;
  read(reader, made.server);
  engine().pause(reader);
  Sender sender;
  sender.set(much.data(), much.size());
  send(sender, made.client);

  pass(100_ms);
  EXPECT_TRUE(reader.got.empty());
  EXPECT_EQ(sender.final, unfinished) << "the peer is slowed down";
  engine().resume(reader);
  ASSERT_TRUE(until([&] { return reader.got.size() >= much.size() / 2; }, 60_s));
  engine().pause(reader);
  pass(20_ms);
  engine().resume(reader);
  ASSERT_TRUE(until([&] { return reader.got.size() >= much.size() && sender.final != unfinished; }, 60_s));

  EXPECT_EQ(sender.final, static_cast<int>(much.size()));
  EXPECT_TRUE(reader.got == much);
  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, a_paused_receive_leaves_small_messages_to_the_kernel_too) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no kernel";
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  engine().pause(reader);

  constexpr int messages = 40;
  for (int i = 0; i < messages; ++i) {
    ASSERT_EQ(::send(made.client, "k", 1, MSG_NOSIGNAL), 1);
    pass(1_ms);
  }

  int left = 0;
  ASSERT_EQ(ioctl(made.server, FIONREAD, &left), 0);
  EXPECT_GE(left, messages - 10) << "each would take a buffer from all others";
  engine().resume(reader);
  ASSERT_TRUE(until([&] { return reader.got.size() == messages; }));
  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter);
}

// Linux 6.17 and later end a multishot receive after a number of bytes.
bool kernel_limits_receives() {
  utsname system{};
  unsigned major = 0;
  unsigned minor = 0;
  uname(&system);
  std::sscanf(system.release, "%u.%u", &major, &minor);
  return major > 6 || (major == 6 && minor >= 17);
}

// As a server does that has enough to do with what has come first.
struct PausingReader : Receive {
  PausingReader() : Receive(&on_done) {}
  static void on_done(Op& op) noexcept {
    auto& self = static_cast<PausingReader&>(op);
    if (op.result > 0) self.got += static_cast<std::size_t>(op.result);
    Engine::pause(self);
  }
  std::size_t got = 0;
};

TEST_P(ReceivingEngines, a_receive_that_is_paused_in_its_first_arrival_leaves_most_of_a_burst_in_the_kernel) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no kernel";
  if (std::string_view(engine().name()) == "uring" && !kernel_limits_receives()) {
    GTEST_SKIP() << "io_uring of this kernel brings all that has come";
  }
  Accepter accepter;
  listen(accepter, Address::parse("127.0.0.1:0").value(), {.receive_buffer_bytes = 1024 * 1024});
  const Pair made = pair(accepter);
  const std::string much = pattern(1024 * 1024);
  const ssize_t sent = ::send(made.client, much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  int arrived = 0;
  ASSERT_TRUE(until([&] { return ioctl(made.server, FIONREAD, &arrived) == 0 && arrived > 128 * 1024; }));
  PausingReader reader;
  reader.fd = made.server;

  submit(reader);
  ASSERT_TRUE(until([&] { return reader.got != 0; }));
  pass(20_ms);

  int left = 0;
  int on_its_way = 0;
  ASSERT_EQ(ioctl(made.server, FIONREAD, &left), 0);
  ASSERT_EQ(ioctl(made.client, SIOCOUTQ, &on_its_way), 0);
  EXPECT_LE(sent - left - on_its_way, 64 * 1024);
  end_and_close(reader);
  engine().close(made.client);
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, paused_receives_do_not_starve_the_others) {
  if (is_sim()) GTEST_SKIP() << "the simulation has no buffers to run out of";
  Accepter accepter;
  listen(accepter);
  const Pair other = pair(accepter);
  Reader reader;
  read(reader, other.server);
  const std::string much = pattern(64 * 1024);
  std::deque<Reader> readers(300);
  std::vector<int> clients;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    const Pair made = pair(accepter);
    clients.push_back(made.client);
    // All of it is there when the receive begins, so that it comes in one batch.
    Sender sender;
    sender.set(much.data(), much.size());
    send(sender, made.client);
    ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
    read(readers[i], made.server);
    engine().pause(readers[i]);

    Sender small;
    small.set("k", 1);
    send(small, other.client);
    ASSERT_TRUE(until([&] { return reader.got.size() == i + 1; }, 2_s)) << "with " << i + 1 << " paused";
  }

  for (Reader& paused : readers) engine().resume(paused);
  EXPECT_TRUE(until([&] { return std::ranges::all_of(readers, [&](Reader& each) { return each.got == much; }); }));
  engine().close(other.client);
  end_and_close(reader);
  for (const int client : clients) engine().close(client);
  for (Reader& each : readers) end_and_close(each);
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, the_end_of_stream_waits_behind_what_waits_while_paused) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  engine().pause(reader);
  Sender sender;
  sender.set("before the end", 14);
  send(sender, made.client);
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  engine().close(made.client);
  pass(50_ms);
  EXPECT_EQ(reader.final, unfinished);

  engine().resume(reader);
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));

  EXPECT_EQ(reader.got, "before the end");
  EXPECT_EQ(reader.final, 0);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, a_receive_that_is_ended_gives_all_that_had_come_and_leaves_the_rest_to_the_next) {
  Accepter accepter;
  listen(accepter);
  const std::string much = pattern(1024 * 1024);
  // Ended while it waits for more, while it delivers, and while it is paused.
  for (int round = 0; round < 24; ++round) {
    const Pair made = pair(accepter);
    Sender sender;
    sender.set(much.data(), much.size());
    Reader first;
    read(first, made.server);
    if (round % 3 == 1) engine().pause(first);
    send(sender, made.client);
    if (round % 3 == 1) pass(2_ms);
    if (round % 3 == 2) {
      ASSERT_TRUE(until([&] { return first.got.size() > static_cast<std::size_t>(round) * 20'000; }));
    }

    engine().end_receive(first);
    engine().end_receive(first);
    ASSERT_TRUE(until([&] { return first.final != unfinished; }));
    EXPECT_EQ(first.final, -ECANCELED);
    ASSERT_TRUE(first.is_idle());
    Reader second;
    read(second, made.server);
    ASSERT_TRUE(until([&] { return first.got.size() + second.got.size() >= much.size(); }));

    EXPECT_TRUE(first.got + second.got == much) << round;
    ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
    engine().close(made.client);
    end_and_close(second);
  }
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, an_end_that_was_seen_is_seen_again_by_the_next_receive) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader first;
  read(first, made.server);
  engine().pause(first);
  Sender sender;
  send(sender, made.client, "last words");
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  engine().shutdown_write(made.client);
  pass(20_ms);

  engine().end_receive(first);
  ASSERT_TRUE(until([&] { return first.final != unfinished; }));
  Reader second;
  read(second, made.server);
  ASSERT_TRUE(until([&] { return second.final != unfinished; }));

  EXPECT_EQ(first.got + second.got, "last words");
  EXPECT_EQ(second.final, 0);
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, a_receive_that_is_being_ended_may_be_cancelled) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  settle();
  engine().end_receive(reader);
  end(reader);
  EXPECT_EQ(reader.final, -ECANCELED);
  engine().end_receive(reader);  // Idle: no effect.
  EXPECT_TRUE(reader.is_idle());
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(ReceivingEngines, held_bytes_stay_while_others_receive) {
  Accepter accepter;
  listen(accepter);
  const Pair kept = pair(accepter);
  const Pair busy = pair(accepter);
  Reader holder, other;
  read(holder, kept.server);
  read(other, busy.server);
  holder.holds = true;
  Sender sender;
  sender.set("keep these", 10);
  send(sender, kept.client);
  ASSERT_TRUE(until([&] { return holder.got.size() == 10 && sender.final != unfinished; }));

  const std::string much = pattern(1024 * 1024);
  sender.set(much.data(), much.size());
  send(sender, busy.client);
  ASSERT_TRUE(until([&] { return other.got.size() == much.size() && sender.final != unfinished; }));

  std::string held;
  for (const Held& part : holder.held) held.append(part.data, part.size);
  EXPECT_EQ(held, "keep these");
  for (const Held& part : holder.held) engine().release(part);
  engine().close(kept.client);
  engine().close(busy.client);
  end_and_close(holder);
  end_and_close(other);
  end_and_close(accepter);
}

// Buffers of an engine go to the kernel once: what waited behind a pause, too.
TEST_P(ReceivingEngines, bytes_that_are_held_after_a_resume_have_memory_of_their_own) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  Sender sender;
  engine().pause(reader);
  for (const std::string_view piece : {"one", "two", "six"}) {
    send(sender, made.client, piece);
    pass(2_ms);
  }
  engine().resume(reader);
  ASSERT_TRUE(until([&] { return reader.got == "onetwosix"; }));

  reader.got.clear();
  reader.holds = true;
  for (int i = 1000; i < 1300; ++i) {
    const std::string piece = std::to_string(i);
    const std::size_t before = reader.got.size();
    send(sender, made.client, piece);
    ASSERT_TRUE(until([&] { return reader.got.size() == before + piece.size(); }));
  }

  std::string held;
  for (const Held& part : reader.held) held.append(part.data, part.size);
  EXPECT_TRUE(held == reader.got);
  for (const Held& part : reader.held) engine().release(part);
  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter);
}

INSTANTIATE_TEST_SUITE_P(Io, ReceivingEngines,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults),
                         testing::name_of_engine);

// The sizes in which `sent` came, all of which, and the end of the stream, was there before it was received; none where
// the engine is not to be had.
std::vector<std::int32_t> pieces_of(std::string_view sent, EngineKind kind, const EngineOptions& options) {
  struct Sizes : Receive {
    Sizes() : Receive(&on_done) {}
    static void on_done(Op& op) noexcept {
      auto& self = static_cast<Sizes&>(op);
      self.got.append(self.data, static_cast<std::size_t>(std::max(op.result, 0)));
      if (op.result > 0) self.all.push_back(op.result);
    }
    std::string got;
    std::vector<std::int32_t> all;
  };
  auto engine = make_engine(kind, options);
  if (!engine) {
    EXPECT_EQ(engine.error().code(), Code::Unsupported) << engine.error().describe();
    return {};
  }
  Loop loop(*std::move(engine), Host::system());
  const Loop::Entered entered(loop);
  int pair[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  const int room = 2 * 1024 * 1024;  // As far as the system grants it.
  ::setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  const ssize_t written = ::write(pair[1], sent.data(), sent.size());
  ::close(pair[1]);

  Sizes sizes;
  sizes.fd = pair[0];
  loop.engine().submit(sizes);
  const Instant end = Host::system().now() + 20_s;
  while (sizes.pending && Host::system().now() < end) loop.turn(Host::system().now() + 2_ms);
  if (sizes.pending) {
    ADD_FAILURE() << "the end has not come";
    loop.engine().cancel(sizes);
    while (sizes.pending) loop.turn(Host::system().now() + 2_ms);
  }
  loop.engine().close(pair[0]);
  loop.engine().flush();
  EXPECT_EQ(sizes.got, sent.substr(0, static_cast<std::size_t>(written)));
  return sizes.all;
}

TEST(EngineOptions, say_how_much_one_receive_can_bring) {
  const std::string sent = pattern(100'000);
  for (const EngineKind kind : {EngineKind::Uring, EngineKind::Epoll}) {
    const auto small = pieces_of(sent, kind, {.receive_bytes = 2048});
    const auto large = pieces_of(sent, kind, {.receive_bytes = 256 * 1024});
    if (small.empty()) continue;

    EXPECT_EQ(*std::ranges::max_element(small), 2048);
    EXPECT_EQ(*std::ranges::max_element(large), 100'000);
  }
}

// As the kernel does not tell of it after a break that it takes.
TEST(EngineOptions, do_not_hide_the_end_of_a_unix_stream_behind_many_buffers) {
  for (const EngineKind kind : {EngineKind::Uring, EngineKind::Epoll}) {
    pieces_of(pattern(1'000'000), kind, {});
    for (const std::size_t buffers : {31, 32, 33, 34, 63, 64, 65, 66, 97, 98}) {
      pieces_of(pattern(buffers * 1024), kind, {.receive_bytes = 1024});
      pieces_of(pattern(buffers * 1024 + 7), kind, {.receive_bytes = 1024});
    }
  }
}

TEST(EngineOptions, have_bounds) {
  for (const std::uint32_t bytes : {1u, EngineOptions::receive_bytes_min - 1, EngineOptions::receive_bytes_max + 1}) {
    EXPECT_EQ(make_engine(EngineKind::Epoll, {.receive_bytes = bytes}).error().code(), Code::InvalidArgument) << bytes;
    EXPECT_EQ(Runtime::make({.workers = 1, .engine_options = {.receive_bytes = bytes}}).error().code(),
              Code::InvalidArgument);
  }
  for (const std::uint32_t bytes : {0u, EngineOptions::receive_bytes_min, EngineOptions::receive_bytes_max}) {
    EXPECT_TRUE(make_engine(EngineKind::Epoll, {.receive_bytes = bytes})) << bytes;
  }
}

}  // namespace
}  // namespace keel::io::receive_test
