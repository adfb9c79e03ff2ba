// Servers that are asked over TLS.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "keel/http/testing/internal/client_testing.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::http::client_https_test {
namespace {

using namespace internal;

class HttpsClients : public ClientTest {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    if (loop_ == nullptr) return;
    tls::testing::Authority authority("Test Root");
    const tls::KeyPair pair = authority.issue({.names = {"shop.example"}, .addresses = {"127.0.0.1"}});
    server_layers_.emplace(tls::ServerContext::make({.certificates = {pair}}).value());
    client_layers_.emplace(tls::ClientContext::make({.trust = {.pem = authority.pem()}}).value());
    raw_ = std::make_unique<RawServer>(&*server_layers_);
  }
  Client& https_client(ClientOptions options = {}) {
    options.pool.https = &*client_layers_;
    return client(std::move(options));
  }
  // The server's URL, by another name for the same machine.
  std::string url_of(const std::string& host) const {
    const std::string url = raw_->url();
    return "https://" + host + url.substr(url.rfind(':'));
  }

  std::optional<tls::Layers> server_layers_;
  std::optional<tls::Layers> client_layers_;
};
INSTANTIATE_TEST_SUITE_P(, HttpsClients, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(HttpsClients, ask_and_keep_the_connection) {
  const std::string large = io::testing::pattern(300'000);
  raw_->plays = {{RawServer::ok("first")}, {RawServer::ok(large)}, {RawServer::ok("posted")}};

  const auto first = run(https_client().get(raw_->url("/secret?token=1")));
  ASSERT_TRUE(first) << first.error().describe();
  EXPECT_EQ(first->body(), "first");
  settle();
  const auto second = run(client().get(raw_->url()));
  ASSERT_TRUE(second) << second.error().describe();
  EXPECT_TRUE(second->body() == large);
  ClientRequest post(Method::Post, raw_->url());
  post.body(large, "text/plain");
  const auto third = run(client().send(std::move(post)));
  ASSERT_TRUE(third) << third.error().describe();

  EXPECT_EQ(raw_->connections, 1);
  ASSERT_EQ(raw_->requests.size(), 3u);
  EXPECT_TRUE(raw_->requests[0].starts_with("GET /secret?token=1 HTTP/1.1\r\nHost: 127.0.0.1:")) << raw_->requests[0];
  EXPECT_TRUE(raw_->requests[2].ends_with(large));
}

TEST_P(HttpsClients, ask_a_host_by_its_name) {
  raw_->plays = {{RawServer::ok("the shop")}};
  const auto answer = run(https_client().get(url_of("shop.example")));
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->body(), "the shop");
}

TEST_P(HttpsClients, do_not_tell_a_server_that_is_another_anything) {
  raw_->plays = {{RawServer::ok("stolen")}};
  const auto answer = run(https_client().get(url_of("bank.example")));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::Upstream);
  EXPECT_NE(answer.error().message().find(
                "TLS with 'bank.example': the certificate of 'bank.example' is for another host: shop.example"),
            std::string_view::npos)
      << answer.error().describe();
  EXPECT_EQ(problem(answer.error()).status(), Status::BadGateway);
  EXPECT_TRUE(raw_->requests.empty());
  EXPECT_EQ(client().stats().retries, 0u);
}

TEST_P(HttpsClients, a_server_without_tls_is_an_error_of_upstream) {
  RawServer plain;
  plain.plays = {{RawServer::ok("in clear text")}};
  const std::string url = plain.url();
  // It waits for the end of a line, which a handshake may not have: whatever comes of it, it is no response.
  const auto answer = run(https_client({.pool = {.connect_timeout = 200_ms}}).get("https" + url.substr(4)));
  ASSERT_FALSE(answer);
  EXPECT_TRUE(answer.error().code() == Code::Upstream || answer.error().code() == Code::DeadlineExceeded)
      << answer.error().describe();
  plain.stop();
  EXPECT_TRUE(until([&] { return plain.has_ended(); }));
}

TEST_P(HttpsClients, a_kept_connection_that_was_closed_is_replaced) {
  raw_->plays = {{.reply = RawServer::ok("first"), .closes = true}, {RawServer::ok("second")}};
  ASSERT_TRUE(run(https_client().get(raw_->url())));
  settle();
  const auto second = run(client().get(raw_->url()));
  ASSERT_TRUE(second) << second.error().describe();
  EXPECT_EQ(second->body(), "second");
  EXPECT_EQ(raw_->connections, 2);
}

TEST_P(HttpsClients, a_handshake_counts_for_connect_timeout) {
  Listener mute = Listener::bind(Address::parse("127.0.0.1:0").value()).value();
  const auto answer = run(https_client({.pool = {.connect_timeout = 100_ms}, .retry = {.attempts_max = 1}})
                              .get("https://" + mute.address().to_string() + "/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::DeadlineExceeded);
  EXPECT_NE(answer.error().message().find("took longer than connect_timeout"), std::string_view::npos)
      << answer.error().describe();
}

TEST_P(HttpsClients, follow_a_redirect_from_http_to_https) {
  raw_->plays = {{RawServer::ok("securely")}};
  RawServer plain;
  plain.plays = {{RawServer::answer("301 Moved Permanently", "", "Location: " + raw_->url("/new") + "\r\n")}};
  const auto answer = run(https_client().get(plain.url()));
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->body(), "securely");
  EXPECT_EQ(answer->url(), raw_->url("/new"));
  plain.stop();
  EXPECT_TRUE(until([&] { return plain.has_ended(); }));
}

}  // namespace
}  // namespace keel::http::client_https_test
