// Blocking datagrams over UDP and Unix sockets. What ends a call: cancellation_test.cc.

#include "keel/net/blocking/datagram.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/net/blocking/internal/blocking_test.h"

namespace keel::blocking::blocking_datagram_test {
namespace {

using internal::pattern;

class BlockingDatagrams : public internal::BlockingTest {
 protected:
  DatagramSocket open(const io::DatagramOptions& options = {}) {
    return DatagramSocket::bind(free_address(), options).value();
  }
  static DatagramSocket connect(const DatagramSocket& to) {
    return DatagramSocket::connect(to.local_address()).value();
  }
  static std::string next(DatagramSocket& socket) {
    const Result<Datagram> datagram = socket.receive(10_s);
    EXPECT_TRUE(datagram) << datagram.error().describe();
    return datagram ? std::string(datagram->bytes) : "none";
  }
};
INSTANTIATE_TEST_SUITE_P(, BlockingDatagrams, internal::tcp_and_unix(), internal::name_of_kind);

TEST_P(BlockingDatagrams, go_both_ways_and_tell_who_sent_them) {
  DatagramSocket server = open();
  DatagramSocket client = open();
  ASSERT_TRUE(client.send("question", server.local_address()));
  const Result<Datagram> question = server.receive(10_s);
  ASSERT_TRUE(question) << question.error().describe();
  EXPECT_EQ(question->bytes, "question");
  EXPECT_EQ(question->from, client.local_address());
  EXPECT_FALSE(question->cut);
  ASSERT_TRUE(server.send("answer", question->from, 10_s));
  const Result<Datagram> answer = client.receive();
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->bytes, "answer");
  EXPECT_EQ(answer->from, server.local_address());
}

TEST_P(BlockingDatagrams, keep_their_borders_and_may_be_empty) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  EXPECT_EQ(client.peer_address(), server.local_address());
  EXPECT_EQ(server.peer_address(), Address());
  for (const std::size_t size : {5u, 0u, 1200u, 0u, 9000u, 1u}) ASSERT_TRUE(client.send(pattern(size)));
  for (const std::size_t size : {5u, 0u, 1200u, 0u, 9000u, 1u}) EXPECT_EQ(next(server), pattern(size)) << size;
  EXPECT_EQ(server.receive(Duration()).error().code(), Code::DeadlineExceeded);
}

TEST_P(BlockingDatagrams, are_cut_into_segments) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  const std::string text = pattern(2500);
  ASSERT_TRUE(client.send(text, {}, 10_s, 1000));
  for (const std::size_t at : {0u, 1000u, 2000u}) EXPECT_TRUE(next(server) == text.substr(at, 1000)) << at;
}

