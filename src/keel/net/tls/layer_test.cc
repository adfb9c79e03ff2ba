// TLS over transports, on every engine: what net/transport_test.cc wants of a layer, and more.

#include "keel/net/tls/layer.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/host.h"
#include "keel/base/member.h"
#include "keel/exec/call.h"
#include "keel/io/testing/loop_test.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/net/tls/testing/seeded_randomness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
namespace keel::tls::layer_test {
namespace {

using io::testing::pattern;
using io::testing::Which;

// A connection as an HTTP server has one.
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
      if (transport.outcome() < 0) error = transport.error("receive", transport.outcome()).message();
      if (closes) transport.close();
      return;
    }
    if (holds) {
      const std::string before(transport.bytes());
      EXPECT_EQ(transport.hold(), before);
      transport.pause();
      return;
    }
    text += transport.bytes();
    if (pauses) transport.pause();
    if (echoes) say(transport.bytes());
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
    if (is_over()) return true;
    if (transport.is_receiving() || !send.is_idle()) return false;
    transport.close();
    return true;
  }
  bool is_over() const { return !transport.is_open(); }

  Member<Transport, Peer, &Peer::received> transport{*this};
  Member<io::SendPart, Peer, &Peer::sent> send{*this};
  bool echoes = false;
  bool pauses = false;  // After each arrival.
  bool holds = false;   // Each arrival.
  bool closes = false;  // At the end, from inside.
  int calls = 0;
  std::string text;
  std::string error;
  std::vector<std::int32_t> outcomes;
  std::vector<std::int32_t> results;  // Of sends.
  Buffer queue;
  Buffer flight;
};

class TlsTransports : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (IsSkipped()) return;
    if (is_sim()) randomness_.emplace();
    authority_.emplace("Test Root");
    server_context_.emplace(
        ServerContext::make({.certificates = {authority_->issue({.names = {"server.test"}})}, .protocols = {"echo"}})
            .value());
    client_context_.emplace(ClientContext::make({.trust = {.pem = authority_->pem()}, .protocols = {"echo"}}).value());
  }
  void TearDown() override {
    if (loop_ != nullptr) end_both();
    LoopTest::TearDown();
    // No layer is left behind.
    if (!server_context_) return;
    EXPECT_EQ(server_context_->use_count(), 1);
    EXPECT_EQ(client_context_->use_count(), 1);
  }
  void end_both() {
    client_.close();
    server_.close();
    EXPECT_TRUE(until([&] {
      const bool client_is_quiet = client_.close_if_quiet();
      return server_.close_if_quiet() && client_is_quiet;
    }));
    EXPECT_TRUE(until([&] { return server_context_->use_count() == 1 && client_context_->use_count() == 1; }, 15_s));
  }
  void open_both() {
    const auto [near, far] = connect();
    client_.open(over_client(near));
    server_.open(over_server(far));
  }
  // And waits for the handshake.
  void establish_both() {
    open_both();
    ASSERT_TRUE(until([&] { return layer_of(client_).is_established() && layer_of(server_).is_established(); }))
        << client_.error << server_.error;
  }
  Endpoint over_client(int fd, std::string_view host = "server.test") {
    return Layers(*client_context_).make({&engine(), fd}, host).value();
  }
  Endpoint over_server(int fd) { return Layers(*server_context_).make({&engine(), fd}, "").value(); }
  static const TransportLayer& layer_of(const Peer& peer) { return *peer.transport.layer(); }

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

  std::optional<testing::SeededRandomness> randomness_;
  std::optional<testing::Authority> authority_;
  std::optional<ServerContext> server_context_;
  std::optional<ClientContext> client_context_;
  Peer client_;
  Peer server_;
};

INSTANTIATE_TEST_SUITE_P(, TlsTransports,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults,
                                           Which::UringWithTinyRings),
                         io::testing::name_of_engine);

TEST_P(TlsTransports, what_is_sent_arrives_in_order_both_ways) {
  const std::string sent = pattern(3'000'000);
  open_both();
  server_.echoes = true;

  client_.say(sent);

  ASSERT_TRUE(until([&] { return client_.text.size() >= sent.size(); }));
  EXPECT_TRUE(client_.text == sent);
  EXPECT_EQ(client_.results, std::vector<std::int32_t>{static_cast<std::int32_t>(sent.size())});
}

