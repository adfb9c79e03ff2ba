// One suite for every engine: uring, epoll, the simulation, and the simulation with delays, cuts and stalls.

#include "keel/io/engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "keel/io/internal/engine_testing.h"

namespace keel::io {
namespace {

using testing::Accepter;
using testing::Connecter;
using testing::NoDescriptors;
using testing::pattern;
using testing::Reader;
using testing::Sender;
using testing::unfinished;
using testing::Which;

using Engines = testing::EngineTest;

Address system_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
}

TEST_P(Engines, listen_accept_and_connect_agree_on_addresses) {
  Accepter accepter;
  listen(accepter);

  const Pair made = pair(accepter);

  EXPECT_NE(engine().local_address(accepter.fd).port(), 0);
  EXPECT_EQ(engine().peer_address(made.client), engine().local_address(made.server));
  EXPECT_EQ(engine().peer_address(made.server), engine().local_address(made.client));
  engine().close(made.client);
  engine().close(made.server);
  end_and_close(accepter);
}

TEST_P(Engines, a_listener_that_is_about_to_close_gives_what_waits) {
  Accepter accepter;
  listen(accepter);
  end(accepter);
  EXPECT_EQ(engine().try_accept(accepter.fd), -EAGAIN);
  Connecter first, second;
  connect(first, engine().local_address(accepter.fd));
  connect(second, engine().local_address(accepter.fd));
  ASSERT_TRUE(until([&] { return first.final == 0 && second.final == 0; }));

  Sender from_first, from_second;
  from_first.set("hello", 5);
  from_second.set("hello", 5);
  send(from_first, first.fd);
  send(from_second, second.fd);
  for (const int fd : {engine().try_accept(accepter.fd), engine().try_accept(accepter.fd)}) {
    ASSERT_GE(fd, 0);
    Reader reader;
    read(reader, fd);
    EXPECT_TRUE(until([&] { return reader.got == "hello"; }));
    end_and_close(reader);
  }
  EXPECT_TRUE(until([&] { return from_first.final == 5 && from_second.final == 5; }));
  EXPECT_EQ(engine().try_accept(accepter.fd), -EAGAIN);

  engine().close(accepter.fd);
  engine().close(first.fd);
  engine().close(second.fd);
}

TEST_P(Engines, a_listener_that_turns_newcomers_away_gives_those_who_came_before) {
  Accepter accepter;
  listen(accepter);
  end(accepter);
  const Address at = engine().local_address(accepter.fd);
  Connecter before, after;
  connect(before, at);
  ASSERT_TRUE(until([&] { return before.final == 0; }));

  engine().turn_away(accepter.fd);
  connect(after, at);
  pass(50_ms);

  // The system's network says nothing, and the client would try again after a second.
  EXPECT_NE(after.final, 0);
  const int fd = engine().try_accept(accepter.fd);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(engine().try_accept(accepter.fd), -EAGAIN);
  Sender sender;
  sender.set("hello", 5);
  send(sender, before.fd);
  Reader reader;
  read(reader, fd);
  EXPECT_TRUE(until([&] { return reader.got == "hello" && sender.final == 5; }));
  end_and_close(reader);
  engine().close(before.fd);
  engine().close(accepter.fd);
  end_and_close(after);
}

TEST_P(Engines, a_unix_listener_turns_newcomers_away_by_removing_its_path) {
  const std::string path = "/tmp/keel_engine_test_" + std::to_string(getpid());
  const Address at = Address::parse("unix:" + path).value();
  Accepter accepter;
  listen(accepter, at);
  end(accepter);
  Connecter before, after;
  connect(before, at);
  ASSERT_TRUE(until([&] { return before.final == 0; }));

  engine().turn_away(accepter.fd);
  connect(after, at);

  EXPECT_TRUE(until([&] { return after.final == -ENOENT; })) << after.final;
  const int fd = engine().try_accept(accepter.fd);
  EXPECT_GE(fd, 0);
  for (const int each : {fd, before.fd, after.fd, accepter.fd}) engine().close(each);
}

TEST_P(Engines, a_unix_listener_that_turns_newcomers_away_leaves_the_path_of_another_one) {
  if (is_sim()) GTEST_SKIP() << "in the simulation a path ends with its listener";
  const std::string path = "/tmp/keel_engine_test_" + std::to_string(getpid());
  const Address at = Address::parse("unix:" + path).value();
  const int first = engine().open_listener(at, {}).value();
  const int copy = engine().open_listener(at, {.inherited = first}).value();
  ASSERT_EQ(::unlink(path.c_str()), 0);
  const int second = engine().open_listener(at, {}).value();

  engine().turn_away(first);
  engine().turn_away(copy);
  EXPECT_EQ(::access(path.c_str(), F_OK), 0) << "it is the second one's";

  // Its numbers are given to others.
  engine().close(first);
  engine().close(copy);
  pass(5_ms);
  const int third = engine().open_listener(at, {.inherited = second}).value();
  engine().turn_away(third);
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it is this one's, too";
  for (const int each : {second, third}) engine().close(each);
}

TEST_P(Engines, a_unix_path_that_nobody_listens_at_is_taken_over) {
  if (is_sim()) GTEST_SKIP() << "in the simulation a path ends with its listener";
  const std::string path = "/tmp/keel_engine_test_" + std::to_string(getpid());
  const Address at = Address::parse("unix:" + path).value();
  const int first = engine().open_listener(at, {}).value();
  const auto taken = engine().open_listener(at, {});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), Code::AlreadyExists);
  engine().close(first);
  pass(5_ms);

  const auto second = engine().open_listener(at, {});

  ASSERT_TRUE(second) << second.error().describe();
  engine().turn_away(*second);
  engine().close(*second);
}

