// TLS streams and listeners on every engine.

#include "keel/net/tls/stream.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <openssl/opensslv.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/pool.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/exec/thread_pool.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/address_guard.h"
#include "keel/net/resolver.h"
#include "keel/net/tls/internal/memory.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::tls::stream_test {
namespace {

using io::testing::pattern;
using io::testing::Which;

Address any_port() { return Address::parse("127.0.0.1:0").value(); }

Task<> talk(Stream peer) {
  while (true) {
    const Chunk chunk = co_await peer.receive();
    if (chunk.empty()) co_return;
    co_await peer.write(chunk);
  }
}

Task<> serve(Listener& listener) {
  Scope connections;
  while (true) {
    Stream peer = co_await listener.accept();
    connections.spawn(talk(std::move(peer)), OnError::Ignore);
  }
}

class TlsStreams : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (IsSkipped()) return;
    authority_.emplace("Test Root");
    server_.emplace(server_for("server.test"));
    client_.emplace(ClientContext::make({.trust = {.pem = authority_->pem()}}).value());
    listener_.emplace(Listener::bind(*server_, any_port()).value());
    serving_.begin(serve(*listener_), [](StartCore&) noexcept {});
  }
  void TearDown() override {
    if (loop_ != nullptr && listener_) {
      serving_.stop();
      EXPECT_TRUE(until([&] { return serving_.has_ended(); }));
      listener_.reset();
      EXPECT_TRUE(until([&] { return server_->use_count() == 1 && client_->use_count() == 1; }, 15_s));
    }
    LoopTest::TearDown();
  }
  ServerContext server_for(const std::string& host) {
    return ServerContext::make({.certificates = {authority_->issue({.names = {host}, .addresses = {"127.0.0.1"}})}})
        .value();
  }

  std::optional<testing::Authority> authority_;
  std::optional<ServerContext> server_;
  std::optional<ClientContext> client_;
  std::optional<Listener> listener_;
  Start<void> serving_;
};

INSTANTIATE_TEST_SUITE_P(, TlsStreams, io::testing::every_engine(), io::testing::name_of_engine);

Task<std::string> ask(ClientContext context, std::string host, Address to, std::string question) {
  Stream stream = co_await connect(std::move(context), std::move(host), to);
  co_await stream.write(question);
  stream.shutdown_write();
  std::string answer;
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return answer;
    answer += chunk;
  }
}