TEST_P(TlsTransports, know_their_peer_after_the_handshake) {
  open_both();
  EXPECT_FALSE(layer_of(client_).is_established());
  EXPECT_EQ(layer_of(client_).peer_identity(), "");
  EXPECT_EQ(layer_of(client_).protocol(), "");
  ASSERT_TRUE(until([&] { return layer_of(client_).is_established() && layer_of(server_).is_established(); }));
  EXPECT_EQ(layer_of(client_).peer_identity(), "server.test");
  EXPECT_EQ(layer_of(client_).protocol(), "echo");
  EXPECT_EQ(layer_of(server_).protocol(), "echo");
}

TEST_P(TlsTransports, what_was_read_before_a_layer_was_made_is_what_comes_first_in_it) {
  const auto [near, far] = connect();
  client_.open(over_client(near));
  client_.say("behind the handshake");
  Peer plain;
  plain.open({&engine(), far});
  ASSERT_TRUE(until([&] { return plain.text.size() >= 3; }));
  plain.transport.end_receive();
  ASSERT_TRUE(until([&] { return !plain.transport.is_receiving(); }));

  server_.open(Layers(*server_context_).make(plain.transport.detach(), "", plain.text).value());
  ASSERT_TRUE(until([&] { return server_.text == "behind the handshake"; })) << server_.error << client_.error;
}

TEST_P(TlsTransports, what_was_sent_earlier_in_the_iteration_does_not_wait_for_a_handshake) {
  if (is_sim()) GTEST_SKIP() << "in the simulation, a handshake takes no time";
  const auto [near, far] = connect();
  client_.open(over_client(near));
  Peer plain;
  plain.open({&engine(), far});
  ASSERT_TRUE(until([&] { return plain.text.size() >= 3; }));
  plain.transport.end_receive();
  ASSERT_TRUE(until([&] { return !plain.transport.is_receiving(); }));
  const auto [from, to] = connect();
  Peer other;
  other.open({&engine(), from});
  std::optional<ssize_t> arrived;

  // Three jobs of one iteration: the second is the handshake of the server's layer.
  ASSERT_TRUE(execute(*loop_, [&] { other.say("response"); }));
  server_.open(Layers(*server_context_).make(plain.transport.detach(), "", plain.text).value());
  ASSERT_TRUE(execute(*loop_, [&, receiver = to] {
    char bytes[16];
    arrived = ::recv(receiver, bytes, sizeof bytes, MSG_DONTWAIT);
  }));
  ASSERT_TRUE(until([&] { return arrived.has_value(); }));

  EXPECT_EQ(*arrived, 8);
  engine().close(to);
  other.close();
  EXPECT_TRUE(until([&] { return other.close_if_quiet(); }));
}

TEST_P(TlsTransports, several_parts_leave_with_one_send) {
  establish_both();
  const std::string large = pattern(40'000);
  std::string parts[] = {"one", "", " and ", large, "two", "", std::string(20'000, 'x'), "end"};
  std::string all;
  iovec vectors[8];
  for (int i = 0; i < 8; ++i) {
    vectors[i] = {parts[i].data(), parts[i].size()};
    all += parts[i];
  }
  io::Send send([](io::Op&) noexcept {});
  send.parts = vectors;
  send.part_count = 8;

  client_.transport.send(send);
  ASSERT_TRUE(until([&] { return send.is_idle(); }));

  EXPECT_EQ(send.result, static_cast<std::int32_t>(all.size()));
  ASSERT_TRUE(until([&] { return server_.text.size() >= all.size(); }));
  EXPECT_TRUE(server_.text == all);
}

TEST_P(TlsTransports, what_is_held_outlives_the_call_until_it_is_released) {
  establish_both();
  server_.holds = true;
  client_.say("h");
  ASSERT_TRUE(until([&] { return server_.transport.holds(); }));
  client_.say("later");
  settle();
  EXPECT_EQ(server_.transport.held(), "h");
  EXPECT_EQ(server_.calls, 1);

  server_.holds = false;
  server_.transport.release();
  server_.transport.resume();
  ASSERT_TRUE(until([&] { return server_.text == "later"; }));
}

TEST_P(TlsTransports, while_paused_nothing_arrives_and_nothing_is_lost) {
  const std::string sent = pattern(100'000);
  establish_both();
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

TEST_P(TlsTransports, a_transport_that_is_paused_slows_its_peer_down) {
  establish_both();
  server_.transport.pause();
  client_.say(pattern(16 << 20));
  settle();
  EXPECT_TRUE(client_.results.empty());
  EXPECT_FALSE(client_.send.is_idle());
}

// A client on OpenSSL itself, which does what a layer does not: asks for new keys as often as it likes, and reads
// nothing.
class OpensslClient {
 public:
  OpensslClient(Peer& plain, const std::string& roots)
      : plain_(plain), context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_)) {
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO* const pem = BIO_new_mem_buf(roots.data(), static_cast<int>(roots.size()));
    X509* const root = PEM_read_bio_X509(pem, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), root);
    X509_free(root);
    BIO_free(pem);
    SSL_set_verify(ssl_, SSL_VERIFY_PEER, nullptr);
    X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl_), Host::current().wall_ns() / 1'000'000'000);
    SSL_set_connect_state(ssl_);
  }
  OpensslClient(const OpensslClient&) = delete;
  ~OpensslClient() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  // Takes what has come; whether the handshake is over.
  bool shake() {
    take();
    const bool is_done = SSL_do_handshake(ssl_) == 1;
    give();
    return is_done;
  }
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const int wrote = SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 20)));
      ASSERT_GT(wrote, 0);
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    give();
  }
  void ask_for_new_keys(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(SSL_key_update(ssl_, SSL_KEY_UPDATE_REQUESTED), 1);
      ASSERT_EQ(SSL_do_handshake(ssl_), 1);
    }
    give();
  }
  // What has come, altogether.
  const std::string& read() {
    take();
    char bytes[16 * 1024];
    for (int got = 0; (got = SSL_read(ssl_, bytes, sizeof bytes)) > 0;) text_.append(bytes, static_cast<unsigned>(got));
    return text_;
  }

 private:
  void take() {
    BIO_write(SSL_get_rbio(ssl_), plain_.text.data(), static_cast<int>(plain_.text.size()));
    plain_.text.clear();
  }
  void give() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl_), &bytes);
    if (size > 0) plain_.say({bytes, static_cast<std::size_t>(size)});
    BIO_reset(SSL_get_wbio(ssl_));
  }

  Peer& plain_;
  SSL_CTX* const context_;
  SSL* const ssl_;
  std::string text_;
};

