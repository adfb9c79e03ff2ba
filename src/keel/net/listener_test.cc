#include "keel/net/listener.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "keel/net/internal/net_test.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::listener_test {
namespace {

// "fe80::…%eth0" of every interface that has one and is up.
std::vector<std::string> link_local_hosts() {
  std::vector<std::string> hosts;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return hosts;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET6 || (one->ifa_flags & IFF_UP) == 0) continue;
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(*one->ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr)) continue;
    const std::string text = Address::from_system(one->ifa_addr, sizeof in6).to_string();  // "[host]:0"
    hosts.push_back(text.substr(1, text.size() - 4));
  }
  freeifaddrs(all);
  return hosts;
}

using Listeners = internal::NetTest;
INSTANTIATE_TEST_SUITE_P(, Listeners, internal::every_engine(), internal::name_of_engine);

TEST_P(Listeners, choose_a_port_and_say_which) {
  Listener one = listen();
  Listener two = listen();
  EXPECT_NE(one.address().port(), 0);
  EXPECT_NE(one.address().port(), two.address().port());
}

TEST_P(Listeners, refuse_an_address_that_is_taken) {
  Listener one = listen();
  const Result<Listener> two = Listener::bind(one.address());
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code(), Code::AlreadyExists);
}

Task<> accept_all(Listener& listener, std::size_t count, std::vector<Stream>& into) {
  while (into.size() < count) into.push_back(co_await listener.accept());
}

TEST_P(Listeners, accept_every_connection_once) {
  Listener listener = listen();
  std::vector<Stream> accepted;
  Start<void> accepting;
  ASSERT_FALSE(accepting.begin(accept_all(listener, 300, accepted), [](StartCore&) noexcept {}));
  std::vector<Stream> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(*run(Stream::connect(listener.address())));
  ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  EXPECT_TRUE(accepting.take());

  for (Stream& client : clients) {
    int count = 0;
    for (Stream& stream : accepted) count += stream.peer_address() == client.local_address();
    EXPECT_EQ(count, 1);
  }
}

Task<> accept_after(Stream& signal, Listener& listener, std::size_t count, std::vector<Stream>& into) {
  co_await signal.receive();
  co_await accept_all(listener, count, into);
}

// The listener stops accepting when many connections wait; here they are all taken before that has come about.
TEST_P(Listeners, go_on_when_everything_is_taken_while_accepting_stops) {
  Pair signal = pair();
  Listener listener = listen();
  EXPECT_FALSE(run(with_limit(accept_from(listener), 1_ms)));
  std::vector<Stream> accepted;
  Start<void> accepting;
  ASSERT_FALSE(accepting.begin(accept_after(signal.server, listener, 257, accepted), [](StartCore&) noexcept {}));
  std::vector<Stream> clients;
  for (int i = 0; i < 255; ++i) clients.push_back(*run(Stream::connect(listener.address())));
  settle();
  Start<Stream> last;
  ASSERT_FALSE(last.begin(Stream::connect(listener.address()), [](StartCore&) noexcept {}));
  ASSERT_TRUE(run(internal::write(signal.client, "go")));
  ASSERT_TRUE(until([&] { return last.has_ended(); }));
  clients.push_back(*last.take());
  clients.push_back(*run(Stream::connect(listener.address())));

  EXPECT_TRUE(until([&] { return accepting.has_ended(); }, 2_s));
  if (accepting.is_running()) {
    accepting.stop();
    ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  }
  EXPECT_TRUE(accepting.take());
}

