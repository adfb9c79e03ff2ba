// Datagrams over UDP and Unix sockets, on every engine.

#include "keel/net/datagram.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/net/internal/net_test.h"
#include "keel/task/scope.h"

namespace keel::datagram_test {
namespace {

using internal::Which;

Task<> send(DatagramSocket& socket, std::string bytes, Address to = {}, std::uint32_t segment_bytes = 0) {
  co_await socket.send(bytes, to, segment_bytes);
}
Task<std::size_t> send_many(DatagramSocket& socket, std::vector<OutgoingDatagram>& datagrams) {
  co_return co_await socket.send_many(datagrams);
}

struct Arrived {
  std::string bytes;
  Address from;
  bool cut;
};
Task<Arrived> receive(DatagramSocket& socket) {
  Datagram datagram = co_await socket.receive();
  co_return Arrived{std::string(datagram.bytes), datagram.from, datagram.cut};
}
Task<std::vector<std::string>> receive_many(DatagramSocket& socket, std::size_t count) {
  std::vector<std::string> got;
  while (got.size() < count) {
    Datagram datagram = co_await socket.receive();
    got.emplace_back(datagram.bytes);
  }
  co_return got;
}

class Datagrams : public internal::NetTest {
 protected:
  DatagramSocket open(io::DatagramOptions options = {}) {
    return DatagramSocket::bind(free_address(), options).value();
  }
  DatagramSocket connect(DatagramSocket& to, io::DatagramOptions options = {}) {
    return DatagramSocket::connect(to.local_address(), options).value();
  }
  static std::vector<std::string> numbered(std::size_t count) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < count; ++i) texts.push_back("datagram " + std::to_string(i));
    return texts;
  }
  static std::vector<OutgoingDatagram> batch(const std::vector<std::string>& texts, const Address& to = {}) {
    std::vector<OutgoingDatagram> datagrams;
    for (const std::string& text : texts) datagrams.push_back({text, to, 0});
    return datagrams;
  }
};
INSTANTIATE_TEST_SUITE_P(, Datagrams,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::UringWithTinyRings,
                                           Which::UringWithoutDatagrams, Which::UringUnix, Which::EpollUnix,
                                           Which::SimUnix),
                         internal::name_of_engine);
// What only UDP does.
using Udp = Datagrams;
INSTANTIATE_TEST_SUITE_P(, Udp,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::UringWithTinyRings,
                                           Which::UringWithoutDatagrams),
                         internal::name_of_engine);
using UnixDatagrams = Datagrams;
INSTANTIATE_TEST_SUITE_P(, UnixDatagrams, ::testing::Values(Which::UringUnix, Which::EpollUnix, Which::SimUnix),
                         internal::name_of_engine);

TEST_P(Datagrams, go_both_ways_and_tell_who_sent_them) {
  DatagramSocket server = open();
  DatagramSocket client = open();
  ASSERT_TRUE(run(send(client, "question", server.local_address())));
  const Arrived question = *run(receive(server));
  EXPECT_EQ(question.bytes, "question");
  EXPECT_EQ(question.from, client.local_address());
  EXPECT_FALSE(question.cut);
  ASSERT_TRUE(run(send(server, "answer", question.from)));
  const Arrived answer = *run(receive(client));
  EXPECT_EQ(answer.bytes, "answer");
  EXPECT_EQ(answer.from, server.local_address());
}

TEST_P(Datagrams, keep_their_borders_and_may_be_empty) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  EXPECT_EQ(client.peer_address(), server.local_address());
  for (const std::size_t size : {5u, 0u, 1200u, 0u, 9000u, 1u}) {
    ASSERT_TRUE(run(send(client, internal::pattern(size))));
  }
  for (const std::size_t size : {5u, 0u, 1200u, 0u, 9000u, 1u}) {
    EXPECT_EQ(run(receive(server))->bytes, internal::pattern(size)) << size;
  }
}

