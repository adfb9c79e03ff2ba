#include "keel/net/sessions/internal/packet.h"

#include <gtest/gtest.h>

#include <string>

namespace keel::sessions::internal::packet_test {
namespace {

constexpr Token token{.number = 7,
                      .secret = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'}};

Hello some_hello() {
  return {.token = token,
          .attempt = 5,
          .point = {.seen = 9, .handled = 8},
          .heartbeat = 1500_ms,
          .window = {.messages = 5, .bytes = 600},
          .name = "device-1",
          .credentials = "key"};
}
Welcome some_welcome() {
  return {.is_resumed = true,
          .token = token,
          .point = {.seen = 3, .handled = 3},
          .heartbeat = 2_s,
          .expiry = 60_s,
          .window = {.messages = 1, .bytes = 1}};
}
template <class P>
std::string bytes_of(const P& packet) {
  Buffer out;
  write(out, packet);
  return std::string(out.view());
}

TEST(SessionPacket, has_all_fields_of_a_hello) {
  const std::string bytes = bytes_of(some_hello());

  const Hello read = read_hello(bytes).value();

  EXPECT_EQ(kind_of(bytes).value(), Kind::Hello);
  EXPECT_EQ(read.token, token);
  EXPECT_EQ(read.attempt, 5u);
  EXPECT_EQ(read.point, (Point{9, 8}));
  EXPECT_EQ(read.heartbeat, 1500_ms);
  EXPECT_EQ(read.window, (Window{5, 600}));
  EXPECT_EQ(read.name, "device-1");
  EXPECT_EQ(read.credentials, "key");
}

TEST(SessionPacket, has_all_fields_of_a_welcome) {
  const Welcome read = read_welcome(bytes_of(some_welcome())).value();

  EXPECT_TRUE(read.is_resumed);
  EXPECT_EQ(read.token, token);
  EXPECT_EQ(read.point, (Point{3, 3}));
  EXPECT_EQ(read.heartbeat, 2_s);
  EXPECT_EQ(read.expiry, 60_s);
  EXPECT_EQ(read.window, (Window{1, 1}));
}

TEST(SessionPacket, of_every_kind_is_what_was_written) {
  EXPECT_EQ(bytes_of(Packet{.kind = Kind::Data, .acknowledged = 1, .number = 2, .type = 3, .payload = "x"}),
            std::string("d\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\3x", 20));
  EXPECT_EQ(bytes_of(Packet{.kind = Kind::Skip, .number = 258}), std::string("s\0\0\0\0\0\0\1\2", 9));
  for (const Kind kind : {Kind::Ack, Kind::Ping, Kind::Pong}) {
    const std::string bytes = bytes_of(Packet{.kind = kind, .acknowledged = 1ull << 40});
    EXPECT_EQ(read_packet(bytes).value().kind, kind);
    EXPECT_EQ(read_packet(bytes).value().acknowledged, 1ull << 40);
  }
  const std::string bye = bytes_of(Bye{.code = Code::Conflict, .text = "a newer connection"});
  EXPECT_EQ(read_bye(bye).value().code, Code::Conflict);
  EXPECT_EQ(read_bye(bye).value().text, "a newer connection");
}

TEST(SessionPacket, that_is_truncated_or_too_long_is_an_error_at_every_byte) {
  const std::string hello = bytes_of(some_hello());
  const std::string welcome = bytes_of(some_welcome());
  const std::string ack = bytes_of(Packet{.kind = Kind::Ack, .acknowledged = 1});
  for (std::size_t i = 0; i < hello.size(); ++i) {
    EXPECT_EQ(read_hello(hello.substr(0, i)).error().code(), Code::Protocol) << i;
  }
  for (std::size_t i = 0; i < welcome.size(); ++i) {
    EXPECT_EQ(read_welcome(welcome.substr(0, i)).error().code(), Code::Protocol) << i;
  }
  for (std::size_t i = 0; i < ack.size(); ++i) {
    EXPECT_EQ(read_packet(ack.substr(0, i)).error().code(), Code::Protocol) << i;
  }
  EXPECT_EQ(read_hello(hello + 'x').error().message(), "a packet of the session is longer than its fields");
  EXPECT_EQ(read_welcome(welcome + 'x').error().code(), Code::Protocol);
  EXPECT_EQ(read_packet(ack + 'x').error().code(), Code::Protocol);
  EXPECT_EQ(read_packet("x").error().message(), "a packet of the session is of an unknown kind");
  EXPECT_EQ(read_packet("h").error().message(), "a packet of the session is of an unexpected kind");
}

TEST(SessionPacket, of_another_version_is_unsupported) {
  Hello hello = some_hello();
  hello.version_min = 2;
  hello.version_max = 9;
  EXPECT_EQ(read_hello(bytes_of(hello)).error().code(), Code::Unsupported);
  hello.version_min = 1;
  EXPECT_TRUE(read_hello(bytes_of(hello)));

  Welcome welcome = some_welcome();
  welcome.version = 2;
  EXPECT_EQ(read_welcome(bytes_of(welcome)).error().code(), Code::Unsupported);
}

TEST(SessionPacket, with_impossible_values_is_an_error) {
  Hello hello = some_hello();
  hello.point = {.seen = 1, .handled = 2};
  EXPECT_EQ(read_hello(bytes_of(hello)).error().message(),
            "the peer acknowledges as handled a message that it has not received yet");
  hello = some_hello();
  hello.window.bytes = 0;
  EXPECT_EQ(read_hello(bytes_of(hello)).error().message(), "the window of the session has no room for a message");
  Welcome welcome = some_welcome();
  welcome.token.number = 0;
  EXPECT_EQ(read_welcome(bytes_of(welcome)).error().message(), "the number of the session is 0");
  welcome = some_welcome();
  welcome.heartbeat = Duration();
  EXPECT_EQ(read_welcome(bytes_of(welcome)).value().heartbeat, Duration()) << "no heartbeats";
  welcome.heartbeat = 1_ns;
  EXPECT_EQ(read_welcome(bytes_of(welcome)).value().heartbeat, 1_ms) << "not none";
  EXPECT_EQ(read_bye("b\xff").error().message(), "the code of a goodbye is unknown");
}

TEST(SessionPacket, cuts_a_reason_that_is_too_long) {
  const std::string bytes = bytes_of(Bye{.code = Code::Cancelled, .text = std::string(600, 'x')});
  EXPECT_EQ(read_bye(bytes).value().text.size(), reason_bytes_max);
}

}  // namespace
}  // namespace keel::sessions::internal::packet_test