class ListenersUnderLoad : public internal::NetTest {
 protected:
  // On any engine: descriptors are given out from the lowest number on.
  int lowest_free() {
    const int fd = engine().open_stream(AF_INET).value();
    engine().close(fd);
    settle();
    return fd;
  }
  static Task<> connect_all(Address to, std::size_t count, std::vector<Stream>& into) {
    while (into.size() < count) into.push_back(co_await Stream::connect(to));
  }
  static Task<> accept_slowly(Listener& listener, std::size_t count, std::vector<Stream>& into) {
    while (into.size() < count) {
      into.push_back(co_await listener.accept());
      co_await sleep_for(1_ms);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(, ListenersUnderLoad, internal::every_kind(), internal::name_of_engine);

TEST_P(ListenersUnderLoad, leave_in_the_kernel_what_a_slow_server_does_not_take) {
  const io::testing::ManyDescriptors many(8192);
  if (!many.are_granted()) GTEST_SKIP() << "8,192 descriptors";
  Listener listener = listen();
  std::vector<Stream> clients;
  ASSERT_TRUE(run(with_limit(connect_all(listener.address(), 3000, clients)))) << clients.size();
  const int before = lowest_free();
  std::vector<Stream> accepted;

  for (const std::size_t taken : {1u, 2u, 200u, 300u, 600u}) {
    ASSERT_TRUE(run(accept_slowly(listener, taken, accepted)));
    EXPECT_LE(lowest_free() - before, static_cast<int>(taken) + 256) << taken;
  }

  // Nobody is lost, and who comes now is accepted.
  ASSERT_TRUE(run(accept_all(listener, 3000, accepted)));
  clients.push_back(*run(Stream::connect(listener.address())));
  ASSERT_TRUE(run(with_limit(accept_all(listener, 3001, accepted))));
}

// Beside the descriptors of a server there are none left, and then there are.
TEST_P(ListenersUnderLoad, without_descriptors_look_again_every_50_ms) {
  if (is_sim()) GTEST_SKIP() << "has its own: accept_failure";
  Listener listener = listen();
  Start<Stream> accepting;
  // Nothing of both is with io_uring before there are none: it keeps the limit that held when it was asked.
  ASSERT_FALSE(accepting.begin(accept_from(listener), [](StartCore&) noexcept {}));
  Start<Stream> connecting;
  connecting.begin(Stream::connect(listener.address()), [](StartCore&) noexcept {});
  int turns = 0;
  {
    const io::testing::NoDescriptors none;
    const Instant end = now() + 1_s;
    for (; now() < end; ++turns) loop().turn(end);
    EXPECT_FALSE(accepting.has_ended());
  }
  EXPECT_LT(turns, 200) << "20 attempts, and not as many as there is time for";
  EXPECT_GT(turns, 10);

  const Instant freed = now();
  ASSERT_TRUE(until([&] { return accepting.has_ended() && connecting.has_ended(); }));
  EXPECT_LT((now() - freed).count_ms(), 1000);
  EXPECT_TRUE(accepting.take());
  EXPECT_TRUE(connecting.take());
}

TEST_P(Listeners, a_cancelled_accept_loses_no_connection) {
  Listener listener = listen();
  std::vector<Stream> clients;
  std::vector<Stream> accepted;
  for (int i = 0; i < 20; ++i) {
    Start<Stream> waiting;
    if (!waiting.begin(accept_from(listener), [](StartCore&) noexcept {})) {
      if (i % 2 == 0) settle();
      clients.push_back(*run(Stream::connect(listener.address())));
      waiting.stop();
      ASSERT_TRUE(until([&] { return waiting.has_ended(); }));
    } else {
      clients.push_back(*run(Stream::connect(listener.address())));
    }
    Result<Stream> stream = waiting.take();
    if (stream) accepted.push_back(*std::move(stream));
  }
  ASSERT_TRUE(run(accept_all(listener, 20, accepted)));
  EXPECT_EQ(accepted.size(), 20u);
}

TEST_P(Listeners, are_waited_for_by_one_task_and_a_second_is_a_bug_of_its_own) {
  Listener listener = listen();
  Start<Stream> first;
  ASSERT_FALSE(first.begin(accept_from(listener), [](StartCore&) noexcept {}));

  const Result<Stream> second = run(accept_from(listener));
  ASSERT_FALSE(second);
  EXPECT_TRUE(second.error().is_bug());
  const Stream client = *run(Stream::connect(listener.address()));
  ASSERT_TRUE(until([&] { return first.has_ended(); }));
  EXPECT_TRUE(first.take()) << "the first goes on";
}

TEST_P(Listeners, accept_ends_at_its_deadline) {
  Listener listener = listen();
  const Result<Stream> stream = run(with_limit(accept_from(listener), 20_ms));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::DeadlineExceeded);
}

Task<std::string> hear(Stream& stream) {
  std::string text;
  while (true) {
    Result<Chunk> chunk = co_await attempt(stream.receive());
    if (!chunk || chunk->empty()) co_return text;
    text += *chunk;
  }
}

TEST_P(Listeners, close_what_was_accepted_and_not_taken) {
  std::vector<Stream> clients;
  {
    Listener listener = listen();
    // A deadline ends the accept; the kernel's multishot continues.
    EXPECT_FALSE(run(with_limit(accept_from(listener), 1_ms)));
    for (int i = 0; i < 3; ++i) clients.push_back(*run(Stream::connect(listener.address())));
    settle();
  }
  for (Stream& client : clients) EXPECT_EQ(*run(hear(client)), "");
}

// Another process may continue with the socket: what has been taken from it would be lost.
TEST_P(Listeners, give_what_they_have_taken_before_they_were_stopped) {
  Listener listener = listen();
  std::vector<Stream> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(*run(Stream::connect(listener.address())));
  Stream first = *run(accept_from(listener));
  settle();  // On io_uring all of them have been taken.
  listener.stop();
  listener.stop();
  std::size_t taken = 1;
  while (true) {
    const Result<Stream> stream = run(accept_from(listener));
    if (!stream) {
      EXPECT_EQ(stream.error().code(), Code::Unavailable);
      break;
    }
    ++taken;
  }
  EXPECT_GE(taken, GetParam() == internal::Which::Uring ? 5u : 1u);
  EXPECT_EQ(run(accept_from(listener)).error().code(), Code::Unavailable);
}

TEST_P(Listeners, that_are_stopped_wake_who_waits_for_them) {
  Listener listener = listen();
  Start<Stream> accepting;
  accepting.begin(accept_from(listener), [](StartCore&) noexcept {});
  settle();
  listener.stop();
  ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  EXPECT_EQ(accepting.take().error().code(), Code::Unavailable);
}

TEST_P(Listeners, may_be_destroyed_at_once) {
  for (int i = 0; i < 5; ++i) {
    Listener listener = listen();
    if (i % 2 == 0) {
      EXPECT_FALSE(run(with_limit(accept_from(listener), 1_ms)));
    }
  }
}

TEST_P(Listeners, of_ipv6_take_ipv4_only_when_they_are_told_to) {
  for (const bool both : {false, true}) {
    Result<Listener> bound = Listener::bind(*Address::parse("[::]:0"), {.dual_stack = both});
    if (!bound) GTEST_SKIP() << bound.error().describe();
    Listener& listener = *bound;
    const std::uint16_t port = listener.address().port();

    Result<Stream> six = run(Stream::connect(*Address::ip("::1", port)));
    ASSERT_TRUE(six) << six.error().describe();
    Stream of_six = *run(with_limit(accept_from(listener)));
    EXPECT_EQ(of_six.peer_address(), six->local_address());
    Result<Stream> four = run(with_limit(Stream::connect(*Address::ip("127.0.0.1", port))));
    EXPECT_EQ(four.has_value(), both);
    if (!both) {
      EXPECT_TRUE(Listener::bind(*Address::ip("127.0.0.1", port)));
      continue;
    }
    Stream of_four = *run(with_limit(accept_from(listener)));
    EXPECT_EQ(of_four.peer_address(), *Address::ip("::ffff:127.0.0.1", four->local_address().port()));
    EXPECT_EQ(of_four.local_address(), *Address::ip("::ffff:127.0.0.1", port));
    EXPECT_EQ(four->peer_address(), *Address::ip("127.0.0.1", port));
    EXPECT_FALSE(Listener::bind(*Address::ip("0.0.0.0", port)));
  }
}

// Of this machine, if it has one, or of the simulation.
TEST_P(Listeners, listen_on_a_link_local_address) {
  std::vector<std::string> hosts;
  if (is_sim()) {
    hosts.emplace_back("fe80::1%lo");
  } else {
    hosts = link_local_hosts();
  }
  if (hosts.empty()) GTEST_SKIP() << "no link-local address";
  const Result<Address> address = Address::ip(hosts[0], 0);
  ASSERT_TRUE(address) << address.error().describe();
  Result<Listener> listener = Listener::bind(*address);
  ASSERT_TRUE(listener) << listener.error().describe();
  EXPECT_NE(listener->address().to_string().find('[' + hosts[0] + "]:"), std::string::npos);
  Result<Stream> client = run(with_limit(Stream::connect(listener->address())));
  ASSERT_TRUE(client) << client.error().describe();
  Stream server = *run(with_limit(accept_from(*listener)));
  EXPECT_EQ(server.peer_address(), client->local_address());
}

TEST_P(Listeners, lend_their_descriptor) {
  Listener listener = listen();
  if (is_sim()) {
    EXPECT_EQ(engine().local_address(listener.native_handle()), listener.address());
    return;
  }
  int listens = 0;
  socklen_t size = sizeof listens;
  ASSERT_EQ(getsockopt(listener.native_handle(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
  EXPECT_EQ(listens, 1);
  const Result<Listener> heir = Listener::bind({}, {.inherited = listener.native_handle()});
  ASSERT_TRUE(heir) << heir.error().describe();
  EXPECT_EQ(heir->address(), listener.address());
}

TEST_P(Listeners, share_a_port_only_when_both_say_so) {
  Listener one = listen({.reuse_port = true});
  EXPECT_TRUE(Listener::bind(one.address(), {.reuse_port = true}));
  settle();
  EXPECT_FALSE(Listener::bind(one.address()));
}

}  // namespace
}  // namespace keel::listener_test