TEST_P(TlsStreams, carry_what_is_written_both_ways) {
  const std::string question = pattern(200'000);
  const auto answer = run(ask(*client_, "server.test", listener_->address(), question));
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_TRUE(*answer == question);
}

Task<> connect_and_count(ClientContext context, Address to, int& connected) {
  const Stream stream = co_await connect(std::move(context), "server.test", to);
  ++connected;
}

// Connections that begin in the same turn.
class TlsBursts : public TlsStreams {
 protected:
  struct Burst {
    int turns = 0;           // Until all are connected.
    int turns_to_first = 0;  // Until one is.
    int handled = 0;         // Jobs, timers and completions.
    int most = 0;            // Connected in one turn.
  };
  Burst connect_at_once(int count) {
    Burst burst;
    int connected = 0;
    const auto connecting = std::make_unique<Start<void>[]>(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      connecting[i].begin(connect_and_count(*client_, listener_->address(), connected), [](StartCore&) noexcept {});
    }
    for (const Instant end = now() + 20_s; connected < count && now() < end; ++burst.turns) {
      const int before = connected;
      burst.handled += loop_->turn(now() + 2_ms);
      burst.most = std::max(burst.most, connected - before);
      if (connected == 0) ++burst.turns_to_first;
    }
    EXPECT_EQ(connected, count);
    EXPECT_TRUE(until([&] {
      return std::all_of(&connecting[0], &connecting[0] + count, [](const auto& one) { return one.has_ended(); });
    }));
    return burst;
  }
};

INSTANTIATE_TEST_SUITE_P(, TlsBursts, ::testing::Values(Which::Uring, Which::Epoll), io::testing::name_of_engine);

TEST_P(TlsBursts, shake_hands_one_by_one_in_a_turn) { EXPECT_LE(connect_at_once(100).most, 2); }

TEST_P(TlsBursts, call_in_a_turn_none_of_those_that_only_wait) {
  const int few = connect_at_once(50).handled;
  EXPECT_LT(connect_at_once(200).handled, 8 * few) << "four times as many cost four times as much";
}

// Else a burst that takes longer than a handshake may would lose all of its connections, not only its last ones.
TEST_P(TlsBursts, connect_the_first_long_before_the_last_begins) {
  const Burst burst = connect_at_once(100);
  EXPECT_LT(4 * burst.turns_to_first, burst.turns);
}

TEST_P(TlsBursts, continue_without_those_that_leave_while_they_wait) {
  constexpr int count = 60;
  int connected = 0;
  Start<void> connecting[count];
  for (Start<void>& one : connecting) {
    one.begin(connect_and_count(*client_, listener_->address(), connected), [](StartCore&) noexcept {});
  }
  ASSERT_TRUE(until([&] { return connected >= 3; }));
  for (int i = 0; i < count; i += 2) connecting[i].stop();
  EXPECT_TRUE(until([&] { return std::ranges::all_of(connecting, [](auto& one) { return one.has_ended(); }); }));
  EXPECT_GE(connected, count / 2);
}

Task<> connect_into(ClientContext context, Address to, std::vector<Stream>& streams) {
  Stream stream = co_await connect(std::move(context), "server.test", to);
  co_await stream.write("idle");
  char echoed[4];
  co_await stream.read_exact(echoed);
  streams.push_back(std::move(stream));
}

// Both ends of each connection, OpenSSL's share included: everything that malloc has given to pools and others.
TEST_P(TlsStreams, an_idle_connection_takes_little_memory) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer replaces malloc";
  if (is_sim()) GTEST_SKIP() << "the simulation allocates freely";
  constexpr std::size_t count = 300;  // More than the 128 sessions that the client keeps.
  std::vector<Stream> clients;
  clients.reserve(count + 1);
  ASSERT_TRUE(run(connect_into(*client_, listener_->address(), clients)));  // What the first one makes for all.
  pool_trim();
  internal::trim_pools();
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(run(connect_into(*client_, listener_->address(), clients)));
  pool_trim();
  internal::trim_pools();
  const std::size_t each = (mallinfo2().uordblks - before) / (2 * count);
  std::printf("%zu bytes per idle connection with TLS\n", each);
  RecordProperty("bytes_per_idle_connection", static_cast<int>(each));
  // OpenSSL 3.5 has larger objects, and its clients keep a second key share.
  EXPECT_LE(each, OPENSSL_VERSION_PREREQ(3, 5) ? 24u * 1024 : 15u * 1024);
  EXPECT_GT(each, 4u * 1024) << "is OpenSSL's memory counted?";
}

TEST_P(TlsStreams, a_server_may_be_known_by_its_address) {
  EXPECT_EQ(run(ask(*client_, "127.0.0.1", listener_->address(), "q")).value(), "q");
}

Task<std::string> read_in_pieces(ClientContext context, Address to) {
  Stream stream = co_await connect(std::move(context), "server.test", to);
  const Records* const connection = connection_of(stream);
  EXPECT_EQ(connection->version(), Version::Tls13);
  EXPECT_EQ(connection->peer_identity(), "server.test");
  const std::string_view parts[] = {"line one\nli", "ne two\n", "1234567890"};
  co_await stream.write(parts);
  std::string all(co_await stream.read_until("\n", 100));
  all += '|';
  all += co_await stream.read_until("\n", 100);
  char exact[10];
  co_await stream.read_exact(exact);
  all += '|';
  all.append(exact, 10);
  co_return all;
}

TEST_P(TlsStreams, are_read_as_streams_are) {
  const auto all = run(read_in_pieces(*client_, listener_->address()));
  ASSERT_TRUE(all) << all.error().describe();
  EXPECT_EQ(*all, "line one\n|line two\n|1234567890");
}