TEST_P(Engines, a_file_that_is_no_socket_is_not_taken_over) {
  if (is_sim()) GTEST_SKIP() << "in the simulation a path is a listener's";
  const std::string path = "/tmp/keel_engine_test_file_" + std::to_string(getpid());
  const Address at = Address::parse("unix:" + path).value();
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);

  const auto listener = engine().open_listener(at, {});
  const auto datagrams = engine().open_datagram({.bind = at});

  EXPECT_EQ(::unlink(path.c_str()), 0) << "it is there still";
  ::close(file);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code(), Code::AlreadyExists);
  ASSERT_FALSE(datagrams);
  EXPECT_EQ(datagrams.error().code(), Code::AlreadyExists);
}

TEST_P(Engines, an_inherited_listener_is_gone_on_with_and_stays_open_elsewhere) {
  if (is_sim()) GTEST_SKIP() << "in the simulation there is nobody to inherit from";
  const Address any = Address::parse("127.0.0.1:0").value();
  const int original = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(original, any.system(), any.system_size()), 0);
  ASSERT_EQ(::listen(original, 8), 0);
  // Two who share it, on one engine; and a connection that both could have.
  Accepter first, second;
  for (Accepter* accepter : {&first, &second}) {
    accepter->fd = engine().open_listener({}, {.inherited = original}).value();
    accepter->shared = true;
    submit(*accepter);
  }
  std::vector<std::unique_ptr<Connecter>> connecters;
  for (std::size_t i = 1; i <= 10; ++i) {
    connecters.push_back(std::make_unique<Connecter>());
    connect(*connecters.back(), engine().local_address(first.fd));
    ASSERT_TRUE(until([&] { return first.fds.size() + second.fds.size() == i && connecters.back()->final == 0; }));
  }
  EXPECT_GE(first.fds.size(), 2u) << "they take turns";
  EXPECT_GE(second.fds.size(), 2u);

  // One ends: the other has what comes.
  end_and_close(first);
  const std::size_t before = second.fds.size();
  for (std::size_t i = 1; i <= 5; ++i) {
    connecters.push_back(std::make_unique<Connecter>());
    connect(*connecters.back(), engine().local_address(second.fd));
    ASSERT_TRUE(until([&] { return second.fds.size() == before + i && connecters.back()->final == 0; })) << i;
  }
  end_and_close(second);
  // Whose it was has what comes then.
  connecters.push_back(std::make_unique<Connecter>());
  connect(*connecters.back(), system_address(original));
  ASSERT_TRUE(until([&] { return connecters.back()->final == 0; }));
  pollfd wait{.fd = original, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&wait, 1, 5000), 1);
  for (const auto& connecter : connecters) engine().close(connecter->fd);
  for (const Accepter* accepter : {&first, &second}) {
    for (const int fd : accepter->fds) engine().close(fd);
  }
  ::close(original);
}

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

