// Messages over TLS, on every engine: both sides prove who they are.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "keel/net/messages/internal/messages_test.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::messages::tls_test {
namespace {

using namespace messages::testing;

class MessagesOverTls : public MessagesTest {
 protected:
  void SetUp() override {
    MessagesTest::SetUp();
    if (loop_ == nullptr) return;
    authority_.emplace("Test Root");  // By the calendar of this loop.
    const tls::ServerOptions server = {.certificates = {authority_->issue({.names = {"server.test"}})},
                                       .client_certificates = tls::ClientCertificates::Required,
                                       .clients = {.pem = authority_->pem()}};
    const tls::ClientOptions client = {.trust = {.pem = authority_->pem()},
                                       .certificate = authority_->issue({.names = {"device-7.test"}})};
    server_layers_ = std::make_unique<tls::Layers>(tls::ServerContext::make(server).value());
    client_layers_ = std::make_unique<tls::Layers>(tls::ClientContext::make(client).value());
    server_options_.layers = server_layers_.get();
    serve();
  }
  Task<Client> connect_as(Stream stream, std::string host) {
    ClientOptions options;
    options.handlers = &client_handlers_;
    options.layers = client_layers_.get();
    options.host = host;
    co_return co_await Client::over(std::move(stream), options);
  }
  std::optional<tls::testing::Authority> authority_;
  std::unique_ptr<tls::Layers> server_layers_, client_layers_;
};
INSTANTIATE_TEST_SUITE_P(, MessagesOverTls, keel::internal::every_engine(), keel::internal::name_of_engine);

TEST_P(MessagesOverTls, know_who_the_peer_is) {
  auto [one, other] = pair();
  server_->add(std::move(other));
  Result<Client> made = run(connect_as(std::move(one), "server.test"));
  ASSERT_TRUE(made) << made.error().describe();
  client_.emplace(*std::move(made));
  ASSERT_TRUE(until([&] { return peer_ != nullptr; }));
  EXPECT_EQ(peer_->identity(), "device-7.test");
  EXPECT_EQ(ask<Sum>(client(), Add{2, 3})->value, 5);
  const std::string large(200'000, 'x');
  ASSERT_TRUE(client().try_send(Text{large}));
  ASSERT_TRUE(until([&] { return texts_.size() == 1; }));
  EXPECT_EQ(texts_[0].size(), large.size());
}

TEST_P(MessagesOverTls, do_not_speak_with_another_server) {
  auto [one, other] = pair();
  server_->add(std::move(other));
  const Result<Client> made = run(connect_as(std::move(one), "bank.test"));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Code::Unauthenticated) << made.error().describe();
}

}  // namespace
}  // namespace keel::messages::tls_test