TEST_P(Datagrams, many_leave_at_once_and_arrive_in_order) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  const std::vector<std::string> texts = numbered(150);
  std::vector<OutgoingDatagram> datagrams = batch(texts);
  Start<std::vector<std::string>> receiving;
  ASSERT_FALSE(receiving.begin(receive_many(server, texts.size()), [](StartCore&) noexcept {}));
  EXPECT_EQ(*run(send_many(client, datagrams)), texts.size());
  ASSERT_TRUE(until([&] { return receiving.has_ended(); }));
  EXPECT_EQ(*receiving.take(), texts);
  std::vector<OutgoingDatagram> none;
  EXPECT_EQ(*run(send_many(client, none)), 0u);
}

TEST_P(Datagrams, a_longer_one_than_asked_for_is_cut_and_says_so) {
  DatagramSocket server = open({.bytes_max = 100});
  DatagramSocket client = connect(server);
  ASSERT_TRUE(run(send(client, internal::pattern(101))));
  ASSERT_TRUE(run(send(client, internal::pattern(100))));
  const Arrived cut = *run(receive(server));
  EXPECT_EQ(cut.bytes, internal::pattern(100));
  EXPECT_TRUE(cut.cut);
  EXPECT_FALSE(run(receive(server))->cut);
}

TEST_P(Datagrams, large_ones_arrive_whole_where_they_are_asked_for) {
  DatagramSocket server = open({.bytes_max = 65'535});
  DatagramSocket client = connect(server);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(send(client, internal::pattern(60'000))));
    EXPECT_TRUE(run(receive(server))->bytes == internal::pattern(60'000));
  }
}

TEST_P(Datagrams, a_receive_past_its_deadline_loses_nothing) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run(with_limit(receive(server), 1_ms)).error().code(), Code::DeadlineExceeded);
    ASSERT_TRUE(run(send(client, "one")));
    ASSERT_TRUE(run(send(client, "two")));
    EXPECT_EQ(run(receive(server))->bytes, "one");
    EXPECT_EQ(run(receive(server))->bytes, "two");
  }
}

TEST_P(Datagrams, an_address_is_bound_once) {
  DatagramSocket first = open();
  const Result<DatagramSocket> second = DatagramSocket::bind(first.local_address());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::AlreadyExists) << second.error().describe();
  const Address address = first.local_address();
  first.close();
  settle();
  EXPECT_TRUE(DatagramSocket::bind(address));
}

TEST_P(Datagrams, what_cannot_be_sent_is_refused_and_the_rest_is_not_held_up) {
  DatagramSocket server = open();
  DatagramSocket client = open();
  const std::string much(1'000'000, 'm');
  const std::string some = "some";
  const Address to = server.local_address();
  const Result<> refused = run(send(client, much, to));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EMSGSIZE);
  EXPECT_EQ(refused.error().code(), Code::InvalidArgument);
  std::vector<OutgoingDatagram> datagrams = {{some, to, 0}, {some, to, 0}, {much, to, 0}, {some, to, 0}};
  EXPECT_EQ(*run(send_many(client, datagrams)), 2u);
  datagrams.erase(datagrams.begin(), datagrams.begin() + 2);
  EXPECT_EQ(run(send_many(client, datagrams)).error().errno_value(), EMSGSIZE);
  datagrams.erase(datagrams.begin());
  EXPECT_EQ(*run(send_many(client, datagrams)), 1u);
  EXPECT_EQ(run(receive_many(server, 3))->size(), 3u);
}

TEST_P(Datagrams, nowhere_to_go_is_a_mistake) {
  EXPECT_EQ(DatagramSocket::bind(Address()).error().code(), Code::InvalidArgument);
  EXPECT_EQ(DatagramSocket::bind(free_address(), {.bytes_max = 0}).error().code(), Code::InvalidArgument);
  EXPECT_EQ(DatagramSocket::bind(free_address(), {.bytes_max = 65'536}).error().code(), Code::InvalidArgument);
}

TEST_P(Datagrams, close_with_datagrams_waiting) {
  DatagramSocket client = open();
  for (int i = 0; i < 3; ++i) {
    DatagramSocket server = open();
    for (int sent = 0; sent < 3; ++sent) ASSERT_TRUE(run(send(client, "unread", server.local_address())));
    if (i == 0) continue;
    EXPECT_EQ(run(receive(server))->bytes, "unread");
    if (i == 1) continue;
    settle();
    DatagramSocket moved = std::move(server);
    server = open();
    EXPECT_EQ(run(receive(moved))->bytes, "unread");
  }
}

TEST_P(Udp, nobody_there_is_told_to_who_is_connected_and_the_socket_goes_on) {
  std::optional<DatagramSocket> server(open());
  const Address address = server->local_address();
  DatagramSocket client = connect(*server);
  server.reset();
  settle();
  ASSERT_TRUE(run(send(client, "is anybody there?")));
  const auto nobody = run(with_limit(receive(client), 10_s));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().errno_value(), ECONNREFUSED);
  EXPECT_EQ(nobody.error().code(), Code::Unavailable);
  server.emplace(DatagramSocket::bind(address).value());
  ASSERT_TRUE(run(send(client, "and now?")));
  EXPECT_EQ(run(receive(*server))->bytes, "and now?");
}

TEST_P(Udp, a_connected_socket_hears_only_its_peer) {
  DatagramSocket server = open();
  DatagramSocket stranger = open();
  DatagramSocket client = connect(server);
  ASSERT_TRUE(run(send(client, "hello")));
  const Address to = run(receive(server))->from;
  ASSERT_TRUE(run(send(stranger, "not for you", to)));
  settle();
  ASSERT_TRUE(run(send(server, "hello, too", to)));
  EXPECT_EQ(run(receive(client))->bytes, "hello, too");
}

TEST_P(Udp, who_does_not_receive_keeps_little_here_and_the_rest_in_the_kernel) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  ASSERT_TRUE(run(send(client, "first")));
  EXPECT_EQ(run(receive(server))->bytes, "first");
  const std::vector<std::string> texts = numbered(100);
  for (const std::string& text : texts) {
    ASSERT_TRUE(run(send(client, text)));
    if (text.ends_with('7')) settle();
  }
  settle();
  EXPECT_EQ(*run(with_limit(receive_many(server, texts.size()))), texts);
}

TEST_P(Udp, segments_are_datagrams_of_their_own) {
  for (const bool join : {false, true}) {
    DatagramSocket server = open({.join = join});
    DatagramSocket client = connect(server);
    const std::string bytes = internal::pattern(100'500);  // More than one message to the kernel.
    Start<std::vector<std::string>> receiving;
    ASSERT_FALSE(receiving.begin(receive_many(server, 101), [](StartCore&) noexcept {}));
    ASSERT_TRUE(run(send(client, bytes, {}, 1000)));
    ASSERT_TRUE(until([&] { return receiving.has_ended(); })) << join;
    const std::vector<std::string> got = *receiving.take();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i] == bytes.substr(i * 1000, 1000)) << join << i;
  }
}

TEST_P(Udp, several_sockets_share_a_port_where_they_are_told_to) {
  DatagramSocket first = open({.reuse_port = true});
  const Result<DatagramSocket> second = DatagramSocket::bind(first.local_address(), {.reuse_port = true});
  ASSERT_TRUE(second) << second.error().describe();
  EXPECT_EQ(DatagramSocket::bind(first.local_address()).error().code(), Code::AlreadyExists);
}

TEST_P(Udp, go_over_ipv6) {
  Result<DatagramSocket> server = DatagramSocket::bind(*Address::parse("[::1]:0"));
  if (!server) GTEST_SKIP() << server.error().describe();
  DatagramSocket client = connect(*server);
  ASSERT_TRUE(run(send(client, "six")));
  const Arrived six = *run(receive(*server));
  EXPECT_EQ(six.bytes, "six");
  EXPECT_EQ(six.from, client.local_address());
}

TEST_P(Udp, have_buffers_and_no_options_of_streams) {
  DatagramSocket socket = open({.receive_buffer_bytes = 100'000});
  EXPECT_GE(*socket.options().receive_buffer_bytes, 100'000);
  EXPECT_TRUE(socket.set_options({.send_buffer_bytes = 50'000}));
  EXPECT_GE(*socket.options().send_buffer_bytes, 50'000);
  EXPECT_EQ(socket.set_options({.no_delay = true}).error().code(), Code::Unsupported);
}

TEST_P(Datagrams, are_cut_into_segments_for_a_peer) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  const std::string text = internal::pattern(2500);
  ASSERT_TRUE(run(send(client, text, {}, 1000)));
  const auto got = run(with_limit(receive_many(server, 3)));
  ASSERT_TRUE(got) << got.error().describe();
  EXPECT_TRUE(*got == (std::vector<std::string>{text.substr(0, 1000), text.substr(1000, 1000), text.substr(2000)}));
}

TEST_P(Udp, take_options_of_ip_and_tell_them) {
  DatagramSocket socket = open();
  EXPECT_FALSE(*socket.options().broadcast);
  EXPECT_EQ(socket.options().multicast_hop_limit, 1);
  ASSERT_TRUE(socket.set_options({.hop_limit = 9,
                                  .traffic_class = 0xb8,
                                  .broadcast = true,
                                  .multicast_hop_limit = 0,
                                  .multicast_loop = false,
                                  .multicast_interface = 0}));
  const io::SocketOptions read = socket.options();
  EXPECT_EQ(read.hop_limit, 9);
  EXPECT_EQ(read.traffic_class, 0xb8);
  EXPECT_TRUE(*read.broadcast);
  EXPECT_EQ(read.multicast_hop_limit, 0);
  EXPECT_FALSE(*read.multicast_loop);
  EXPECT_FALSE(read.multicast_interface);
  for (const io::SocketOptions& wrong :
       {io::SocketOptions{.hop_limit = 0}, io::SocketOptions{.hop_limit = 256}, io::SocketOptions{.traffic_class = -1},
        io::SocketOptions{.traffic_class = 256}, io::SocketOptions{.multicast_hop_limit = 256}}) {
    EXPECT_EQ(socket.set_options(wrong).error().code(), Code::InvalidArgument);
  }
}

TEST_P(UnixDatagrams, have_no_options_of_ip_and_no_groups) {
  DatagramSocket socket = open();
  EXPECT_EQ(socket.set_options({.broadcast = true}).error().code(), Code::Unsupported);
  EXPECT_EQ(socket.set_options({.traffic_class = 8}).error().code(), Code::Unsupported);
  EXPECT_EQ(socket.join_group(*Address::ip("239.1.2.3", 0)).error().code(), Code::Unsupported);
}

TEST_P(Udp, are_broadcast_where_that_is_permitted) {
  DatagramSocket server = DatagramSocket::bind(*Address::parse("0.0.0.0:0")).value();
  DatagramSocket client = open();
  const Address all = *Address::ip("127.255.255.255", server.local_address().port());
  const Result<> refused = run(send(client, "not yet", all));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::PermissionDenied) << refused.error().describe();
  ASSERT_TRUE(client.set_options({.broadcast = true}));
  ASSERT_TRUE(run(send(client, "to all", all)));
  const Arrived got = *run(receive(server));
  EXPECT_EQ(got.bytes, "to all");
  EXPECT_EQ(got.from, client.local_address());
}

// Of an interface with an address of that family that carries multicast; 0: there is none.
std::uint32_t multicast_interface(int family) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return 0;
  std::uint32_t found = 0;
  for (const ifaddrs* one = all; one != nullptr && found == 0; one = one->ifa_next) {
    constexpr unsigned wanted = IFF_UP | IFF_MULTICAST;
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || (one->ifa_flags & wanted) != wanted) continue;
    found = if_nametoindex(one->ifa_name);
  }
  freeifaddrs(all);
  return found;
}

TEST_P(Udp, reach_the_members_of_a_group_and_nobody_else) {
  for (const std::string bare : {"239.192.7.7", "ff02::7777"}) {
    const bool is_six = bare[0] == 'f';
    const std::uint32_t link = is_sim() ? 1 : multicast_interface(is_six ? AF_INET6 : AF_INET);
    if (link == 0) GTEST_SKIP() << "no interface for multicast";
    const std::string host = is_six ? bare + '%' + std::to_string(link) : bare;
    const Address any = *Address::ip(is_six ? "::" : "0.0.0.0", 0);
    Result<DatagramSocket> first = DatagramSocket::bind(any, {.reuse_port = true});
    if (!first) GTEST_SKIP() << first.error().describe();
    const std::uint16_t port = first->local_address().port();
    Address same = any;
    same.set_port(port);
    DatagramSocket second = DatagramSocket::bind(same, {.reuse_port = true}).value();
    Address group = *Address::ip(host, port);
    DatagramSocket client = DatagramSocket::bind(any).value();
    // Not off this machine.
    ASSERT_TRUE(client.set_options({.multicast_hop_limit = 0, .multicast_interface = link}));

    ASSERT_TRUE(first->join_group(group, is_six ? 0 : link));
    EXPECT_EQ(first->join_group(group, is_six ? 0 : link).error().code(), Code::AlreadyExists);
    ASSERT_TRUE(second.join_group(group, link));
    ASSERT_TRUE(run(send(client, "one", group)));
    EXPECT_EQ(run(receive(*first))->bytes, "one");
    EXPECT_EQ(run(receive(second))->bytes, "one");

    ASSERT_TRUE(second.leave_group(group, link));
    EXPECT_EQ(second.leave_group(group, link).error().code(), Code::NotFound);
    ASSERT_TRUE(run(send(client, "two", group)));
    EXPECT_EQ(run(receive(*first))->bytes, "two");
    const Result<Arrived> nothing = run(with_limit(receive(second), 20_ms));
    EXPECT_FALSE(nothing);
  }
}

TEST_P(Udp, refuse_groups_that_are_none) {
  DatagramSocket socket = open();
  EXPECT_EQ(socket.join_group(*Address::ip("127.0.0.1", 0)).error().code(), Code::InvalidArgument);
  EXPECT_EQ(socket.join_group(*Address::ip("::1", 0)).error().code(), Code::InvalidArgument);
  EXPECT_EQ(socket.join_group({}).error().code(), Code::InvalidArgument);
  if (is_sim()) return;  // Has no interfaces.
  EXPECT_EQ(socket.join_group(*Address::ip("239.192.7.7", 0), 4'000'000).error().code(), Code::NotFound);
  EXPECT_EQ(socket.set_options({.multicast_interface = 4'000'000}).error().code(), Code::NotFound);
}

TEST_P(Datagrams, lend_their_descriptor) {
  DatagramSocket socket = open();
  EXPECT_EQ(engine().local_address(socket.native_handle()), socket.local_address());
}

// For ever; or, where nothing ends it, for a while.
Task<> flood(DatagramSocket& socket, std::size_t at_a_time) {
  const std::vector<OutgoingDatagram> datagrams(at_a_time, OutgoingDatagram{"much"});
  const Instant end = Host::system().now() + 3_s;
  while (Host::system().now() < end) {
    if (at_a_time == 1) {
      co_await socket.send("much");
    } else {
      co_await socket.send_many(datagrams);
    }
  }
}
Task<> flood_in_time(DatagramSocket& socket, std::size_t at_a_time) {
  co_await with_timeout(50_ms, flood(socket, at_a_time));
}
// Others have their turns before the flood ends by itself.
Task<> tick_beside_flood(DatagramSocket& socket, std::size_t at_a_time) {
  Scope flooding;
  flooding.spawn(flood(socket, at_a_time));
  for (int i = 0; i < 5; ++i) co_await sleep_for(1_ms);
  flooding.stop();
  (void)co_await attempt(flooding.join());
}
TEST_P(Udp, who_sends_all_the_time_is_ended_by_a_time_limit_and_starves_nobody) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  for (const std::size_t at_a_time : {std::size_t{1}, std::size_t{2}, std::size_t{simulation_ ? 100u : 100'000u}}) {
    const Instant began = Host::system().now();

    const Result<> flooded = run(flood_in_time(client, at_a_time));
    ASSERT_TRUE(run(tick_beside_flood(client, at_a_time)));

    ASSERT_FALSE(flooded);
    EXPECT_EQ(flooded.error().code(), Code::DeadlineExceeded);
    EXPECT_LT(Host::system().now() - began, 2_s);
  }
}

// Counts what a batch saves: one system call for 64 datagrams instead of one each.
TEST_P(Udp, a_batch_takes_one_system_call) {
  if (simulation_ != nullptr) GTEST_SKIP() << "the simulation makes no system calls";
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  const std::vector<std::string> texts = numbered(64);
  std::vector<OutgoingDatagram> datagrams = batch(texts);
  std::uint64_t before = loop_->engine().system_calls();
  EXPECT_EQ(*run(send_many(client, datagrams)), 64u);
  const std::uint64_t together = loop_->engine().system_calls() - before;
  EXPECT_EQ(together, 1u);
  before = loop_->engine().system_calls();
  ASSERT_EQ(run(receive_many(server, 64))->size(), 64u);
  const std::uint64_t received = loop_->engine().system_calls() - before;
  before = loop_->engine().system_calls();
  ASSERT_TRUE(run(send(client, internal::pattern(64 * 1000), {}, 1000)));
  const std::uint64_t in_segments = loop_->engine().system_calls() - before;
  EXPECT_LE(in_segments, 3u);  // Where the kernel cannot cut up: it is asked, says no, and gets 64.
  EXPECT_EQ(run(receive_many(server, 64))->size(), 64u);
  before = loop_->engine().system_calls();
  for (const std::string& text : texts) ASSERT_TRUE(run(send(client, text)));
  const std::uint64_t alone = loop_->engine().system_calls() - before;
  EXPECT_GE(alone, 64u);
  std::printf("system calls for 64 datagrams: %d in a batch, %d in segments, %d alone; %d to receive\n",
              static_cast<int>(together), static_cast<int>(in_segments), static_cast<int>(alone),
              static_cast<int>(received));
}

TEST_P(UnixDatagrams, nobody_at_the_path_is_not_found) {
  EXPECT_EQ(DatagramSocket::connect(free_address()).error().code(), Code::NotFound);
  DatagramSocket client = open();
  const Result<> sent = run(send(client, "to nobody", free_address()));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), Code::NotFound);
}

TEST_P(UnixDatagrams, a_receiver_without_room_is_waited_for_or_told_of_and_nothing_is_lost) {
  DatagramSocket server = open();
  DatagramSocket connected = connect(server);
  DatagramSocket client = open();
  const std::string bytes = internal::pattern(4000);
  // What fills up first is the system's choice: the receiver's queue or the sender's buffer.
  std::size_t sent = 0;
  Result<> full;
  while (full && sent < 10'000) {
    full = run(send(client, bytes, server.local_address()));
    if (full) ++sent;
  }
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().errno_value(), EAGAIN);
  std::optional<Start<void>> waiting;
  for (; sent < 20'000; ++sent) {
    waiting.emplace();
    waiting->begin(send(connected, bytes), [](StartCore&) noexcept {});
    settle();
    if (!waiting->has_ended()) break;
    ASSERT_TRUE(waiting->take());
  }
  ASSERT_FALSE(waiting->has_ended());
  waiting->stop();
  ASSERT_TRUE(until([&] { return waiting->has_ended(); }));
  EXPECT_EQ(waiting->take().error().code(), Code::Cancelled);
  const std::string another(bytes.size(), 'z');
  waiting.emplace();
  waiting->begin(send(connected, another), [](StartCore&) noexcept {});
  settle();
  EXPECT_FALSE(waiting->has_ended());
  for (std::size_t i = 0; i < sent; ++i) {
    const Result<Arrived> arrived = run(receive(server));
    EXPECT_TRUE(arrived && arrived->bytes == bytes) << i;
  }
  ASSERT_TRUE(until([&] { return waiting->has_ended(); }));
  EXPECT_TRUE(waiting->take());
  const Result<Arrived> last = run(receive(server));
  ASSERT_TRUE(last) << last.error().describe();
  EXPECT_TRUE(last->bytes == another);
  EXPECT_EQ(last->from, Address());
}

TEST_P(UnixDatagrams, a_path_that_was_left_behind_is_taken_over) {
  const Address address = free_address();
  {
    DatagramSocket before = DatagramSocket::bind(address).value();
  }
  settle();
  DatagramSocket server = DatagramSocket::bind(address).value();
  DatagramSocket client = connect(server);
  ASSERT_TRUE(run(send(client, "still here")));
  EXPECT_EQ(run(receive(server))->bytes, "still here");
}

// The simulation allocates freely.
using DatagramMemory = Datagrams;
INSTANTIATE_TEST_SUITE_P(, DatagramMemory,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::UringWithoutDatagrams, Which::UringUnix,
                                           Which::EpollUnix),
                         internal::name_of_engine);

// Alone, several at the same time, and with the receiver waiting or not; notes what the second half has allocated.
Task<> talk(DatagramSocket& from, DatagramSocket& to, int rounds, std::size_t& allocated) {
  const std::string large(6000, 'l');
  const OutgoingDatagram several[] = {{"one", {}, 0}, {large, {}, 0}, {"three", {}, 0}};
  std::size_t before = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i == rounds / 2) before = internal::allocations();
    co_await from.send("alone");
    Datagram datagram = co_await to.receive();
    EXPECT_EQ(datagram.bytes, "alone");
    const std::size_t sent = co_await from.send_many(several);
    EXPECT_EQ(sent, 3u);
    for (const OutgoingDatagram& each : several) {
      datagram = co_await to.receive();
      EXPECT_EQ(datagram.bytes, each.bytes);
    }
  }
  allocated = internal::allocations() - before;
}

