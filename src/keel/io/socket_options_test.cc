// Options of real sockets, read back from the system, and TCP Fast Open seen from both ends.

#include "keel/io/socket_options.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <memory>
#include <vector>

#include "keel/io/engine.h"
#include "keel/io/internal/own_network.h"

namespace keel::io::socket_options_test {
namespace {

class SocketOptionsOf : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    auto engine = make_engine(GetParam());
    if (!engine) GTEST_SKIP() << engine.error().describe();
    engine_ = *std::move(engine);
  }
  void TearDown() override {
    for (const int fd : open_) engine_->close(fd);
    if (engine_ != nullptr) engine_->wait(Instant());
  }
  int stream(int family) {
    open_.push_back(engine_->open_stream(family).value());
    return open_.back();
  }

  std::unique_ptr<Engine> engine_;
  std::vector<int> open_;
};
INSTANTIATE_TEST_SUITE_P(, SocketOptionsOf, ::testing::Values(EngineKind::Uring, EngineKind::Epoll),
                         [](const auto& kind) { return kind.param == EngineKind::Uring ? "uring" : "epoll"; });

int value_of(int fd, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(getsockopt(fd, level, option, &value, &size), 0);
  return value;
}

TEST_P(SocketOptionsOf, reach_the_system_and_are_read_back) {
  const int fd = stream(AF_INET);
  ASSERT_TRUE(engine_->set_options(fd, {.no_delay = false,
                                        .keep_alive = KeepAlive{.idle = 33_s, .interval = 5_s, .count = 4},
                                        .user_timeout = 12'345_ms,
                                        .reset_on_close = true,
                                        .send_buffer_bytes = 30'000,
                                        .receive_buffer_bytes = 40'000}));
  EXPECT_EQ(value_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
  EXPECT_EQ(value_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(value_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 33);
  EXPECT_EQ(value_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(value_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
  EXPECT_EQ(value_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 12'345);
  const SocketOptions read = engine_->options(fd);
  EXPECT_FALSE(*read.no_delay);
  EXPECT_EQ(read.keep_alive->idle, 33_s);
  EXPECT_EQ(read.keep_alive->interval, 5_s);
  EXPECT_EQ(read.keep_alive->count, 4);
  EXPECT_EQ(*read.user_timeout, 12'345_ms);
  EXPECT_TRUE(*read.reset_on_close);
  EXPECT_GE(*read.send_buffer_bytes, 30'000);
  EXPECT_GE(*read.receive_buffer_bytes, 40'000);
}

TEST_P(SocketOptionsOf, those_of_ip_reach_both_versions_of_it) {
  const int four = stream(AF_INET);
  const int six = stream(AF_INET6);
  for (const int fd : {four, six}) {
    EXPECT_EQ(engine_->options(fd).hop_limit.value_or(0), 64);
    EXPECT_EQ(engine_->options(fd).traffic_class, 0);
    ASSERT_TRUE(engine_->set_options(fd, {.hop_limit = 7, .traffic_class = 0x28}));
    EXPECT_EQ(engine_->options(fd).hop_limit, 7);
    EXPECT_EQ(engine_->options(fd).traffic_class, 0x28);
    EXPECT_EQ(value_of(fd, IPPROTO_IP, IP_TTL), 7) << "of IPv6 too, for IPv4 on a socket of both";
    EXPECT_EQ(value_of(fd, IPPROTO_IP, IP_TOS), 0x28);
  }
  EXPECT_EQ(value_of(six, IPPROTO_IPV6, IPV6_UNICAST_HOPS), 7);
  EXPECT_EQ(value_of(six, IPPROTO_IPV6, IPV6_TCLASS), 0x28);
}

TEST_P(SocketOptionsOf, without_a_value_are_left_alone) {
  const int fd = stream(AF_INET6);
  const SocketOptions before = engine_->options(fd);
  EXPECT_TRUE(*before.no_delay);
  EXPECT_EQ(before.keep_alive->idle, Duration());
  EXPECT_FALSE(*before.reset_on_close);
  ASSERT_TRUE(engine_->set_options(fd, {}));
  ASSERT_TRUE(engine_->set_options(fd, {.keep_alive = KeepAlive{}}));
  EXPECT_EQ(engine_->options(fd).keep_alive->idle, 60_s);
  ASSERT_TRUE(engine_->set_options(fd, {.keep_alive = KeepAlive{.idle = Duration()}}));
  EXPECT_EQ(engine_->options(fd).keep_alive->idle, Duration());
  EXPECT_TRUE(*engine_->options(fd).no_delay);
  EXPECT_EQ(*engine_->options(fd).send_buffer_bytes, *before.send_buffer_bytes);
}

TEST_P(SocketOptionsOf, refuse_what_is_out_of_range) {
  const int fd = stream(AF_INET);
  for (const SocketOptions& wrong :
       {SocketOptions{.keep_alive = KeepAlive{.idle = 999_ms}},
        SocketOptions{.keep_alive = KeepAlive{.idle = 32'768_s}},
        SocketOptions{.keep_alive = KeepAlive{.interval = Duration()}},
        SocketOptions{.keep_alive = KeepAlive{.count = 0}}, SocketOptions{.keep_alive = KeepAlive{.count = 128}},
        SocketOptions{.user_timeout = -1_ms}, SocketOptions{.user_timeout = Duration::forever()},
        SocketOptions{.send_buffer_bytes = 0}, SocketOptions{.receive_buffer_bytes = -1}}) {
    const Result<> result = engine_->set_options(fd, wrong);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Code::InvalidArgument) << result.error().describe();
  }
}

TEST_P(SocketOptionsOf, a_unix_socket_has_buffers_only) {
  const int fd = stream(AF_UNIX);
  ASSERT_TRUE(engine_->set_options(fd, {.send_buffer_bytes = 50'000}));
  EXPECT_GE(*engine_->options(fd).send_buffer_bytes, 50'000);
  EXPECT_FALSE(engine_->options(fd).no_delay);
  EXPECT_FALSE(engine_->options(fd).keep_alive);
  EXPECT_EQ(engine_->set_options(fd, {.no_delay = true}).error().code(), Code::Unsupported);
  EXPECT_EQ(engine_->set_options(fd, {.keep_alive = KeepAlive{}}).error().code(), Code::Unsupported);
}

// --- TCP Fast Open, in a network of its own where it is permitted.

bool sent_data_with_its_first_packet(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
  return (info.tcpi_options & TCPI_OPT_SYN_DATA) != 0;
}

// Two connections one after the other: the first brings the cookie. Each sends five bytes, which have to arrive.
void connect_twice(EngineKind kind, bool listener_permits, bool expected) {
  auto engine = make_engine(kind);
  if (!engine) return;
  const auto turn_until_done = [&](Op& op) {
    for (int i = 0; i < 2000 && op.pending; ++i) {
      (*engine)->wait(Host::system().now() + 5_ms);
      (*engine)->dispatch();
    }
    ASSERT_FALSE(op.pending);
  };
  const auto nothing = [](Op&) noexcept {};
  const int listener =
      (*engine)->open_listener(*Address::parse("127.0.0.1:0"), {.fast_open = listener_permits ? 16 : 0}).value();
  for (int round = 0; round < 2; ++round) {
    Connect connect(nothing);
    connect.fd = (*engine)->open_stream(AF_INET, {.fast_open = true}).value();
    connect.address = (*engine)->local_address(listener);
    if (!(*engine)->submit(connect)) turn_until_done(connect);
    ASSERT_EQ(connect.result, 0);
    SendPart send(nothing);
    send.fd = connect.fd;
    send.set("early", 5);
    if (!(*engine)->submit(send)) turn_until_done(send);
    ASSERT_EQ(send.result, 5);
    int accepted = -EAGAIN;
    for (int i = 0; i < 2000 && accepted == -EAGAIN; ++i) {
      accepted = (*engine)->try_accept(listener);
      if (accepted == -EAGAIN) (*engine)->wait(Host::system().now() + 5_ms);
    }
    ASSERT_GE(accepted, 0);
    Receive receive(nothing);
    receive.fd = accepted;
    (*engine)->submit(receive);
    for (int i = 0; i < 2000 && receive.result == 0; ++i) {
      (*engine)->wait(Host::system().now() + 5_ms);
      (*engine)->dispatch();
    }
    EXPECT_EQ(receive.result, 5);
    EXPECT_EQ(sent_data_with_its_first_packet(connect.fd), expected && round == 1);
    EXPECT_EQ(sent_data_with_its_first_packet(accepted), expected && round == 1);
    (*engine)->cancel(receive);
    turn_until_done(receive);
    (*engine)->close(accepted);
    (*engine)->close(connect.fd);
  }
  (*engine)->close(listener);
  (*engine)->wait(Instant());
}

class FastOpen : public ::testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(, FastOpen, ::testing::Values(EngineKind::Uring, EngineKind::Epoll),
                         [](const auto& kind) { return kind.param == EngineKind::Uring ? "uring" : "epoll"; });

// In a network of its own, whose setting this is.
bool connect_twice_in(const char* setting, EngineKind kind, bool listener_permits, bool expected) {
  return testing::in_own_network([&] {
    if (!testing::set_network_value("/proc/sys/net/ipv4/tcp_fastopen", setting)) return false;
    connect_twice(kind, listener_permits, expected);
    return true;
  });
}

TEST_P(FastOpen, sends_with_the_first_packet_where_both_sides_permit_it) {
  if (!connect_twice_in("3", GetParam(), true, true)) {
    GTEST_SKIP() << "a network of one's own needs root";
  }
}

TEST_P(FastOpen, connects_as_ever_where_one_side_does_not) {
  if (!connect_twice_in("3", GetParam(), false, false)) {
    GTEST_SKIP() << "a network of one's own needs root";
  }
  connect_twice_in("1", GetParam(), true, false);
  connect_twice_in("2", GetParam(), true, false);
}

TEST_P(FastOpen, connects_in_any_case) { connect_twice(GetParam(), false, false); }

}  // namespace
}  // namespace keel::io::socket_options_test