// Each of its requests wants a response, for which there is no room: what it sends behind them cannot be read yet.
TEST_P(TlsTransports, a_peer_that_takes_no_answers_is_slowed_down_as_well) {
  const std::string large = pattern(16 << 20);
  const auto [near, far] = connect();
  client_.open({&engine(), near});
  server_.open(over_server(far));
  OpensslClient client(client_, authority_->pem());
  ASSERT_TRUE(until([&] { return client.shake() && layer_of(server_).is_established(); })) << server_.error;
  client_.transport.pause();
  server_.say(large);
  settle();
  ASSERT_FALSE(server_.send.is_idle());

  constexpr std::size_t piece = 64;
  for (std::size_t at = 0; at < 500 * piece; at += piece) {  // More updates in a row would end the connection.
    client.ask_for_new_keys(10);
    client.write(std::string_view(large).substr(at, piece));
  }
  client.write(std::string_view(large).substr(500 * piece));
  is_sim() ? pass(10_s) : settle();

  EXPECT_FALSE(client_.send.is_idle()) << "it waits in the kernel, not in the layer";
  EXPECT_TRUE(server_.outcomes.empty()) << server_.error;

  client_.transport.resume();
  ASSERT_TRUE(until([&] { return client.read().size() >= large.size() && server_.text.size() >= large.size(); }));
  EXPECT_TRUE(client.read() == large);
  EXPECT_TRUE(server_.text == large);
}

TEST_P(TlsTransports, the_end_of_the_peers_writing_is_not_the_end_of_ours) {
  establish_both();
  client_.say("last words");
  ASSERT_TRUE(until([&] { return !client_.results.empty(); }));
  client_.transport.shutdown_write();
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.text, "last words");
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{0});

  server_.say("an answer");
  ASSERT_TRUE(until([&] { return client_.text == "an answer"; }));
  EXPECT_TRUE(client_.outcomes.empty());
  client_.say("after the end");
  EXPECT_EQ(client_.results.back(), -EPIPE);
}