TEST_P(DatagramMemory, nothing_is_allocated_per_datagram) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  std::size_t allocated = 1;
  ASSERT_TRUE(run(talk(client, server, 400, allocated)));
  EXPECT_EQ(allocated, 0u);
  const std::size_t before = internal::allocations();
  EXPECT_NE(std::string(100, 'x').c_str(), nullptr);
  EXPECT_GT(internal::allocations(), before);  // The counter counts.
}

// --- Faults.

// Sends 200 numbered datagrams; which of them arrived, in what order.
struct Journey {
  std::vector<int> arrived;
  std::uint64_t refused = 0;
  sim::FaultCounts faults;
  std::vector<sim::Fault> struck;
};
// Each until the system has room for it.
Task<> send_numbers(DatagramSocket& socket, int count, std::uint64_t& refused) {
  for (int i = 0; i < count;) {
    const std::string text = std::to_string(i);
    const Result<> sent = co_await attempt(socket.send(text));
    if (sent) {
      ++i;
      continue;
    }
    EXPECT_EQ(sent.error().errno_value(), ENOBUFS);
    EXPECT_EQ(sent.error().code(), Code::ResourceExhausted);
    ++refused;
  }
}
Task<> note_numbers(DatagramSocket& socket, std::vector<int>& arrived) {
  while (true) {
    Datagram datagram = co_await socket.receive();
    arrived.push_back(std::stoi(std::string(datagram.bytes)));
  }
}
constexpr int journey_count = 200;
Journey journey(const sim::SimOptions& options) {
  Journey result;
  sim::Simulation simulation(options);
  io::Loop& loop = simulation.add_loop();
  {
    io::Loop::Entered entered(loop);
    DatagramSocket server = DatagramSocket::bind(internal::any_port()).value();
    DatagramSocket client = DatagramSocket::connect(server.local_address()).value();
    Start<void> receiving;
    Start<void> sending;
    receiving.begin(note_numbers(server, result.arrived), [](StartCore&) noexcept {});
    sending.begin(send_numbers(client, journey_count, result.refused), [](StartCore&) noexcept {});
    EXPECT_TRUE(simulation.run_until([&] { return sending.has_ended(); }, 60_s)) << simulation.replay();
    EXPECT_TRUE(sending.take());
    simulation.run_until([] { return false; }, 10_s);
    receiving.stop();
    EXPECT_TRUE(simulation.run_until([&] { return receiving.has_ended(); }, 1_s));
    EXPECT_EQ(receiving.take().error().code(), Code::Cancelled);
    result.faults = simulation.faults();
    result.struck = simulation.struck();
  }
  simulation.run_until([] { return false; }, 5_ms);
  return result;
}

