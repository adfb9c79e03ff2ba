// One suite for every engine: uring, epoll, the simulation, and the simulation with delays, cuts and stalls.

#include "keel/io/engine.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "keel/io/internal/engine_testing.h"

namespace keel::io::engine_test {
namespace {

using testing::Accepter;
using testing::pattern;
using testing::Reader;
using testing::Sender;
using testing::unfinished;
using testing::Which;

using Engines = testing::EngineTest;

TEST_P(Engines, bytes_go_both_ways_whole_and_in_order) {
  Accepter accepter;
  listen(accepter);
  for (const std::size_t size : {std::size_t{1}, std::size_t{64 * 1024}, std::size_t{10 * 1024 * 1024}}) {
    const Pair made = pair(accepter);
    const std::string there = pattern(size);
    const std::string back = pattern(size, 2);
    Reader at_server, at_client;
    Sender from_client, from_server;
    read(at_server, made.server);
    read(at_client, made.client);

    from_client.set(there.data(), there.size());
    from_server.set(back.data(), back.size());
    send(from_client, made.client);
    send(from_server, made.server);
    ASSERT_TRUE(until([&] { return at_server.got.size() >= size && at_client.got.size() >= size; }));
    ASSERT_TRUE(until([&] { return from_client.final != unfinished && from_server.final != unfinished; }));

    EXPECT_TRUE(at_server.got == there);
    EXPECT_TRUE(at_client.got == back);
    EXPECT_EQ(from_client.final, static_cast<int>(size));
    EXPECT_EQ(from_server.final, static_cast<int>(size));
    end_and_close(at_server);
    end_and_close(at_client);
  }
  end_and_close(accepter);
}

TEST_P(Engines, shutdown_ends_one_direction_only) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader at_server, at_client;
  read(at_server, made.server);
  read(at_client, made.client);

  engine().shutdown_write(made.client);
  ASSERT_TRUE(until([&] { return at_server.final != unfinished; }));
  Sender sender;
  sender.set("still here", 10);
  send(sender, made.server);
  ASSERT_TRUE(until([&] { return at_client.got.size() == 10; }));
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));

  EXPECT_EQ(at_server.final, 0);
  EXPECT_EQ(at_client.got, "still here");
  EXPECT_EQ(sender.final, 10);
  engine().close(made.server);
  end_and_close(at_client);
  end_and_close(accepter);
}

TEST_P(Engines, a_peer_that_closes_with_unread_data_resets) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Sender sender;
  sender.set("unread", 6);
  send(sender, made.client);
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  pass((is_sim() ? 3_s : Duration()) + 20_ms);

  Reader reader;
  read(reader, made.client);
  engine().close(made.server);
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));

  EXPECT_EQ(reader.final, -ECONNRESET);
  sender.set("x", 1);
  send(sender, made.client);
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  EXPECT_EQ(sender.final, -EPIPE);
  engine().close(made.client);
  end_and_close(accepter);
}

TEST_P(Engines, a_pending_receive_and_accept_are_cancelled) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);

  // Immediately, then midway, then twice.
  engine().cancel(reader);
  EXPECT_FALSE(reader.is_idle());
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));
  EXPECT_EQ(reader.final, -ECANCELED);
  read(reader, made.server);
  pass(5_ms);
  engine().cancel(reader);
  engine().cancel(reader);
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));
  EXPECT_EQ(reader.final, -ECANCELED);
  engine().cancel(accepter);
  ASSERT_TRUE(until([&] { return accepter.final != unfinished; }));
  EXPECT_EQ(accepter.final, -ECANCELED);

  // After completion it has no effect, and the socket still works.
  engine().cancel(reader);
  Sender sender;
  sender.set("ok", 2);
  send(sender, made.client);
  read(reader, made.server);
  ASSERT_TRUE(until([&] { return reader.got == "ok" && sender.final == 2; }));
  engine().close(made.client);
  end_and_close(reader);
  engine().close(accepter.fd);
}