TEST_P(TlsTransports, receiving_that_is_ended_goes_on_in_another_transport) {
  const std::string sent = pattern(60'000);
  establish_both();
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

TEST_P(TlsTransports, receiving_that_is_cancelled_ends_with_one_call_more) {
  establish_both();
  client_.transport.cancel_receive();
  EXPECT_TRUE(client_.outcomes.empty()) << "not from inside";
  ASSERT_TRUE(until([&] { return !client_.outcomes.empty(); }));
  EXPECT_EQ(client_.outcomes, std::vector<std::int32_t>{-ECANCELED});
  settle();
  EXPECT_EQ(client_.calls, 1);
}

TEST_P(TlsTransports, a_send_that_waits_can_be_cancelled) {
  establish_both();
  server_.transport.pause();
  client_.say(pattern(16 << 20));
  settle();
  client_.transport.cancel(client_.send);
  ASSERT_TRUE(until([&] { return !client_.results.empty(); }));
  EXPECT_EQ(client_.results, std::vector<std::int32_t>{-ECANCELED});
}

TEST_P(TlsTransports, a_send_that_waits_for_the_handshake_can_be_cancelled) {
  const auto [near, far] = connect();
  client_.open(over_client(near));
  client_.say("never");
  EXPECT_FALSE(client_.send.is_idle());
  client_.transport.cancel(client_.send);
  ASSERT_TRUE(until([&] { return !client_.results.empty(); }));
  EXPECT_EQ(client_.results, std::vector<std::int32_t>{-ECANCELED});
  engine().close(far);
}

TEST_P(TlsTransports, shutting_down_ends_the_receiving_and_the_sending) {
  establish_both();
  client_.say("before");
  ASSERT_TRUE(until([&] { return server_.text == "before"; }));
  server_.transport.shutdown();
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{0});
  server_.say("too late");
  ASSERT_TRUE(until([&] { return !server_.results.empty(); }));
  EXPECT_EQ(server_.results, std::vector<std::int32_t>{-EPIPE});
}

TEST_P(TlsTransports, an_end_that_was_not_announced_is_an_error_of_the_receiving) {
  establish_both();
  client_.say("some");
  ASSERT_TRUE(until([&] { return server_.text == "some"; }));
  engine().shutdown_write(client_.transport.descriptor());  // Behind the layer's back.
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(server_.transport.error("receive", -EPROTO).code(), Code::Unavailable);
  EXPECT_TRUE(server_.error.starts_with("the connection was truncated"));

  server_.say("and yet");
  ASSERT_TRUE(until([&] { return client_.text == "and yet"; }));
}

TEST_P(TlsTransports, closing_says_goodbye) {
  establish_both();
  client_.say("some");
  ASSERT_TRUE(until([&] { return server_.text == "some"; }));
  settle();
  server_.closes = true;
  client_.close();
  ASSERT_TRUE(until([&] { return client_.close_if_quiet(); }));
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{0});
  EXPECT_TRUE(server_.is_over());
}

TEST_P(TlsTransports, closing_while_the_peer_takes_nothing_leaves_nothing_behind) {
  establish_both();
  server_.transport.pause();
  client_.say(pattern(16 << 20));
  settle();
  client_.close();
  ASSERT_TRUE(until([&] { return client_.close_if_quiet(); }));
  EXPECT_TRUE(until([&] { return client_context_->use_count() == 1; }, 15_s));
}