TEST_P(TlsStreams, a_server_that_is_another_is_an_error_that_names_the_host) {
  const auto answer = run(ask(*client_, "bank.test", listener_->address(), "secret"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::Unauthenticated);
  EXPECT_EQ(answer.error().message(),
            "TLS with 'bank.test': the certificate of 'bank.test' is for another host: server.test, 127.0.0.1");
}

TEST_P(TlsStreams, a_listener_takes_a_renewed_certificate) {
  EXPECT_TRUE(run(ask(*client_, "server.test", listener_->address(), "q")));
  listener_->set_context(server_for("renewed.test"));
  EXPECT_TRUE(run(ask(*client_, "renewed.test", listener_->address(), "q")));
  EXPECT_FALSE(run(ask(*client_, "server.test", listener_->address(), "q")));
  listener_->set_context(*server_);
}

TEST_P(TlsStreams, a_server_that_says_nothing_is_given_up) {
  keel::Listener mute = keel::Listener::bind(any_port()).value();
  const ClientContext hurried =
      ClientContext::make({.trust = {.pem = authority_->pem()}, .handshake_timeout = 500_ms}).value();
  const Instant begun = now();
  const auto answer = run(ask(hurried, "server.test", mute.address(), "q"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(answer.error().message(), "TLS with 'server.test': the TLS handshake did not end within 500 ms");
  EXPECT_GE(now() - begun, 300_ms);
}

Task<std::string> ask_within(ClientContext context, Address to, Duration limit) {
  co_return co_await with_timeout(limit, ask(std::move(context), "server.test", to, "q"));
}

TEST_P(TlsStreams, connecting_can_be_cancelled) {
  keel::Listener mute = keel::Listener::bind(any_port()).value();
  const auto answer = run(ask_within(*client_, mute.address(), 50_ms));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::DeadlineExceeded);
  EXPECT_TRUE(until([&] { return client_->use_count() == 1; }, 2_s)) << "the connection is closed";
}

Task<std::string> read_plain(Address to) {
  Stream stream = co_await Stream::connect(to);
  co_await stream.write("GET / HTTP/1.1\r\nHost: server.test\r\n\r\n");
  std::string all;
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return all;
    all += chunk;
  }
}

TEST_P(TlsStreams, a_slow_or_wrong_peer_holds_nobody_up) {
  Stream silent = run(Stream::connect(listener_->address())).value();
  const auto answer = run(read_plain(listener_->address()));
  EXPECT_EQ(answer.value_or(""), "") << "it is closed without a word of TLS";
  EXPECT_TRUE(run(ask(*client_, "server.test", listener_->address(), "q")));
}

Task<std::string> identity_of_client(keel::Listener& listener, ServerContext context) {
  Stream plain = co_await listener.accept();
  EXPECT_EQ(connection_of(plain), nullptr);
  EXPECT_EQ(plain.layer(), nullptr);
  co_await plain.establish();
  Stream peer = co_await accept(context, std::move(plain));
  co_await peer.establish();
  std::string identity(connection_of(peer)->peer_identity());
  co_await peer.write(identity);
  co_return identity;
}

TEST_P(TlsStreams, a_server_knows_who_its_client_is) {
  const ServerContext mutual = ServerContext::make({.certificates = {authority_->issue({.names = {"server.test"}})},
                                                    .client_certificates = ClientCertificates::Required,
                                                    .clients = {.pem = authority_->pem()}})
                                   .value();
  const ClientContext shop = ClientContext::make({.trust = {.pem = authority_->pem()},
                                                  .certificate = authority_->issue({.uris = {"spiffe://test/shop"}})})
                                 .value();
  keel::Listener listener = keel::Listener::bind(any_port()).value();
  Start<std::string> accepting;
  accepting.begin(identity_of_client(listener, mutual), [](StartCore&) noexcept {});
  const auto answer = run(ask(shop, "server.test", listener.address(), "who am I?"));
  ASSERT_TRUE(until([&] { return accepting.has_ended(); }));
  EXPECT_EQ(accepting.take().value(), "spiffe://test/shop");
  EXPECT_EQ(answer.value_or("spiffe://test/shop"), "spiffe://test/shop");
}

TEST_P(TlsStreams, connect_to_a_host_by_its_name) {
  if (is_sim()) GTEST_SKIP() << "names are the system's";
  ThreadPool threads(ThreadPoolOptions{"lookup"});
  Resolver resolver(threads);
  testing::Authority& authority = *authority_;
  listener_->set_context(ServerContext::make({.certificates = {authority.issue({.names = {"localhost"}})}}).value());
  const auto ask_by_name = [](ClientContext context, Resolver& names, std::uint16_t port) -> Task<std::string> {
    Stream stream = co_await connect(std::move(context), names, "localhost", port);
    co_await stream.write("q");
    const Chunk answer = co_await stream.receive();
    co_return std::string(answer);
  };
  const auto answer = run(ask_by_name(*client_, resolver, listener_->address().port()));
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(*answer, "q");
  const auto ask_guarded = [](ClientContext context, Resolver& names, std::uint16_t port) -> Task<> {
    const AddressGuard guard(public_addresses_only);
    co_await connect(std::move(context), names, "localhost", port, guard);
  };
  const auto guarded = run(ask_guarded(*client_, resolver, listener_->address().port()));
  ASSERT_FALSE(guarded);
  EXPECT_EQ(guarded.error().code(), Code::PermissionDenied);
  listener_->set_context(*server_);
}

}  // namespace
}  // namespace keel::tls::stream_test
