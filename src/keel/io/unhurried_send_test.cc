// Unhurried sends on every engine: they cost io_uring no system call of their own, and keep nothing else from its turn.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keel/io/engine.h"
#include "keel/io/internal/engine_testing.h"

namespace keel::io::unhurried_send_test {
namespace {

using testing::Accepter;
using testing::pattern;
using testing::Reader;
using testing::Sender;
using testing::unfinished;
using testing::Which;

class UnhurriedSends : public testing::EngineTest {
 protected:
  void send_unhurried(Sender& op, int fd, std::string_view bytes) {
    op.unhurried = true;
    send(op, fd, bytes);
  }
};

TEST_P(UnhurriedSends, arrive_and_are_reported_with_what_comes_next) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  std::string sent;
  for (int i = 0; i < 50; ++i) {
    const std::string text = "message " + std::to_string(i);
    Sender sender;
    send_unhurried(sender, made.client, text);
    sent += text;
    ASSERT_TRUE(until([&] { return reader.got.size() == sent.size() && sender.final != unfinished; }));
    EXPECT_EQ(sender.final, static_cast<int>(text.size()));
  }
  EXPECT_EQ(reader.got, sent);
  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter);
}

TEST_P(UnhurriedSends, take_one_system_call_with_the_response) {
  if (is_sim()) GTEST_SKIP() << "the simulation makes no system calls";
  constexpr int rounds = 200;
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  std::thread peer([fd = made.server] {
    char byte;
    for (int i = 0; i < rounds; ++i) {
      pollfd one{fd, POLLIN, 0};
      poll(&one, 1, 10'000);
      if (recv(fd, &byte, 1, 0) != 1) return;
      // By now the other side waits.
      poll(nullptr, 0, 1);
      if (::send(fd, &byte, 1, MSG_NOSIGNAL) != 1) return;
    }
  });
  Reader reader;
  read(reader, made.client);
  loop().turn(Instant());
  const std::uint64_t calls_before = engine().system_calls();
  for (std::size_t i = 1; i <= rounds; ++i) {
    Sender sender;
    send_unhurried(sender, made.client, "k");
    const Instant end = Host::system().now() + 10_s;
    while (reader.got.size() < i && Host::system().now() < end) loop().turn(end);
    ASSERT_EQ(reader.got.size(), i);
    ASSERT_NE(sender.final, unfinished) << "it is reported with the response at the latest";
  }
  const double calls = static_cast<double>(engine().system_calls() - calls_before) / rounds;
  peer.join();

  // epoll: send, wait, receive.
  EXPECT_LE(calls, std::string_view(engine().name()) == "uring" ? 1.1 : 3.1);
  engine().close(made.server);
  end_and_close(reader);
  end_and_close(accepter);
}

// The kernel takes only a part of it: what is left is a usual send.
TEST_P(UnhurriedSends, that_have_to_wait_keep_nothing_else_waiting) {
  Accepter accepter;
  listen(accepter);
  const Pair full = pair(accepter);
  const Pair other = pair(accepter);
  const std::string much = pattern(16 * 1024 * 1024);
  Sender waiting;
  send_unhurried(waiting, full.client, much);
  pass(20_ms);
  EXPECT_EQ(waiting.final, unfinished) << "nobody reads";

  Reader reader;
  read(reader, other.server);
  for (std::size_t i = 1; i <= 20; ++i) {
    Sender sender;
    send_unhurried(sender, other.client, "k");
    const Instant began = now();
    ASSERT_TRUE(until([&] { return reader.got.size() == i; }));
    EXPECT_LT(now() - began, 10_s);
    ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  }
  EXPECT_EQ(waiting.final, unfinished);

  Reader late;
  read(late, full.server);
  ASSERT_TRUE(until([&] { return waiting.final != unfinished && late.got.size() == much.size(); }));
  EXPECT_EQ(waiting.final, static_cast<int>(much.size()));
  EXPECT_EQ(late.got, much);
  for (const int fd : {full.client, other.client}) engine().close(fd);
  end_and_close(reader);
  end_and_close(late);
  end_and_close(accepter);
}

TEST_P(UnhurriedSends, that_are_cancelled_end_without_anything_else) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Sender sender;
  send_unhurried(sender, made.client, "bytes");
  engine().cancel(sender);
  // In real time nothing but the send itself would end a wait this long.
  for (int turns = 0; !sender.is_idle() && turns < 5; ++turns) {
    if (is_sim()) {
      pass(1_ms);
    } else {
      loop().turn(Host::system().now() + 5_s);
    }
  }
  EXPECT_TRUE(sender.is_idle());
  end_and_close(accepter);
  engine().close(made.client);
  engine().close(made.server);
}

TEST_P(UnhurriedSends, fail_as_others_do) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  engine().close(made.server);
  pass(20_ms);
  for (int i = 0; i < 3; ++i) {  // The first one may leave before the reset has come.
    Sender sender;
    send_unhurried(sender, made.client, "bytes");
    ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
    if (i == 2) {
      EXPECT_LT(sender.final, 0);
    }
    pass(20_ms);
  }
  engine().close(made.client);
  end_and_close(accepter);
}

TEST_P(UnhurriedSends, may_be_more_than_a_ring_has_entries) {
  constexpr std::size_t count = 40;
  Accepter accepter;
  listen(accepter);
  std::deque<Sender> senders(count);
  std::deque<Reader> readers(count);
  std::vector<Pair> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(pair(accepter));
    read(readers[i], made[i].server);
  }
  for (std::size_t i = 0; i < count; ++i) send_unhurried(senders[i], made[i].client, "bytes");
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(until([&] { return senders[i].final != unfinished && readers[i].got == "bytes"; }));
    engine().close(made[i].client);
    end_and_close(readers[i]);
  }
  end_and_close(accepter);
}

INSTANTIATE_TEST_SUITE_P(, UnhurriedSends,
                         ::testing::Values(Which::Uring, Which::UringWithTinyRings, Which::Epoll, Which::Sim,
                                           Which::SimWithFaults),
                         testing::name_of_engine);

}  // namespace
}  // namespace keel::io::unhurried_send_test
