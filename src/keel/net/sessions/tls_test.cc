// Sessions over TLS, on every engine: who a client is comes from its certificate, and they are resumed over another
// handshake.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "keel/net/sessions/internal/sessions_test.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::sessions::tls_test {
namespace {

using namespace testing;

class SessionsOverTls : public SessionsTest {
 protected:
  void SetUp() override {
    SessionsTest::SetUp();
    if (loop_ == nullptr) return;
    authority_.emplace("Test Root");  // By the calendar of this loop.
    const tls::ServerOptions server = {.certificates = {authority_->issue({.names = {"server.test"}})},
                                       .client_certificates = tls::ClientCertificates::Required,
                                       .clients = {.pem = authority_->pem()}};
    of_server_ = std::make_unique<tls::Layers>(tls::ServerContext::make(server).value());
    of_client_ = client_with(authority_->pem(), authority_->issue({.names = {"device-7.test"}}));
  }
  static std::unique_ptr<tls::Layers> client_with(const std::string& roots, tls::KeyPair certificate) {
    const tls::ClientOptions options = {.trust = {.pem = roots}, .certificate = std::move(certificate)};
    return std::make_unique<tls::Layers>(tls::ClientContext::make(options).value());
  }
  TransportLayers* server_layers() override { return of_server_.get(); }
  TransportLayers* client_layers() override { return of_client_.get(); }
  void start_client_of(std::string_view host) {
    std::string text(host);
    ClientOptions options = client_options();
    options.connection.host = text;
    start_client(std::move(options));
    text.assign(text.size(), '?');  // The client has a copy.
  }
  void connect_by_tls() {
    ServerOptions options;
    options.authenticate = [](const Greeting& client) -> Task<std::string> {
      co_return std::string(client.peer.identity());
    };
    start_server(std::move(options));
    start_client_of("server.test");
    ASSERT_TRUE(until([&] { return is_connected(); }));
  }
  std::optional<tls::testing::Authority> authority_;
  std::unique_ptr<tls::Layers> of_server_, of_client_, without_;
};
INSTANTIATE_TEST_SUITE_P(, SessionsOverTls, keel::internal::every_engine(), keel::internal::name_of_engine);

TEST_P(SessionsOverTls, have_the_name_that_the_certificate_proves) {
  connect_by_tls();
  const std::string large(300'000, 'x');
  ASSERT_TRUE(say(large));
  ASSERT_TRUE(session()->send(Text{large}));

  ASSERT_TRUE(until([&] { return at_server_.size() == 1 && at_client_.size() == 1; }));

  EXPECT_EQ(at_server_[0], large);
  EXPECT_EQ(at_client_[0], large);
  EXPECT_EQ(session()->name(), "device-7.test") << "and not what it calls itself";
}

TEST_P(SessionsOverTls, are_resumed_over_another_handshake_and_lose_nothing) {
  connect_by_tls();
  Texts expected;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 20; ++i) {
      expected.push_back(std::to_string(round * 20 + i));
      ASSERT_TRUE(say(expected.back()));
      ASSERT_TRUE(session()->send(Text{expected.back()}));
    }
    cut();
    ASSERT_TRUE(until([&] { return (*client_)->stats().resumed == static_cast<std::uint64_t>(round + 1); }));
  }

  ASSERT_TRUE(until([&] { return at_server_.size() == 80 && at_client_.size() == 80; }));

  EXPECT_EQ(at_server_, expected);
  EXPECT_EQ(at_client_, expected);
  EXPECT_EQ(registry_->stats().resumed, 4u);
  EXPECT_EQ(registry_->stats().lost, 0u);
}

TEST_P(SessionsOverTls, do_not_begin_with_another_server_or_without_a_certificate) {
  start_server();
  start_client_of("bank.test");
  pass(50_ms);
  EXPECT_FALSE((*client_)->is_connected());
  stop_client();

  without_ = client_with(authority_->pem(), {});
  std::swap(of_client_, without_);
  start_client_of("server.test");
  pass(50_ms);
  EXPECT_FALSE((*client_)->is_connected());
  stop_client();
  EXPECT_EQ(registry_->stats().begun, 0u);
}

}  // namespace
}  // namespace keel::sessions::tls_test
