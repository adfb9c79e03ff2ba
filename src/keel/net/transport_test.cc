// Transports on every engine, plain and under a layer.

#include "keel/net/transport.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <tuple>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/member.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/testing/test_layer.h"

namespace keel::transport_test {
namespace {

using io::testing::pattern;
using io::testing::Which;

// A connection as an HTTP server or a load generator has one.
struct Peer {
  ~Peer() { EXPECT_TRUE(is_over()); }

  void open(const Endpoint& endpoint) {
    transport.open(endpoint);
    transport.receive();
  }
  void received() {
    ++calls;
    if (transport.outcome() <= 0) {
      outcomes.push_back(transport.outcome());
      EXPECT_FALSE(transport.is_receiving());
      return;
    }
    EXPECT_TRUE(transport.is_receiving());
    EXPECT_FALSE(transport.is_paused());
    if (holds) {
      const std::string before(transport.bytes());
      EXPECT_EQ(transport.hold(), before);
      transport.pause();
      return;
    }
    text += transport.bytes();
    if (pauses) transport.pause();
    if (echoes) {
      queue.append(transport.bytes());
      flush();
    }
  }
  void say(std::string_view bytes) {
    queue.append(bytes);
    flush();
  }
  void flush() {
    while (send.is_idle() && !queue.empty()) {
      flight = std::exchange(queue, Buffer());
      send.set(flight.data(), flight.size());
      send.sent = 0;
      if (!transport.send(send)) return;
      results.push_back(send.result);
    }
  }
  void sent() {
    results.push_back(send.result);
    flush();
  }
  void close() {
    if (is_over()) return;
    transport.release();
    transport.cancel(send);
    transport.cancel_receive();
  }
  bool close_if_quiet() {
    if (transport.is_receiving() || !send.is_idle()) return false;
    if (!is_over()) transport.close();
    return true;
  }
  bool is_over() const { return !transport.is_open(); }

  Member<Transport, Peer, &Peer::received> transport{*this};
  Member<io::SendPart, Peer, &Peer::sent> send{*this};
  bool echoes = false;
  bool pauses = false;  // After each arrival.
  bool holds = false;   // Each arrival.
  int calls = 0;
  std::string text;
  std::vector<std::int32_t> outcomes;
  std::vector<std::int32_t> results;  // Of sends.
  Buffer queue;
  Buffer flight;
};

class Transports : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (IsSkipped()) return;
    const auto [near, far] = connect();
    client_.open(over(near, clients_, "server.test"));
    server_.open(over(far, servers_, ""));
  }
  void TearDown() override {
    if (loop_ != nullptr) end_both();
    LoopTest::TearDown();
    EXPECT_EQ(TestLayer::alive, 0);
  }
  void end_both() {
    client_.close();
    server_.close();
    EXPECT_TRUE(until([&] {
      const bool client_is_quiet = client_.close_if_quiet();
      return server_.close_if_quiet() && client_is_quiet;
    }));
  }
  Endpoint over(int fd, TestLayers& layers, std::string_view host) {
    if (!is_layered()) return {&engine(), fd};
    return layers.make({&engine(), fd}, host).value();
  }

  // Two connected descriptors.
  std::pair<int, int> connect() {
    const int listener = engine().open_listener(Address::parse("127.0.0.1:0").value(), {}).value();
    io::Connect connect([](io::Op&) noexcept {});
    connect.fd = engine().open_stream(AF_INET).value();
    connect.address = engine().local_address(listener);
    engine().submit(connect);
    int accepted = -1;
    EXPECT_TRUE(until([&] {
      if (accepted < 0) accepted = engine().try_accept(listener);
      return accepted >= 0 && connect.is_idle();
    }));
    engine().close(listener);
    return {connect.fd, accepted};
  }

  TestLayers clients_{"client"};
  TestLayers servers_{"server"};
  Peer client_;
  Peer server_;
};

INSTANTIATE_TEST_SUITE_P(, Transports,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::UringLayered,
                                           Which::EpollLayered, Which::SimLayered),
                         io::testing::name_of_engine);