TEST(DatagramFaults, are_none_where_none_are_asked_for) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::SimOptions options;
    options.seed = seed;
    const Journey quiet = journey(options);
    EXPECT_EQ(quiet.arrived.size(), static_cast<std::size_t>(journey_count));
    EXPECT_TRUE(std::ranges::is_sorted(quiet.arrived));
    EXPECT_TRUE(quiet.struck.empty());
  }
}

TEST(DatagramFaults, lose_repeat_and_swap_as_often_as_they_say) {
  sim::FaultCounts all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::SimOptions options;
    options.seed = seed;
    options.loss = 0.1;
    options.duplicate = 0.1;
    options.reorder = 0.1;
    const Journey wild = journey(options);
    EXPECT_EQ(wild.arrived.size(), journey_count - wild.faults.lost + wild.faults.duplicated) << seed;
    const std::set<int> different(wild.arrived.begin(), wild.arrived.end());
    EXPECT_EQ(different.size(), journey_count - wild.faults.lost) << seed;
    EXPECT_FALSE(std::ranges::is_sorted(wild.arrived)) << seed;
    all.lost += wild.faults.lost;
    all.duplicated += wild.faults.duplicated;
    all.reordered += wild.faults.reordered;
  }
  // 4,000 chances of each, less what is lost.
  EXPECT_NEAR(static_cast<double>(all.lost), 400, 100);
  EXPECT_NEAR(static_cast<double>(all.duplicated), 360, 100);
  EXPECT_NEAR(static_cast<double>(all.reordered), 360, 100);
}