TEST_P(Engines, data_and_end_of_stream_that_come_together_are_both_seen) {
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
TEST_P(Engines, bytes_around_an_urgent_one_are_all_read) {
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

TEST_P(Engines, nobody_listening_refuses) {
  const int fd = engine().open_listener(Address::parse("127.0.0.1:0").value(), {}).value();
  const Address gone = engine().local_address(fd);
  engine().close(fd);
  pass(5_ms);

  Connecter connecter;
  connect(connecter, gone);
  ASSERT_TRUE(until([&] { return connecter.final != unfinished; }));

  EXPECT_EQ(connecter.final, -ECONNREFUSED);
  engine().close(connecter.fd);
}

TEST_P(Engines, a_port_in_use_already_exists_unless_shared) {
  const Address any = Address::parse("127.0.0.1:0").value();
  const int alone = engine().open_listener(any, {}).value();
  const int shared = engine().open_listener(any, {.reuse_port = true}).value();

  const auto again = engine().open_listener(engine().local_address(alone), {});
  const auto beside = engine().open_listener(engine().local_address(shared), {.reuse_port = true});

  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::AlreadyExists);
  ASSERT_TRUE(beside);
  engine().close(alone);
  engine().close(shared);
  engine().close(*beside);
}

TEST_P(Engines, a_pending_receive_and_accept_are_cancelled) {
  Accepter accepter;
  listen(accepter);
  const Pair made = pair(accepter);
  Reader reader;
  read(reader, made.server);

  // At once, then midway, then twice.
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

TEST_P(Engines, a_connect_is_cancelled_or_completes) {
  Accepter accepter;
  listen(accepter);
  Connecter connecter;
  connect(connecter, engine().local_address(accepter.fd));
  engine().cancel(connecter);

  ASSERT_TRUE(until([&] { return connecter.final != unfinished; }));

  EXPECT_TRUE(connecter.final == 0 || connecter.final == -ECANCELED) << connecter.final;
  engine().close(connecter.fd);
  pass(5_ms);
  end_and_close(accepter);
  for (const int fd : accepter.fds) engine().close(fd);
}

TEST_P(Engines, a_paused_receive_slows_the_peer_and_loses_nothing) {
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

TEST_P(Engines, paused_receives_do_not_starve_the_others) {
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

TEST_P(Engines, the_end_of_stream_waits_behind_what_waits_while_paused) {
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

TEST_P(Engines, a_receive_that_is_ended_gives_all_that_had_come_and_leaves_the_rest_to_the_next) {
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

TEST_P(Engines, an_end_that_was_seen_is_seen_again_by_the_next_receive) {
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

TEST_P(Engines, a_receive_that_is_being_ended_may_be_cancelled) {
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

TEST_P(Engines, held_bytes_stay_while_others_receive) {
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

// A task in whose loop every operation completes at once.
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

TEST_P(Engines, two_hundred_connections_at_once) {
  constexpr std::size_t count = 200;
  Accepter accepter;
  listen(accepter);
  std::deque<Connecter> clients(count);
  for (Connecter& client : clients) connect(client, engine().local_address(accepter.fd));
  ASSERT_TRUE(until([&] {
    return accepter.fds.size() == count &&
           std::all_of(clients.begin(), clients.end(), [](const Connecter& c) { return c.final == 0; });
  }));

  std::deque<Reader> readers(count);
  std::deque<Sender> senders(count);
  const std::string text = pattern(1000);
  for (std::size_t i = 0; i < count; ++i) read(readers[i], accepter.fds[i]);
  for (std::size_t i = 0; i < count; ++i) {
    senders[i].set(text.data(), text.size());
    send(senders[i], clients[i].fd);
  }
  ASSERT_TRUE(until([&] {
    return std::all_of(readers.begin(), readers.end(), [&](const Reader& r) { return r.got.size() == text.size(); }) &&
           std::all_of(senders.begin(), senders.end(), [&](const Sender& s) { return s.final == 1000; });
  }));

  for (Connecter& client : clients) engine().close(client.fd);
  ASSERT_TRUE(
      until([&] { return std::all_of(readers.begin(), readers.end(), [](const Reader& r) { return r.final == 0; }); }));
  for (Reader& reader : readers) {
    EXPECT_TRUE(reader.got == text);
    engine().close(reader.fd);
  }
  end_and_close(accepter);
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

TEST_P(Engines, a_unix_path_carries_a_stream) {
  const std::string path = "/tmp/keel_engine_test_" + std::to_string(getpid());
  Accepter accepter;
  listen(accepter, Address::parse("unix:" + path).value());
  Connecter connecter;
  connect(connecter, engine().local_address(accepter.fd));
  ASSERT_TRUE(until([&] { return connecter.final != unfinished && accepter.fds.size() == 1; }));
  const std::string text = pattern(1024 * 1024);
  Reader reader;
  read(reader, accepter.fds[0]);
  Sender sender;
  sender.set(text.data(), text.size());
  send(sender, connecter.fd);
  ASSERT_TRUE(until([&] { return sender.final != unfinished; }));
  engine().close(connecter.fd);

  ASSERT_TRUE(until([&] { return reader.final != unfinished; }));

  EXPECT_TRUE(reader.got == text);
  EXPECT_EQ(reader.final, 0);
  engine().close(reader.fd);
  end_and_close(accepter);
  ::unlink(path.c_str());
}

TEST_P(Engines, accept_one_by_one_takes_nobody_after_a_cancel) {
  struct Few : Accept {
    Few()
        : Accept([](Op& op) noexcept {
            auto& self = static_cast<Few&>(op);
            if (op.result >= 0) self.fds.push_back(op.result);
            if (self.fds.size() == 3) self.engine->cancel(op);
            if (!op.more) self.final = op.result;
          }) {}
    Engine* engine = nullptr;
    std::vector<int> fds;
    int final = unfinished;
  } few;
  few.engine = &engine();
  few.one_by_one = true;
  few.fd = engine().open_listener(Address::parse("127.0.0.1:0").value(), {}).value();
  std::deque<Connecter> connecters(20);
  for (Connecter& connecter : connecters) connect(connecter, engine().local_address(few.fd));
  ASSERT_TRUE(until([&] { return std::ranges::all_of(connecters, [](auto& one) { return one.final == 0; }); }));

  submit(few);
  ASSERT_TRUE(until([&] { return few.final != unfinished; }));

  EXPECT_EQ(few.final, -ECANCELED);
  EXPECT_EQ(few.fds.size(), 3u);
  for (int fd = engine().try_accept(few.fd); fd >= 0; fd = engine().try_accept(few.fd)) few.fds.push_back(fd);
  EXPECT_EQ(few.fds.size(), 20u);
  for (const int fd : few.fds) engine().close(fd);
  for (Connecter& connecter : connecters) engine().close(connecter.fd);
  engine().close(few.fd);
}

// connect(2) refuses at once where TCP would try again.
TEST_P(Engines, a_connect_to_a_full_unix_queue_waits_for_room) {
  const std::string path = "/tmp/keel_engine_test_" + std::to_string(getpid());
  Accepter accepter;
  accepter.fd = engine().open_listener(Address::parse("unix:" + path).value(), {.backlog = 1}).value();
  std::deque<Connecter> all(6);
  for (Connecter& each : all) connect(each, engine().local_address(accepter.fd));
  pass(30_ms);
  const auto waiting = [&] { return std::ranges::count(all, unfinished, &Connecter::final); };
  EXPECT_GE(waiting(), 4);
  EXPECT_EQ(std::ranges::count(all, 0, &Connecter::final) + waiting(), 6);

  // Some end, some get a place, some find nobody any more.
  for (const std::size_t cancelled : {4, 5}) {
    engine().cancel(all[cancelled]);
    ASSERT_TRUE(until([&] { return all[cancelled].final != unfinished; }));
    EXPECT_EQ(all[cancelled].final, -ECANCELED);
    engine().close(all[cancelled].fd);
  }
  const Instant began = now();
  submit(accepter);
  ASSERT_TRUE(until([&] { return waiting() == 0 && accepter.fds.size() == 4; }));
  EXPECT_LT(now() - began, 900_ms);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].final, 0);
  end(accepter);
  std::deque<Connecter> late(4);
  for (Connecter& each : late) connect(each, engine().local_address(accepter.fd));
  pass(30_ms);
  EXPECT_TRUE(std::ranges::count(late, unfinished, &Connecter::final) >= 2);
  engine().close(accepter.fd);
  ASSERT_TRUE(until([&] { return std::ranges::count(late, unfinished, &Connecter::final) == 0; }));
  EXPECT_GE(std::ranges::count(late, -ECONNREFUSED, &Connecter::final), 2);

  for (std::size_t i = 0; i < 4; ++i) engine().close(all[i].fd);
  for (Connecter& each : late) engine().close(each.fd);
  for (const int fd : accepter.fds) engine().close(fd);
  ::unlink(path.c_str());
}

TEST_P(Engines, accept_without_descriptors_says_so_and_recovers) {
  if (is_sim()) GTEST_SKIP() << "accept_failure in sim_test.cc";
  Accepter accepter;
  listen(accepter);
  Connecter connecter;
  connecter.fd = engine().open_stream(AF_INET).value();
  connecter.address = engine().local_address(accepter.fd);
  bool failed = false;
  {
    const NoDescriptors none;
    if (submit(connecter)) connecter.final = connecter.result;
    failed = until([&] { return accepter.final != unfinished; });
  }

  ASSERT_TRUE(failed);
  EXPECT_EQ(accepter.final, -EMFILE);
  accepter.final = unfinished;
  submit(accepter);
  EXPECT_TRUE(until([&] { return accepter.fds.size() == 1 && connecter.final == 0; }));
  engine().close(connecter.fd);
  for (const int fd : accepter.fds) engine().close(fd);
  end_and_close(accepter);
}

INSTANTIATE_TEST_SUITE_P(Io, Engines, ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults),
                         testing::name_of_engine);

}  // namespace
}  // namespace keel::io