TEST_P(Engines, a_send_that_waits_for_the_peer_is_cancelled) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  const std::string much = pattern(32 * 1024 * 1024);
  Sender sender;
  sender.set(much.data(), much.size());

  send(sender, made.client);
  pass(20_ms);
  EXPECT_EQ(sender.final, unfinished) << "nobody reads";
  engine().cancel(sender);
  ASSERT_TRUE(until([&] { return sender.is_idle(); }));

  // Cancelled, or the short count it had reached.
  EXPECT_LT(sender.final, static_cast<int>(much.size()));
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(Engines, know_how_much_a_peer_has_acknowledged) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  const auto before = engine().acknowledged(made.client);
  ASSERT_TRUE(before.has_value());
  Reader reader;
  read(reader, made.server);
  engine().pause(reader);
  const std::string much = pattern(32 * 1024 * 1024);
  Sender sender;
  sender.set(much.data(), much.size());
  send(sender, made.client);

  // Nobody reads: what the peer's kernel takes, and no more.
  std::uint64_t seen = 0;
  std::uint64_t was = 0;
  for (int i = 0; i < 1000 && (seen == 0 || seen != was); ++i) {
    pass(20_ms);
    was = std::exchange(seen, *engine().acknowledged(made.client) - *before);
  }
  ASSERT_EQ(seen, was);
  EXPECT_GT(seen, 0u);
  EXPECT_LT(seen, much.size());
  EXPECT_EQ(sender.final, unfinished);
  engine().resume(reader);
  ASSERT_TRUE(until([&] { return reader.got.size() == much.size(); }));
  EXPECT_TRUE(until([&] { return *engine().acknowledged(made.client) - *before == much.size(); }));

  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter);
}

TEST_P(Engines, know_how_much_is_not_acknowledged) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  EXPECT_EQ(engine().unacknowledged(made.client), 0u);
  Reader reader;
  read(reader, made.server);
  engine().pause(reader);
  const std::string much = pattern(32 * 1024 * 1024);
  Sender sender;
  sender.set(much.data(), much.size());
  const auto before = *engine().acknowledged(made.client);
  send(sender, made.client);
  pass(100_ms);

  const std::uint64_t acknowledged = *engine().acknowledged(made.client) - before;
  const std::uint64_t held = engine().unacknowledged(made.client);
  EXPECT_LE(acknowledged + held, much.size());
  // The simulation's peer has what has arrived, read or not.
  if (std::string_view(engine().name()) != "sim") {
    EXPECT_GT(held, 0u);
  }
  engine().resume(reader);
  ASSERT_TRUE(until([&] { return reader.got.size() == much.size() && sender.final != unfinished; }));
  EXPECT_TRUE(until([&] { return engine().unacknowledged(made.client) == 0; }));

  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter);
}