TEST_P(Transports, what_is_sent_arrives_in_order_both_ways) {
  const std::string sent = pattern(300'000);
  server_.echoes = true;

  client_.say(sent);

  ASSERT_TRUE(until([&] { return client_.text.size() >= sent.size(); }));
  EXPECT_TRUE(client_.text == sent);
  EXPECT_EQ(client_.results, std::vector<std::int32_t>{static_cast<std::int32_t>(sent.size())});
}

TEST_P(Transports, several_parts_leave_with_one_send) {
  std::string parts[] = {"one", "", " and ", "two"};
  iovec vectors[4];
  for (int i = 0; i < 4; ++i) vectors[i] = {parts[i].data(), parts[i].size()};
  io::Send send([](io::Op&) noexcept {});
  send.parts = vectors;
  send.part_count = 4;

  client_.transport.send(send);
  ASSERT_TRUE(until([&] { return send.is_idle(); }));

  EXPECT_EQ(send.result, 11);
  EXPECT_EQ(send.sent, 11u);
  ASSERT_TRUE(until([&] { return server_.text.size() == 11; }));
  EXPECT_EQ(server_.text, "one and two");
}

TEST_P(Transports, what_is_held_outlives_the_call_until_it_is_released) {
  server_.holds = true;
  client_.say("h");
  ASSERT_TRUE(until([&] { return server_.transport.holds(); }));
  client_.say("later");
  settle();

  EXPECT_EQ(server_.transport.held(), "h");
  EXPECT_EQ(server_.calls, 1);

  server_.holds = false;
  server_.transport.release();
  EXPECT_FALSE(server_.transport.holds());
  server_.transport.resume();
  ASSERT_TRUE(until([&] { return server_.text == "later"; }));
}

TEST_P(Transports, what_is_held_outlives_the_receiving) {
  server_.holds = true;
  client_.say("h");
  ASSERT_TRUE(until([&] { return server_.transport.holds(); }));

  server_.transport.cancel_receive();
  ASSERT_TRUE(until([&] { return !server_.transport.is_receiving(); }));

  EXPECT_EQ(server_.transport.held(), "h");
  server_.transport.release();
}

TEST_P(Transports, while_paused_nothing_arrives_and_nothing_is_lost) {
  const std::string sent = pattern(50'000);
  server_.pauses = true;
  client_.say(sent);
  ASSERT_TRUE(until([&] { return server_.transport.is_paused(); }));
  for (std::size_t before = 0; server_.text.size() < sent.size(); before = server_.text.size()) {
    ASSERT_TRUE(until([&] { return server_.transport.is_paused(); }));
    const int calls = server_.calls;
    settle();
    ASSERT_EQ(server_.calls, calls);

    server_.transport.resume();
    ASSERT_EQ(server_.calls, calls) << "what waits is not delivered inside resume()";
    ASSERT_TRUE(until([&] { return server_.text.size() > before; }));
  }
  EXPECT_TRUE(server_.text == sent);
}

TEST_P(Transports, a_transport_that_is_paused_slows_its_peer_down) {
  server_.transport.pause();
  client_.say(pattern(16 << 20));
  settle();

  EXPECT_TRUE(client_.results.empty());
  EXPECT_FALSE(client_.send.is_idle());
}

TEST_P(Transports, the_end_of_the_peers_writing_is_not_the_end_of_ours) {
  client_.say("last words");
  ASSERT_TRUE(until([&] { return !client_.results.empty(); }));
  client_.transport.shutdown_write();
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.text, "last words");
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{0});

  server_.say("an answer");
  ASSERT_TRUE(until([&] { return client_.text == "an answer"; }));
  EXPECT_TRUE(client_.outcomes.empty());
}

