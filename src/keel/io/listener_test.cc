// Listening, accepting and connecting on every engine.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "keel/io/engine.h"
#include "keel/io/internal/engine_testing.h"

namespace keel::io::listener_test {
namespace {

using testing::Accepter;
using testing::Connecter;
using testing::NoDescriptors;
using testing::pattern;
using testing::Reader;
using testing::Sender;
using testing::unfinished;
using testing::Which;

using ListeningEngines = testing::EngineTest;

Address system_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
}

TEST_P(ListeningEngines, listen_accept_and_connect_agree_on_addresses) {
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

TEST_P(ListeningEngines, a_listener_that_is_about_to_close_gives_what_waits) {
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

TEST_P(ListeningEngines, a_listener_that_turns_newcomers_away_gives_those_who_came_before) {
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

TEST_P(ListeningEngines, a_unix_listener_turns_newcomers_away_by_removing_its_path) {
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

TEST_P(ListeningEngines, a_unix_listener_that_turns_newcomers_away_leaves_the_path_of_another_one) {
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

TEST_P(ListeningEngines, a_unix_path_that_nobody_listens_at_is_taken_over) {
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

TEST_P(ListeningEngines, a_file_that_is_no_socket_is_not_taken_over) {
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

TEST_P(ListeningEngines, a_unix_listener_has_the_mode_that_is_asked_for_whatever_the_umask_says) {
  if (is_sim()) GTEST_SKIP() << "in the simulation a path has no mode";
  const std::string path = "/tmp/keel_engine_test_mode_" + std::to_string(getpid());
  const Address at = Address::parse("unix:" + path).value();
  for (const mode_t mask : {0, 022, 077}) {
    for (const std::uint32_t mode : {0600u, 0660u, 0666u}) {
      const mode_t before = ::umask(mask);
      const auto listener = engine().open_listener(at, {.socket_mode = mode});
      ::umask(before);
      ASSERT_TRUE(listener) << listener.error().describe();
      struct stat facts{};
      EXPECT_EQ(::stat(path.c_str(), &facts), 0);
      EXPECT_EQ(facts.st_mode & 0777, mode) << "umask " << mask;
      engine().close(*listener);
      ::unlink(path.c_str());
    }
  }
  const sockaddr_un abstract{.sun_family = AF_UNIX, .sun_path = {'\0', 'k'}};
  const Address without_path =
      Address::from_system(reinterpret_cast<const sockaddr*>(&abstract), offsetof(sockaddr_un, sun_path) + 2);
  const auto nameless = engine().open_listener(without_path, {.socket_mode = 0600});
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().code(), Code::InvalidArgument);
}

TEST(Listeners, one_of_those_that_find_an_abandoned_socket_at_the_same_time_takes_its_place) {
  const std::string path = "/tmp/keel_engine_test_race_" + std::to_string(getpid());
  const Address at = Address::parse("unix:" + path).value();
  for (int round = 0; round < 100; ++round) {
    ::close(system_listener(at, {}).value());  // Its path stays.
    std::vector<int> listeners(4, -1);
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int& listener : listeners) {
      threads.emplace_back([&] {
        ++ready;
        while (ready != 4) {
        }
        if (const auto made = system_listener(at, {})) listener = *made;
      });
    }
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(std::ranges::count_if(listeners, [](int fd) { return fd >= 0; }), 1) << "round " << round;
    for (const int fd : listeners) {
      if (fd >= 0) ::close(fd);
    }
  }
  ::unlink(path.c_str());
}

TEST_P(ListeningEngines, an_inherited_listener_is_gone_on_with_and_stays_open_elsewhere) {
  if (is_sim()) GTEST_SKIP() << "in the simulation there is no process to inherit sockets from";
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

TEST_P(ListeningEngines, nobody_listening_refuses) {
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

TEST_P(ListeningEngines, a_port_in_use_already_exists_unless_shared) {
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

TEST_P(ListeningEngines, an_address_is_vacant_until_somebody_listens_there) {
  const Address any = Address::parse("127.0.0.1:0").value();
  const int first = engine().open_listener(any, {.reuse_port = true}).value();
  const Address address = engine().local_address(first);

  EXPECT_EQ(check_vacant(engine(), address, {.reuse_port = true}).error().code(), Code::AlreadyExists)
      << "though it could be shared";
  engine().close(first);
  engine().flush();
  EXPECT_TRUE(check_vacant(engine(), address, {}));
  EXPECT_TRUE(check_vacant(engine(), address, {})) << "asking has left nothing there";
  EXPECT_TRUE(check_vacant(engine(), any, {})) << "of port 0 there is always another one";
}

TEST_P(ListeningEngines, a_connect_is_cancelled_or_completes) {
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

TEST_P(ListeningEngines, two_hundred_connections_at_once) {
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

TEST_P(ListeningEngines, a_unix_path_carries_a_stream) {
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

TEST_P(ListeningEngines, accept_one_by_one_takes_nobody_after_a_cancel) {
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

// connect(2) refuses immediately where TCP would try again.
TEST_P(ListeningEngines, a_connect_to_a_full_unix_queue_waits_for_room) {
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

TEST_P(ListeningEngines, accept_without_descriptors_says_so_and_recovers) {
  if (is_sim()) GTEST_SKIP() << "accept_failure in io/testing/simulation_test.cc";
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

INSTANTIATE_TEST_SUITE_P(Io, ListeningEngines,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults),
                         testing::name_of_engine);

}  // namespace
}  // namespace keel::io::listener_test