TEST_P(Engines, give_the_time_limit_of_a_listener_to_what_it_accepts) {
  Accepter accepter;
  listen(accepter, Address::parse("127.0.0.1:0").value(), {.user_timeout = 7'500_ms});
  const Pair made = pair(accepter);
  EXPECT_EQ(engine().options(made.server).user_timeout, 7'500_ms);
  EXPECT_EQ(engine().options(made.client).user_timeout, Duration());
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(Engines, know_how_long_ago_something_came) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Sender sender;
  send(sender, made.client, "once");
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  pass(60_ms);
  const Duration ago = engine().last_came(made.server);
  if (GetParam() == Which::Uring || GetParam() == Which::Epoll) {
    EXPECT_GE(ago, 50_ms);
    EXPECT_LT(ago, 10_s);
  } else {
    EXPECT_EQ(ago, Duration());
  }
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(Engines, do_not_know_what_the_peer_of_a_unix_socket_has_taken) {
  const std::string path = "/tmp/keel_acknowledged_" + std::to_string(getpid());
  Accepter accepter;
  listen(accepter, Address::parse("unix:" + path).value());
  const Pair made = pair(accepter);
  EXPECT_EQ(engine().acknowledged(made.client), std::nullopt);
  EXPECT_EQ(engine().acknowledged(made.server), std::nullopt);
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
  ::unlink(path.c_str());
}

TEST_P(Engines, parts_are_sent_in_order_and_whole) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  const std::string text = pattern(3 * 1024 * 1024);
  std::vector<iovec> parts;
  std::size_t at = 0;
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2 * 1024 * 1024}, std::size_t{70'000}, text.size() - 2 * 1024 * 1024 - 70'001}) {
    parts.push_back({const_cast<char*>(text.data()) + at, size});
    at += size;
  }
  Reader reader;
  read(reader, made.server);
  Sender sender;
  sender.parts = parts.data();
  sender.part_count = static_cast<std::uint32_t>(parts.size());

  send(sender, made.client);
  ASSERT_TRUE(until([&] { return reader.got.size() >= text.size() && sender.final != unfinished; }));

  EXPECT_EQ(sender.final, static_cast<int>(text.size()));
  EXPECT_TRUE(reader.got == text);
  engine().close(made.client);
  end_and_close(reader);
  end_and_close(accepter);
}

TEST_P(Engines, parts_of_several_connections_leave_in_one_turn) {
  Accepter accepter;
  listen(accepter);
  constexpr std::size_t count = 10;  // More than the entries of a tiny ring.
  std::string texts[count];
  iovec parts[count][2];
  std::deque<Sender> senders(count);
  std::deque<Reader> readers(count);
  std::vector<Pair> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(pair(accepter));
  for (std::size_t i = 0; i < count; ++i) {
    read(readers[i], made[i].server);
    texts[i] = "from " + std::to_string(i);
    parts[i][0] = {texts[i].data(), 5};
    parts[i][1] = {texts[i].data() + 5, texts[i].size() - 5};
    senders[i].parts = parts[i];
    senders[i].part_count = 2;
    send(senders[i], made[i].client);
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(until([&] { return readers[i].got.size() >= texts[i].size() && senders[i].final != unfinished; }));
    EXPECT_EQ(readers[i].got, texts[i]);
    EXPECT_EQ(senders[i].final, static_cast<int>(texts[i].size()));
    engine().close(made[i].client);
    end_and_close(readers[i]);
  }
  end_and_close(accepter);
}

// More than the 31 bits of a result: it stays at the largest one and does not become an error.
TEST_P(Engines, more_than_two_gibibytes_are_sent_whole) {
  if (is_sim()) GTEST_SKIP() << "the simulation copies what is under way";
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  const std::string text(40 * 1024 * 1024, 'x');
  std::vector<iovec> parts(55, iovec{const_cast<char*>(text.data()), text.size()});
  std::uint64_t received = 0;
  std::thread drain([&, fd = dup(made.server)] {
    std::vector<char> into(4 * 1024 * 1024);
    for (ssize_t got = 1; got != 0;) {
      got = recv(fd, into.data(), into.size(), MSG_WAITALL);
      if (got < 0 && errno == EAGAIN) std::this_thread::yield();
      if (got > 0) received += static_cast<std::uint64_t>(got);
    }
    ::close(fd);
  });
  Sender sender;
  sender.parts = parts.data();
  sender.part_count = static_cast<std::uint32_t>(parts.size());

  send(sender, made.client);
  EXPECT_TRUE(until([&] { return sender.final != unfinished; }, 60_s));

  EXPECT_EQ(sender.final, INT32_MAX);
  engine().shutdown_write(made.client);
  drain.join();
  EXPECT_EQ(received, 55 * std::uint64_t{text.size()});
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
}

// A task in whose loop every operation completes immediately.
TEST_P(Engines, who_only_sends_leaves_the_others_their_turn) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  Sender sender;
  sender.fd = made.client;
  std::size_t sent = 0;
  for (int round = 0; round < 4; ++round) {
    int at_once = 0;
    do {
      sender.set("k", 1);
      begin(sender);
    } while (sender.is_idle() && ++at_once < 100'000);
    EXPECT_LT(at_once, 1000);
    ASSERT_FALSE(sender.is_idle());

    if (round % 2 != 0) engine().cancel(sender);
    ASSERT_TRUE(until([&] { return sender.final != unfinished; }));

    EXPECT_TRUE(sender.final == 1 || (round % 2 != 0 && sender.final == -ECANCELED)) << sender.final;
    sent += static_cast<std::size_t>(at_once) + (sender.final == 1);
  }
  ASSERT_TRUE(until([&] { return reader.got.size() >= sent; }));
  settle();
  EXPECT_EQ(reader.got, std::string(sent, 'k'));
  engine().close(made.client);
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(Engines, who_only_sends_files_leaves_the_others_their_turn) {
  if (is_sim()) GTEST_SKIP() << "sends no file at once";
  const int file = memfd_create("keel", MFD_CLOEXEC);
  ASSERT_EQ(::write(file, "k", 1), 1);
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);
  testing::Once<SendFile> sender;
  sender.fd = made.client;
  sender.file = file;
  for (const bool is_cancelled : {false, true}) {
    int at_once = 0;
    do {
      sender.offset = 0;
      sender.size = 1;
      begin(sender);
    } while (sender.is_idle() && ++at_once < 100'000);
    EXPECT_LT(at_once, 1000);
    ASSERT_FALSE(sender.is_idle());
    if (is_cancelled) engine().cancel(sender);
    ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
    EXPECT_EQ(sender.final, is_cancelled ? -ECANCELED : 1);
  }
  ::close(file);
  engine().close(made.client);
  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));
  engine().close(made.server);
  end_and_close(accepter);
}