TEST(DatagramFaults, without_room_are_told_to_the_sender_who_may_send_again) {
  sim::SimOptions options;
  options.no_room = 0.2;
  const Journey narrow = journey(options);
  EXPECT_GT(narrow.refused, 0u);
  EXPECT_EQ(narrow.refused, narrow.faults.without_room);
  EXPECT_EQ(narrow.arrived.size(), static_cast<std::size_t>(journey_count));
  EXPECT_TRUE(std::ranges::is_sorted(narrow.arrived));
}

TEST(DatagramFaults, have_names_by_which_one_alone_strikes_again) {
  sim::SimOptions options;
  options.seed = 7;
  options.loss = 0.1;
  options.duplicate = 0.1;
  options.reorder = 0.1;
  const Journey wild = journey(options);
  const auto lost =
      std::ranges::find(wild.struck, sim::FaultKind::Loss, [](const sim::Fault& fault) { return fault.kind; });
  ASSERT_NE(lost, wild.struck.end());
  const std::string name = sim::to_string({*lost});
  EXPECT_TRUE(name.starts_with("loss:")) << name;
  options.only = *sim::parse_faults(name);
  const Journey alone = journey(options);
  EXPECT_EQ(alone.struck, std::vector<sim::Fault>{*lost});
  EXPECT_EQ(alone.arrived.size(), static_cast<std::size_t>(journey_count - 1));
  EXPECT_EQ(std::ranges::count(alone.arrived, static_cast<int>(lost->nth)), 0);
}

}  // namespace
}  // namespace keel::datagram_test