TEST_P(Transports, receiving_that_is_ended_loses_nothing_and_goes_on_in_another_transport) {
  const std::string sent = pattern(40'000);
  client_.say(sent);
  ASSERT_TRUE(until([&] { return !server_.text.empty(); }));
  server_.transport.end_receive();
  ASSERT_TRUE(until([&] { return !server_.transport.is_receiving(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{-ECANCELED});
  Peer next;
  next.open(server_.transport.detach());

  client_.say("more");

  ASSERT_TRUE(until([&] { return server_.text.size() + next.text.size() >= sent.size() + 4; }));
  EXPECT_TRUE(server_.text + next.text == sent + "more");
  next.echoes = true;
  client_.say("both ways");
  ASSERT_TRUE(until([&] { return client_.text == "both ways"; }));
  next.close();
  ASSERT_TRUE(until([&] { return next.close_if_quiet(); }));
}

TEST_P(Transports, receiving_that_is_cancelled_ends_with_one_call_more) {
  settle();
  client_.transport.cancel_receive();
  EXPECT_TRUE(client_.outcomes.empty()) << "not from inside";
  ASSERT_TRUE(until([&] { return !client_.outcomes.empty(); }));
  EXPECT_EQ(client_.outcomes, std::vector<std::int32_t>{-ECANCELED});

  client_.transport.cancel_receive();
  settle();
  EXPECT_EQ(client_.calls, 1);
}

TEST_P(Transports, a_send_that_waits_can_be_cancelled) {
  server_.transport.pause();
  client_.say(pattern(16 << 20));
  settle();
  client_.transport.cancel(client_.send);

  ASSERT_TRUE(until([&] { return !client_.results.empty(); }));
  EXPECT_EQ(client_.results, std::vector<std::int32_t>{-ECANCELED});
}

TEST_P(Transports, shutting_down_ends_the_receiving_and_the_sending) {
  client_.say("before");
  ASSERT_TRUE(until([&] { return server_.text == "before"; }));
  server_.transport.shutdown();
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{0});
  server_.say("too late");
  ASSERT_TRUE(until([&] { return !server_.results.empty(); }));
  EXPECT_EQ(server_.results, std::vector<std::int32_t>{-EPIPE});
}

TEST_P(Transports, know_what_the_kernel_has_that_they_have_not_seen) {
  if (is_sim()) GTEST_SKIP() << "nothing waits unseen";
  client_.say("seen");
  ASSERT_TRUE(until([&] { return server_.text == "seen"; }));
  settle();
  EXPECT_FALSE(server_.transport.has_unread());
  const auto acknowledged = client_.transport.acknowledged();
  ASSERT_TRUE(acknowledged);
  EXPECT_GE(*acknowledged, 4u);
}

TEST_P(Transports, are_established_when_what_they_send_leaves) {
  bool is_done = false;
  struct Establishing : io::Send {
    explicit Establishing(bool& flag) noexcept
        : io::Send([](io::Op& op) noexcept { static_cast<Establishing&>(op).done_flag = true; }), done_flag(flag) {}
    bool& done_flag;
  } establishing(is_done);

  const bool is_established = client_.transport.establish(establishing);

  EXPECT_EQ(is_established, !is_layered());
  ASSERT_TRUE(until([&] { return is_established || is_done; }));
  EXPECT_EQ(establishing.result, 0);
  EXPECT_EQ(client_.transport.layer() != nullptr, is_layered());
}

TEST_P(Transports, an_endpoint_that_nobody_has_opened_can_be_closed) {
  const auto [near, far] = connect();
  over(near, clients_, "server.test").close();
  Peer server;
  server.open({&engine(), far});
  ASSERT_TRUE(until([&] { return !server.outcomes.empty(); }));
  EXPECT_EQ(server.text, "");
  server.transport.close();
}

TEST_P(Transports, say_what_an_errno_means) {
  const Error error = client_.transport.error("receive", -ECONNRESET);
  EXPECT_EQ(error.code(), Code::Unavailable);
  EXPECT_EQ(error.errno_value(), ECONNRESET);
}

// --- under a layer -------------------------------------------------------------------------------------------------

using LayeredTransports = Transports;
INSTANTIATE_TEST_SUITE_P(, LayeredTransports,
                         ::testing::Values(Which::UringLayered, Which::EpollLayered, Which::SimLayered),
                         io::testing::name_of_engine);

TEST_P(LayeredTransports, know_their_peer_after_the_handshake_and_before_the_first_bytes) {
  const TransportLayer& layer = *server_.transport.layer();
  EXPECT_FALSE(layer.is_established());
  EXPECT_EQ(layer.peer_identity(), "");

  ASSERT_TRUE(until([&] { return layer.is_established() && client_.transport.layer()->is_established(); }));
  EXPECT_EQ(layer.protocol(), "inverted");
  EXPECT_EQ(layer.peer_identity(), "client");
  EXPECT_EQ(client_.transport.layer()->peer_identity(), "server");
  EXPECT_EQ(server_.calls, 0);
}

TEST_P(LayeredTransports, one_arrival_is_delivered_in_several_pieces) {
  const std::string sent = pattern(5 * TestLayer::record_bytes);
  client_.say(sent);
  ASSERT_TRUE(until([&] { return server_.text.size() == sent.size(); }));
  EXPECT_TRUE(server_.text == sent);
  EXPECT_EQ(server_.calls, 5);
}

TEST_P(LayeredTransports, no_file_is_sent_as_it_is) {
  io::SendFile file([](io::Op&) noexcept {});
  ASSERT_TRUE(client_.transport.send(file));
  EXPECT_EQ(file.result, -EOPNOTSUPP);
}

TEST_P(LayeredTransports, an_end_that_was_not_announced_is_an_error) {
  client_.say("some");
  ASSERT_TRUE(until([&] { return server_.text == "some"; }));
  engine().shutdown_write(client_.transport.descriptor());  // Behind the layer's back.
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{-EPROTO});
  const Error error = server_.transport.error("receive", -EPROTO);
  EXPECT_EQ(error.code(), Code::Unavailable);
  EXPECT_EQ(error.message(), "the test layer does not understand its peer");
}

TEST_P(LayeredTransports, closing_says_goodbye) {
  client_.say("some");
  ASSERT_TRUE(until([&] { return server_.text == "some"; }));
  settle();  // Nothing is in its way.
  client_.close();
  ASSERT_TRUE(until([&] { return client_.close_if_quiet(); }));
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{0});
}

TEST_P(LayeredTransports, a_failed_handshake_ends_the_receiving_and_the_sending) {
  const auto [near, far] = connect();
  TestLayers mute("mute", false);
  Peer client;
  Peer server;
  client.open(over(near, mute, "server.test"));
  server.open(over(far, servers_, ""));
  server.say("never sent");

  ASSERT_TRUE(until([&] { return !server.outcomes.empty() && !server.results.empty(); }));

  EXPECT_EQ(server.outcomes, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(server.results, std::vector<std::int32_t>{-EPROTO});
  EXPECT_FALSE(server.transport.layer()->is_established());
  client.close();
  server.close();
  ASSERT_TRUE(until([&] { return server.close_if_quiet(); }));
  ASSERT_TRUE(until([&] { return client.close_if_quiet(); }));
  EXPECT_EQ(client.text, "");
}

}  // namespace
}  // namespace keel::transport_test