// The peer takes it as fast as it comes, so that the socket is never full for long.
TEST_P(Engines, a_large_write_leaves_the_others_their_turn) {
  if (is_sim()) GTEST_SKIP() << "sends no more than the peer has room for";
  constexpr std::size_t size = std::size_t{256} << 20;
  std::vector<char> bytes(size, 'k');
  for (const int count : {1, 3}) {
    SCOPED_TRACE(count);
    Accepter accepter;
    listen(accepter);
    const Pair made = pair(accepter);
    std::atomic<std::size_t> read_bytes = 0;
    std::thread peer([&] {
      std::vector<char> into(1 << 20);
      while (read_bytes < size) {
        pollfd one{made.server, POLLIN, 0};
        poll(&one, 1, 1000);
        const ssize_t got = recv(made.server, into.data(), into.size(), 0);
        if (got == 0 || (got < 0 && errno != EAGAIN)) return;
        if (got > 0) read_bytes += static_cast<std::size_t>(got);
      }
    });
    // A little one, the most of it, and the rest.
    std::vector<iovec> parts = {
        {bytes.data(), 100}, {bytes.data() + 100, size - 200}, {bytes.data() + size - 100, 100}};
    if (count == 1) parts = {{bytes.data(), size}};
    testing::Once<Send> sender;
    sender.fd = made.client;
    sender.parts = parts.data();
    sender.part_count = static_cast<std::uint32_t>(parts.size());
    const std::uint64_t turns_before = loop().turns();

    begin(sender);
    EXPECT_TRUE(until([&] { return sender.final != unfinished; }));

    EXPECT_EQ(sender.final, static_cast<int>(size));
    EXPECT_GE(loop().turns() - turns_before, size >> 21) << "at most 2 MiB in one turn";
    peer.join();
    EXPECT_EQ(read_bytes, size);
    engine().close(made.client);
    engine().close(made.server);
    end_and_close(accepter);
  }
}