TEST_P(TlsTransports, a_failed_handshake_ends_the_receiving_and_the_sending) {
  const auto [near, far] = connect();
  client_.open(over_client(near, "other.test"));
  server_.open(over_server(far));
  client_.say("never sent");
  server_.say("never sent");

  ASSERT_TRUE(until([&] { return !client_.outcomes.empty() && !server_.outcomes.empty(); }));

  EXPECT_EQ(client_.outcomes, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(client_.results, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(client_.error, "the certificate of 'other.test' is for another host: server.test");
  EXPECT_EQ(client_.transport.error("receive", -EPROTO).code(), Code::Unauthenticated);
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(client_.text + server_.text, "");
}

TEST_P(TlsTransports, a_handshake_that_is_cut_is_an_error) {
  const auto [near, far] = connect();
  client_.open(over_client(near));
  client_.say("never sent");
  engine().shutdown_write(far);
  ASSERT_TRUE(until([&] { return !client_.outcomes.empty() && !client_.results.empty(); }));
  EXPECT_EQ(client_.outcomes, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(client_.results, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(client_.error, "the connection ended during the TLS handshake: the peer closed the connection");
  engine().close(far);
}

TEST_P(TlsTransports, a_handshake_has_a_time_limit) {
  const auto [near, far] = connect();
  const ServerContext hurried = ServerContext::make({.certificates = {authority_->issue({.names = {"server.test"}})},
                                                     .handshake_timeout = 500_ms})
                                    .value();
  const Instant begun = now();
  server_.open(Layers(hurried).make({&engine(), far}, "").value());
  server_.say("never sent");
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.outcomes, std::vector<std::int32_t>{-EPROTO});
  EXPECT_EQ(server_.error, "the TLS handshake did not end within 500 ms");
  EXPECT_EQ(server_.transport.error("receive", -EPROTO).code(), Code::DeadlineExceeded);
  EXPECT_GE(now() - begun, 300_ms) << "the loop's time may be that of its last turn";
  engine().close(near);
}

TEST_P(TlsTransports, a_peer_that_speaks_in_clear_text_is_told_so) {
  const auto [near, far] = connect();
  server_.open(over_server(far));
  client_.open({&engine(), near});
  client_.say("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.error, "the peer speaks HTTP without TLS");
}

TEST_P(TlsTransports, are_established_when_what_they_send_leaves) {
  open_both();
  io::Send establishing([](io::Op&) noexcept {});
  EXPECT_FALSE(client_.transport.establish(establishing));
  ASSERT_TRUE(until([&] { return establishing.is_idle(); }));
  EXPECT_EQ(establishing.result, 0);
  EXPECT_TRUE(layer_of(client_).is_established());
  EXPECT_TRUE(client_.transport.establish(establishing));
}

TEST_P(TlsTransports, an_endpoint_that_nobody_has_opened_can_be_closed) {
  const auto [near, far] = connect();
  over_client(near).close();
  server_.open(over_server(far));
  ASSERT_TRUE(until([&] { return !server_.outcomes.empty(); }));
  EXPECT_EQ(server_.error, "the connection ended during the TLS handshake: the peer closed the connection");
}

TEST_P(TlsTransports, files_are_not_sent) {
  establish_both();
  io::SendFile file([](io::Op&) noexcept {});
  EXPECT_TRUE(client_.transport.send(file));
  EXPECT_EQ(file.result, -EOPNOTSUPP);
}

// --- in a simulation -----------------------------------------------------------------------------------------------

// What happens with this seed, as text.
std::string trace_of(std::uint64_t seed) {
  sim::SimOptions options;
  options.seed = seed;
  options.trace_bytes_max = 1 << 20;
  options.short_delivery = 0.1;
  options.long_delay = 0.01;
  sim::Simulation simulation(options);
  io::Loop& loop = simulation.add_loop();
  io::Loop::Entered entered(loop);
  const testing::SeededRandomness randomness;
  testing::Authority authority("Test Root");
  const ServerContext server_context =
      ServerContext::make({.certificates = {authority.issue({.names = {"server.test"}})}}).value();
  const ClientContext client_context = ClientContext::make({.trust = {.pem = authority.pem()}}).value();
  io::Engine& engine = loop.engine();
  Peer client;
  Peer server;
  const int listener = engine.open_listener(Address::parse("127.0.0.1:0").value(), {}).value();
  io::Connect connect([](io::Op&) noexcept {});
  connect.fd = engine.open_stream(AF_INET).value();
  connect.address = engine.local_address(listener);
  engine.submit(connect);
  int accepted = -1;
  EXPECT_TRUE(simulation.run_until(
      [&] {
        if (accepted < 0) accepted = engine.try_accept(listener);
        return accepted >= 0 && connect.is_idle();
      },
      10_s));
  engine.close(listener);
  client.open(Layers(client_context).make({&engine, connect.fd}, "server.test").value());
  server.open(Layers(server_context).make({&engine, accepted}, "").value());
  server.echoes = true;
  client.say(pattern(50'000));
  EXPECT_TRUE(simulation.run_until([&] { return client.text.size() == 50'000; }, 100_s));
  EXPECT_TRUE(client.text == pattern(50'000));
  client.close();
  server.close();
  EXPECT_TRUE(simulation.run_until(
      [&] {
        const bool client_is_quiet = client.close_if_quiet();
        return server.close_if_quiet() && client_is_quiet;
      },
      100_s));
  EXPECT_TRUE(
      simulation.run_until([&] { return server_context.use_count() == 1 && client_context.use_count() == 1; }, 100_s));
  return std::string(simulation.trace_text());
}

TEST(TlsSimulation, is_the_same_for_a_seed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string first = trace_of(seed);
    EXPECT_GT(first.size(), 100u);
    // Tickets bear a time: not the system's.
    if (seed == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    EXPECT_TRUE(trace_of(seed) == first) << seed;
  }
  EXPECT_NE(trace_of(1), trace_of(2));
}

TEST(TlsLayers, hold_what_the_fuzzer_wants) {
  for (int i = 0; i < 128 * 10 * 2; i += 3) {
    // The client does `what` in the handshake, behind it and at the end; time passes (\n).
    const char options = static_cast<char>(i % 128), what = static_cast<char>(i / 128 % 10);
    std::string input{options, options, '\n', i < 1280 ? '`' : 'p', what, '\t', '\3', '\n', '\xff', '\f', '\f', what};
    input += "\a\f\t\f\r\np\a\n\xff";
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  }
}

}  // namespace
}  // namespace keel::tls::layer_test