TEST_P(BlockingDatagrams, take_options_and_tell_them) {
  DatagramSocket socket = open();
  ASSERT_TRUE(socket.set_options({.receive_buffer_bytes = 100'000}));
  EXPECT_GE(*socket.options().receive_buffer_bytes, 100'000);
  EXPECT_EQ(socket.set_options({.no_delay = true}).error().code(), Code::Unsupported);
  int bytes = 0;
  socklen_t size = sizeof bytes;
  ASSERT_EQ(getsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVBUF, &bytes, &size), 0);
  EXPECT_EQ(bytes, *socket.options().receive_buffer_bytes);
  const Address group = *Address::ip("239.192.7.7", 0);
  if (is_unix()) {
    EXPECT_EQ(socket.set_options({.broadcast = true}).error().code(), Code::Unsupported);
    EXPECT_EQ(socket.join_group(group, 1).error().code(), Code::Unsupported);
    return;
  }
  ASSERT_TRUE(socket.set_options({.broadcast = true}));
  EXPECT_TRUE(*socket.options().broadcast);
  EXPECT_TRUE(socket.join_group(group, 1));
  EXPECT_EQ(socket.join_group(group, 1).error().code(), Code::AlreadyExists);
  EXPECT_TRUE(socket.leave_group(group, 1));
  EXPECT_EQ(socket.leave_group(group, 1).error().code(), Code::NotFound);
}

TEST_P(BlockingDatagrams, a_longer_one_than_asked_for_is_cut_and_says_so) {
  DatagramSocket server = open({.bytes_max = 100});
  DatagramSocket client = connect(server);
  ASSERT_TRUE(client.send(pattern(101)));
  ASSERT_TRUE(client.send(pattern(100)));
  const Datagram cut = server.receive(10_s).value();
  EXPECT_EQ(cut.bytes, pattern(100));
  EXPECT_TRUE(cut.cut);
  const Datagram whole = server.receive(10_s).value();
  EXPECT_EQ(whole.bytes, pattern(100));
  EXPECT_FALSE(whole.cut);
}

TEST_P(BlockingDatagrams, many_leave_in_order_and_what_cannot_is_told_of) {
  DatagramSocket server = open();
  DatagramSocket client = open();
  const Address to = server.local_address();
  const std::string much(1'000'000, 'm');
  const std::vector<OutgoingDatagram> datagrams = {{"one", to, 0}, {"two", to, 0}, {much, to, 0}, {"four", to, 0}};
  EXPECT_EQ(client.send_many(datagrams).value(), 2u);
  const Result<std::size_t> refused = client.send_many(std::span(datagrams).subspan(2), 10_s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EMSGSIZE);
  EXPECT_EQ(refused.error().code(), Code::InvalidArgument);
  EXPECT_EQ(client.send_many(std::span(datagrams).subspan(3)).value(), 1u);
  EXPECT_EQ(client.send_many({}).value(), 0u);
  for (const char* text : {"one", "two", "four"}) EXPECT_EQ(next(server), text);
}

TEST_P(BlockingDatagrams, an_address_is_bound_once) {
  std::optional<DatagramSocket> first(open());
  const Address address = first->local_address();
  const Result<DatagramSocket> second = DatagramSocket::bind(address);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::AlreadyExists) << second.error().describe();
  first.reset();
  EXPECT_TRUE(DatagramSocket::bind(address));
  EXPECT_EQ(DatagramSocket::bind(Address()).error().code(), Code::InvalidArgument);
}

TEST_P(BlockingDatagrams, move_with_what_they_have_received) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  for (const char* text : {"one", "two"}) ASSERT_TRUE(client.send(text));
  EXPECT_EQ(next(server), "one");
  DatagramSocket moved = std::move(server);
  EXPECT_EQ(next(moved), "two");
  server = std::move(moved);
  ASSERT_TRUE(client.send("three"));
  EXPECT_EQ(next(server), "three");
}

TEST_P(BlockingDatagrams, a_socket_that_was_shut_down_sends_nothing_either) {
  DatagramSocket server = open();
  DatagramSocket client = connect(server);
  client.shutdown();
  EXPECT_EQ(client.send("late").error().code(), Code::Cancelled);
  EXPECT_EQ(server.receive(Duration()).error().code(), Code::DeadlineExceeded);
}

TEST_P(BlockingDatagrams, who_has_no_room_is_waited_for_until_the_limit_or_told_of) {
  if (!is_unix()) GTEST_SKIP() << "UDP loses what has no room";
  DatagramSocket server = open();
  DatagramSocket connected = connect(server);
  const std::string bytes = pattern(4000);
  std::size_t sent = 0;
  Result<> full;
  while (full && sent < 20'000) {
    full = connected.send(bytes, {}, Duration());
    if (full) ++sent;
  }
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), Code::DeadlineExceeded) << full.error().describe();
  DatagramSocket stranger = open();
  const Result<> told = stranger.send(bytes, server.local_address(), 10_s);
  // Where the sender's buffer was the first to be full, the receiver has room for it.
  EXPECT_TRUE(told || told.error().errno_value() == EAGAIN) << told.error().describe();
  for (std::size_t i = 0; i < sent + (told ? 1 : 0); ++i) ASSERT_TRUE(next(server) == bytes) << i;
  EXPECT_TRUE(connected.send("room", {}, 10_s));
  EXPECT_EQ(next(server), "room");
}

// --- What only UDP does.

TEST(BlockingUdp, nobody_there_is_told_to_who_is_connected_and_the_socket_goes_on) {
  const auto bound_to = [](const Address& at) { return DatagramSocket::bind(at).value(); };
  std::optional<DatagramSocket> server(bound_to(*Address::parse("127.0.0.1:0")));
  const Address address = server->local_address();
  DatagramSocket client = DatagramSocket::connect(address).value();
  server.reset();
  ASSERT_TRUE(client.send("is anybody there?"));
  const Result<Datagram> nobody = client.receive(10_s);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().errno_value(), ECONNREFUSED);
  EXPECT_EQ(nobody.error().code(), Code::Unavailable);
  server.emplace(bound_to(address));
  ASSERT_TRUE(client.send("and now?"));
  const Result<Datagram> now = server->receive(10_s);
  ASSERT_TRUE(now) << now.error().describe();
  EXPECT_EQ(now->bytes, "and now?");
}

TEST(BlockingUdp, segments_are_datagrams_of_their_own_joined_or_not) {
  for (const bool join : {false, true}) {
    DatagramSocket server = DatagramSocket::bind(*Address::parse("127.0.0.1:0"), {.join = join}).value();
    DatagramSocket client = DatagramSocket::connect(server.local_address()).value();
    const std::string bytes = pattern(20'500);
    const OutgoingDatagram cut_up{bytes, {}, 1000};
    ASSERT_EQ(client.send_many({&cut_up, 1}, 10_s).value(), 1u);
    for (std::size_t i = 0; i < 21; ++i) {
      const Result<Datagram> segment = server.receive(10_s);
      ASSERT_TRUE(segment) << join << ' ' << i << ' ' << segment.error().describe();
      EXPECT_TRUE(segment->bytes == std::string_view(bytes).substr(i * 1000, 1000)) << join << ' ' << i;
    }
  }
}

TEST(BlockingUdp, go_over_ipv6) {
  Result<DatagramSocket> server = DatagramSocket::bind(*Address::parse("[::1]:0"));
  if (!server) GTEST_SKIP() << server.error().describe();
  DatagramSocket client = DatagramSocket::connect(server->local_address()).value();
  ASSERT_TRUE(client.send("six"));
  const Datagram six = server->receive(10_s).value();
  EXPECT_EQ(six.bytes, "six");
  EXPECT_EQ(six.from, client.local_address());
}

}  // namespace
}  // namespace keel::blocking::blocking_datagram_test
