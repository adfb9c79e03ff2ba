// A server behind TLS, on every engine.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "keel/http/server/upgrade.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/net/stream.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::http::server_https_test {
namespace {

using namespace internal;
using io::testing::pattern;

Response who(Request& request) {
  return Response::text(Status::Ok, std::string(request.scheme()) + " " + std::string(request.host()) + " '" +
                                        std::string(request.peer_identity()) + "'");
}
Task<Response> who_later(Request& request) {
  co_await sleep_for(1_ms);
  co_return who(request);
}
Task<> echo_bytes(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}

class HttpsServers : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    if (loop_ == nullptr) return;
    authority_.emplace("Test Root");
    router_.get("/who", who).get("/who-later", &who_later);
    router_.get("/socket", [](Request&) { return Response::upgrade("echo", &echo_bytes); });
  }

  tls::KeyPair certificate() { return authority_->issue({.names = {"localhost"}}); }
  void start_https(tls::ServerOptions options = {}, const Limits& limits = {}) {
    if (options.certificates.empty()) options.certificates = {certificate()};
    layers_.emplace(tls::ServerContext::make(options).value());
    options_.https = &*layers_;
    start(limits);
    trust({});
  }
  // Peers from now on believe `authority_`, and prove who they are with `certificate`.
  void trust(const tls::KeyPair& certificate) {
    const tls::ClientOptions options = {.trust = {.pem = authority_->pem()}, .certificate = certificate};
    clients_.push_back(std::make_unique<tls::Layers>(tls::ClientContext::make(options).value()));
  }
  Peer& https_peer() {
    peers_.push_back(std::make_unique<Peer>(*loop_, server_->address(), clients_.back().get()));
    return *peers_.back();
  }
  Peer& plain_peer() {
    peers_.push_back(std::make_unique<Peer>(*loop_, server_->address(), nullptr));
    return *peers_.back();
  }
  Reply ask_securely(const std::string& wire) {
    Peer& one = https_peer();
    one.send(wire);
    EXPECT_TRUE(has_replies(one, 1)) << wire << one.error();
    const auto all = one.all();
    close(one);
    return all.empty() ? Reply() : all.front();
  }

  std::optional<tls::testing::Authority> authority_;  // By the calendar of the test.
  std::optional<tls::Layers> layers_;
  std::vector<std::unique_ptr<tls::Layers>> clients_;
};
INSTANTIATE_TEST_SUITE_P(, HttpsServers, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(HttpsServers, answer_and_say_that_it_was_https) {
  start_https();
  Peer& one = https_peer();
  one.send(get("/who") + get("/who-later") + post("/echo", pattern(300'000)));
  ASSERT_TRUE(has_replies(one, 3));
  EXPECT_EQ(one.all()[0].body, "https a ''");
  EXPECT_EQ(one.all()[1].body, "https a ''");
  EXPECT_TRUE(one.all()[2].body == pattern(300'000));
  EXPECT_EQ(one.all()[0].field("Strict-Transport-Security"), "");
  one.send(get("/large"));
  ASSERT_TRUE(has_replies(one, 4));
  EXPECT_TRUE(one.all()[3].body == large);
}

TEST_P(HttpsServers, serve_targets_of_https_and_of_no_other_scheme) {
  start_https();
  EXPECT_EQ(ask_securely("GET https://a/who HTTP/1.1\r\nHost: a\r\n\r\n").body, "https a ''");
  EXPECT_EQ(ask_securely("GET http://a/who HTTP/1.1\r\nHost: a\r\n\r\n").status, 421);
  EXPECT_EQ(ask_securely(get("/who", "X-Forwarded-Proto: http\r\n")).body, "https a ''");
}

TEST_P(HttpsServers, tell_browsers_to_come_back_by_https) {
  options_.hsts_max_age = 24_h;
  router_.get("/own",
              [](Request&) { return Response::text(Status::Ok, "").header("Strict-Transport-Security", "max-age=1"); });
  start_https();
  EXPECT_EQ(ask_securely(get("/plaintext")).field("Strict-Transport-Security"), "max-age=86400");
  EXPECT_EQ(ask_securely(get("/unknown")).field("Strict-Transport-Security"), "max-age=86400");
  EXPECT_EQ(ask_securely(get("/own")).field("Strict-Transport-Security"), "max-age=1");
}

TEST_P(HttpsServers, know_clients_by_their_certificates) {
  start_https({.client_certificates = tls::ClientCertificates::Required, .clients = {.pem = authority_->pem()}});
  trust(authority_->issue({.common_name = "ada", .uris = {"spiffe://test/ada"}}));
  EXPECT_EQ(ask_securely(get("/who")).body, "https a 'spiffe://test/ada'");
  EXPECT_EQ(ask_securely(get("/who-later")).body, "https a 'spiffe://test/ada'");
  EXPECT_EQ(server_->stats().handshakes_failed, 0u);

  trust({});
  Peer& stranger = https_peer();
  stranger.send(get("/who"));
  ASSERT_TRUE(until([&] { return stranger.has_ended(); }));
  EXPECT_EQ(stranger.wire(), "");
  EXPECT_EQ(server_->stats().handshakes_failed, 1u);
  EXPECT_EQ(server_->stats().requests, 2u);
}

TEST_P(HttpsServers, tell_a_client_that_speaks_http_to_use_https) {
  const std::string answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhttps";
  start_https({.response_to_http = answer});
  Peer& plain = plain_peer();
  plain.send(get("/plaintext"));
  ASSERT_TRUE(until([&] { return plain.has_ended(); }));
  // In the simulation what the client still sends may reset what it is told.
  if (!is_sim() || plain.error() == 0) {
    EXPECT_EQ(plain.wire(), answer);
  }
  EXPECT_EQ(server_->stats().handshakes_failed, 1u);
  EXPECT_EQ(server_->stats().requests, 0u);
}

TEST_P(HttpsServers, end_what_is_no_handshake) {
  start_https();
  Peer& other = plain_peer();
  other.send("SSH-2.0-OpenSSH_9.2\r\n");
  Peer& gone = plain_peer();
  ASSERT_TRUE(until([&] { return gone.is_connected(); }));
  settle();
  reset(gone);
  ASSERT_TRUE(until([&] { return other.has_ended() && server_->stats().connections == 0; }));
  EXPECT_EQ(server_->stats().handshakes_failed, 2u);
}

TEST_P(HttpsServers, give_a_handshake_its_time_and_no_more) {
  start_https({.handshake_timeout = 200_ms});
  Peer& mute = plain_peer();
  Peer& slow = plain_peer();
  slow.send("\x16\x03\x01");
  const Instant began = now();
  ASSERT_TRUE(until([&] { return mute.has_ended() && slow.has_ended(); }));
  EXPECT_GE((now() - began).count_ms(), 190);
  EXPECT_EQ(server_->stats().handshakes_failed, 2u);
  EXPECT_EQ(ask_securely(get("/who")).status, 200);
}

TEST_P(HttpsServers, count_the_handshakes_that_wait) {
  start_https();
  std::vector<Peer*> burst;
  for (int i = 0; i < 12; ++i) {
    burst.push_back(&https_peer());
    burst.back()->send(get("/who"));
  }
  std::uint64_t most = 0;
  const auto are_served = [&] {
    most = std::max(most, server_->stats().handshakes_waiting);
    return std::ranges::all_of(burst, [](const Peer* peer) { return !peer->wire().empty(); });
  };
  ASSERT_TRUE(until(are_served));
  EXPECT_GE(most, 1u);
  EXPECT_LE(most, burst.size());
  EXPECT_EQ(server_->stats().handshakes_waiting, 0u);
}

TEST_P(HttpsServers, close_connections_that_do_not_shake_hands_for_others) {
  Limits limits;
  limits.connections_max = 3;
  limits.client_connections_max = 10;
  start_https({}, limits);
  for (int i = 0; i < 3; ++i) plain_peer();
  ASSERT_TRUE(until([&] { return server_->stats().connections == 3; }));
  Peer& newcomer = https_peer();
  newcomer.send(get("/who"));
  ASSERT_TRUE(has_replies(newcomer, 1));
  EXPECT_GE(server_->stats().idle_closed, 1u);
}

TEST_P(HttpsServers, use_another_certificate_from_now_on) {
  start_https();
  Peer& before = https_peer();
  before.send(get("/who"));
  ASSERT_TRUE(has_replies(before, 1));

  tls::testing::Authority renewed("Another Root");
  const tls::ServerOptions options = {.certificates = {renewed.issue({.names = {"localhost"}})}};
  layers_->set_context(tls::ServerContext::make(options).value());
  Peer& unbelieving = https_peer();
  unbelieving.send(get("/who"));
  ASSERT_TRUE(until([&] { return unbelieving.has_ended(); }));
  EXPECT_EQ(unbelieving.error(), EPROTO);
  const tls::ClientOptions trusting = {.trust = {.pem = renewed.pem()}};
  clients_.push_back(std::make_unique<tls::Layers>(tls::ClientContext::make(trusting).value()));
  EXPECT_EQ(ask_securely(get("/who")).status, 200);

  before.send(get("/who"));
  ASSERT_TRUE(has_replies(before, 2));
}

TEST_P(HttpsServers, leave_http_for_another_protocol) {
  start_https();
  Peer& one = https_peer();
  one.send("GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst ");
  one.send("second");
  ASSERT_TRUE(until([&] { return one.wire().ends_with("first second"); })) << one.wire();
  one.finish_writing();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.error(), 0);
}

TEST_P(HttpsServers, let_pages_of_https_alone_ask_for_another_protocol) {
  start_https();
  const auto asking = [](const std::string& origin) {
    return "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\nOrigin: " + origin + "\r\n\r\n";
  };
  EXPECT_EQ(ask_securely(asking("http://a")).status, 403);
  Peer& one = https_peer();
  one.send(asking("https://a"));
  ASSERT_TRUE(until([&] { return one.wire().starts_with("HTTP/1.1 101 "); })) << one.wire();
}

TEST_P(HttpsServers, drain_and_say_goodbye) {
  start_https();
  held_back = true;
  Peer& idle = https_peer();
  Peer& busy = https_peer();
  Peer& shaking = plain_peer();
  busy.send(get("/held"));
  idle.send(get("/who"));
  ASSERT_TRUE(has_replies(idle, 1));
  ASSERT_TRUE(until([&] { return handlers_running == 1 && shaking.is_connected(); }));
  server_->begin_drain(50_ms);
  settle();
  held_back = false;
  ASSERT_TRUE(until([&] { return server_->is_drained(); }));
  ASSERT_TRUE(until([&] { return idle.has_ended() && busy.has_ended() && shaking.has_ended(); }));
  ASSERT_EQ(busy.all().size(), 1u);
  EXPECT_TRUE(busy.all()[0].closes());
  // Both were told that nothing more comes: an end without that would be an error.
  EXPECT_EQ(idle.error(), 0);
  EXPECT_EQ(busy.error(), 0);
}

TEST_P(HttpsServers, reset_a_client_that_does_not_take_its_answer) {
  Limits limits;
  limits.send_timeout = 300_ms;
  limits.send_rate_min = 0;
  start_https({}, limits);
  Peer& one = https_peer();
  one.send(get("/who"));
  ASSERT_TRUE(has_replies(one, 1));
  one.pause();
  one.send(get("/large") + get("/large") + get("/large"));
  ASSERT_TRUE(until([&] { return server_->stats().slow_readers == 1 && server_->stats().connections == 0; }));
}

TEST_P(HttpsServers, wait_for_a_client_that_takes_its_answer_slowly) {
  Limits limits;
  limits.send_timeout = 300_ms;
  limits.send_rate_min = 0;
  start_https({}, limits);
  Peer& one = https_peer();
  one.send(get("/large"));
  const Instant began = now();
  ASSERT_TRUE(until([&] { return !one.wire().empty(); }));
  // Some of it, and then a pause that is shorter than the timeout, for longer than the timeout.
  while (one.wire().size() < large.size() && now() - began < 2_s) {
    one.pause();
    const Instant until_then = now() + 100_ms;
    ASSERT_TRUE(until([&] { return now() >= until_then; }));
    one.resume();
    settle();
  }
  ASSERT_TRUE(has_replies(one, 1));
  EXPECT_TRUE(one.all()[0].body == large);
  EXPECT_EQ(server_->stats().slow_readers, 0u);
}

}  // namespace

// With KEEL_TESTS_OVER_TLS set, the suites of this program that ask a whole server do so over TLS.
namespace {

std::optional<tls::Layers> of_every_server;
std::optional<tls::Layers> of_every_peer;

// By the calendar of the test that begins.
void put_tls_over_all() {
  tls::testing::Authority authority("Test Root");
  const tls::ServerOptions server = {.certificates = {authority.issue({.names = {"localhost"}})}};
  const tls::ClientOptions client = {.trust = {.pem = authority.pem()}};
  of_every_server.emplace(tls::ServerContext::make(server).value());
  of_every_peer.emplace(tls::ClientContext::make(client).value());
  internal::server_layers = &*of_every_server;
  internal::peer_layers = &*of_every_peer;
}

class OverTls final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("KEEL_TESTS_OVER_TLS") != nullptr) internal::prepare_layers = &put_tls_over_all;
  }
};
const ::testing::Environment* const over_tls = ::testing::AddGlobalTestEnvironment(new OverTls);

}  // namespace
}  // namespace keel::http::server_https_test
