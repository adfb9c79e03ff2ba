// Blocking streams that speak TLS, over real sockets and with a thread for the other side.

#include "keel/net/tls/blocking_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "keel/base/bug.h"
#include "keel/net/blocking/listener.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::blocking_stream_test {
namespace {

class BlockingStreams : public ::testing::TestWithParam<Version> {
 protected:
  BlockingStreams() {
    const ServerOptions server = {.certificates = {authority_.issue({.names = {"server.test"}})},
                                  .version_max = GetParam()};
    server_context_.emplace(ServerContext::make(server).value());
    client_context_.emplace(ClientContext::make({.trust = {.pem = authority_.pem()}}).value());
  }
  // Its side of the next connection, in a thread.
  template <class F>
  std::thread serving(F serve) {
    return std::thread([this, serve] {
      auto stream = BlockingStream::accept(*server_context_, listener_.accept(10_s).value(), 10_s);
      ASSERT_TRUE(stream) << stream.error().describe();
      serve(*stream);
    });
  }
  blocking::Stream plain() { return blocking::Stream::connect(listener_.address(), 10_s).value(); }
  Result<BlockingStream> connect(const std::string& host = "server.test", Duration timeout = 10_s) {
    return BlockingStream::connect(*client_context_, host, plain(), timeout);
  }

  testing::Authority authority_{"Test Root"};
  std::optional<ServerContext> server_context_;
  std::optional<ClientContext> client_context_;
  blocking::Listener listener_ = blocking::Listener::bind(Address::parse("127.0.0.1:0").value()).value();
};
INSTANTIATE_TEST_SUITE_P(, BlockingStreams, ::testing::Values(Version::Tls12, Version::Tls13),
                         [](const auto& version) { return version.param == Version::Tls12 ? "tls12" : "tls13"; });

void echo(BlockingStream& stream) {
  while (true) {
    const auto chunk = stream.receive(10_s);
    ASSERT_TRUE(chunk) << chunk.error().describe();
    if (chunk->empty()) break;
    ASSERT_TRUE(stream.write(*chunk, 10_s));
  }
  EXPECT_TRUE(stream.shutdown_write(10_s));
}

TEST_P(BlockingStreams, carry_what_is_written_both_ways) {
  std::thread server = serving(echo);
  auto client = connect();
  ASSERT_TRUE(client) << client.error().describe();
  EXPECT_EQ(client->connection().version(), GetParam());
  EXPECT_EQ(client->connection().peer_identity(), "server.test");
  std::string sent;
  std::string got;
  for (int i = 0; i < 50; ++i) {
    const std::string piece(static_cast<std::size_t>(i * 1000), static_cast<char>('a' + i % 26));
    sent += piece;
    ASSERT_TRUE(client->write(piece, 10_s));
    while (got.size() < sent.size()) {
      const auto chunk = client->receive(10_s);
      ASSERT_TRUE(chunk) << chunk.error().describe();
      got += *chunk;
    }
  }
  EXPECT_TRUE(got == sent);
  ASSERT_TRUE(client->shutdown_write(10_s));
  EXPECT_EQ(client->receive(10_s).value(), "");
  server.join();
}

TEST_P(BlockingStreams, are_read_by_lines_and_by_pieces) {
  std::thread server = serving([](BlockingStream& stream) {
    EXPECT_TRUE(stream.write("one\ntwo\nthree", 10_s));
    EXPECT_TRUE(stream.write("more", 10_s));
    EXPECT_TRUE(stream.shutdown_write(10_s));
    EXPECT_EQ(stream.receive(10_s).value(), "");
  });
  auto client = connect().value();
  EXPECT_EQ(client.read_until("\n", 100, 10_s).value(), "one\n");
  char piece[2];
  EXPECT_EQ(client.read(piece, 10_s).value(), 2u);
  EXPECT_EQ(std::string(piece, 2), "tw");
  BlockingStream moved = std::move(client);
  EXPECT_EQ(moved.read_until("\n", 100, 10_s).value(), "o\n");
  EXPECT_EQ(moved.read_until("\n", 3, 10_s).error().code(), Code::OutOfRange);
  EXPECT_THROW(static_cast<void>(moved.read_until("", 3, 10_s)), Bug);
  EXPECT_EQ(moved.read_until("\n", 100, 10_s).error().code(), Code::Unavailable);
  std::string rest;
  while (rest.size() < 9) rest += moved.receive(10_s).value();
  EXPECT_EQ(rest, "threemore");
  EXPECT_EQ(moved.receive(10_s).value(), "");
  moved.close();
  EXPECT_EQ(moved.write("late", 10_s).error().describe(), "TLS: Bad file descriptor");
  EXPECT_FALSE(moved.receive(10_s));
  EXPECT_FALSE(client.read(piece, 10_s)) << "what was moved from";
  server.join();
}

TEST_P(BlockingStreams, refuse_a_server_of_another_name) {
  std::thread server([this] {
    auto stream = BlockingStream::accept(*server_context_, listener_.accept(10_s).value(), 10_s);
    // TLS 1.3: it may be rejected only when it has finished.
    const bool is_refused = !stream || !stream->receive(10_s);
    EXPECT_TRUE(is_refused);
  });
  const auto client = connect("other.test");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code(), Code::Unauthenticated);
  EXPECT_NE(client.error().describe().find("the certificate of 'other.test' is for another host: server.test"),
            std::string::npos)
      << client.error().describe();
  server.join();
}

TEST_P(BlockingStreams, wait_no_longer_than_they_may) {
  const auto silent = connect("server.test", 100_ms);  // Nobody accepts.
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code(), Code::DeadlineExceeded);
  listener_.accept(10_s).value();

  std::thread server = serving([](BlockingStream& stream) {
    EXPECT_EQ(stream.receive(10_s).value(), "go on");
    EXPECT_TRUE(stream.write("late", 10_s));
    EXPECT_FALSE(stream.receive(10_s).value_or("").size());
  });
  auto client = connect().value();
  const auto nothing = client.receive(50_ms);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code(), Code::DeadlineExceeded);
  ASSERT_TRUE(client.write("go on", 10_s));
  EXPECT_EQ(client.receive(10_s).value(), "late");
  client.close();
  server.join();
}

TEST_P(BlockingStreams, tell_an_end_that_was_not_announced) {
  std::thread server = serving([](BlockingStream& stream) {
    EXPECT_TRUE(stream.write("some", 10_s));
    ::shutdown(stream.plain().native_handle(), SHUT_WR);  // Behind its back.
    while (stream.receive(10_s).value_or("") != "") {
    }
  });
  auto client = connect().value();
  EXPECT_EQ(client.receive(10_s).value(), "some");
  const auto end = client.receive(10_s);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code(), Code::Unavailable);
  client.close();
  server.join();
}

TEST_P(BlockingStreams, look_a_host_up_and_connect_to_it) {
  const ServerOptions options = {.certificates = {authority_.issue({.names = {"localhost"}})},
                                 .version_max = GetParam()};
  server_context_.emplace(ServerContext::make(options).value());
  std::thread server = serving(echo);
  auto client = BlockingStream::connect(*client_context_, "localhost", listener_.address().port(), 10_s);
  ASSERT_TRUE(client) << client.error().describe();
  ASSERT_TRUE(client->write("hello", 10_s));
  EXPECT_EQ(client->receive(10_s).value(), "hello");
  ASSERT_TRUE(client->shutdown_write(10_s));
  server.join();
}

}  // namespace
}  // namespace keel::tls::blocking_stream_test