TEST_P(Engines, timers_fire_in_order_and_not_early) {
  struct Bell : Timer {
    Bell()
        : Timer([](Timer& timer) noexcept {
            auto& self = static_cast<Bell&>(timer);
            self.rang = self.loop->now();
            self.order->push_back(&self);
          }) {}
    Loop* loop = nullptr;
    std::vector<Bell*>* order = nullptr;
    Instant rang;
  };
  std::vector<Bell*> order;
  Bell bells[3];
  const Instant start = now();
  const Duration after[] = {30_ms, 10_ms, 20_ms};
  for (int i = 0; i < 3; ++i) {
    bells[i].loop = &loop();
    bells[i].order = &order;
    loop().start_timer(bells[i], start + after[i]);
  }

  ASSERT_TRUE(until([&] { return order.size() == 3; }));

  EXPECT_EQ(order, (std::vector<Bell*>{&bells[1], &bells[2], &bells[0]}));
  for (int i = 0; i < 3; ++i) EXPECT_GE(bells[i].rang, start + after[i]);
}

TEST_P(Engines, deferred_jobs_run_after_the_completions_of_a_turn_and_before_the_next_harvest) {
  struct Last : Job {
    Last() : Job([](Job& job) noexcept { static_cast<Last&>(job).seen = static_cast<Last&>(job).events->size(); }) {}
    std::vector<int>* events = nullptr;
    std::size_t seen = 0;
  };
  struct Recorder : Reader {
    Recorder() {
      done = [](Op& op) noexcept {
        auto& self = static_cast<Recorder&>(op);
        self.events->push_back(op.fd);
        if (self.last != nullptr) self.loop->defer(*std::exchange(self.last, nullptr));
        if (!op.more) self.final = op.result;
      };
    }
    std::vector<int>* events = nullptr;
    Last* last = nullptr;
    Loop* loop = nullptr;
  };
  Accepter accepter;
  listen(accepter);
  const Pair a = pair(accepter);
  std::vector<int> events;
  Last last;
  last.events = &events;
  Recorder reader;
  reader.events = &events;
  reader.last = &last;
  reader.loop = &loop();
  read(reader, a.server);
  Sender sender;
  sender.set("x", 1);
  send(sender, a.client);

  ASSERT_TRUE(until([&] { return last.seen != 0; }));

  EXPECT_GE(last.seen, 1u);
  EXPECT_TRUE(until([&] { return sender.final != unfinished; }));
  engine().close(a.client);
  end_and_close(reader);
  end_and_close(accepter);
}

TEST_P(Engines, another_thread_posts_and_ends_the_wait) {
  if (is_sim()) GTEST_SKIP() << "a simulation has one thread";
  struct Mark : Job {
    Mark()
        : Job([](Job& job) noexcept {
            auto& self = static_cast<Mark&>(job);
            self.ran = std::this_thread::get_id();
            if (self.last_of != nullptr) self.last_of->stop();
          }) {}
    std::thread::id ran;
    Loop* last_of = nullptr;
  };
  // So that a lost wake-up fails the test instead of hanging it.
  struct TooLate : Timer {
    explicit TooLate(Loop& l)
        : Timer([](Timer& timer) noexcept { static_cast<TooLate&>(timer).loop.stop(); }), loop(l) {}
    Loop& loop;
  } too_late(loop());
  std::deque<Mark> marks(100);
  marks.back().last_of = &loop();
  loop().start_timer(too_late, now() + 10_s);
  std::thread other([&] {
    for (Mark& mark : marks) loop().post(mark);
  });

  loop().run();
  other.join();

  EXPECT_TRUE(too_late.is_running()) << "a wake-up was lost";
  loop().stop_timer(too_late);
  for (const Mark& mark : marks) EXPECT_EQ(mark.ran, std::this_thread::get_id());
}

INSTANTIATE_TEST_SUITE_P(Io, Engines, ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults),
                         testing::name_of_engine);

}  // namespace
}  // namespace keel::io::engine_test
