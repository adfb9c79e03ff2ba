// Servers that are asked through an HTTP proxy: by a tunnel where they have https, else by requests that it forwards.

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/data/base64.h"
#include "keel/http/testing/internal/client_testing.h"
#include "keel/net/address_guard.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::http::client_proxy_test {
namespace {

using namespace internal;
using io::testing::Which;

// Answers CONNECT with what it was told to, and where that is a tunnel, opens one to that port of this machine.
class TunnelProxy {
 public:
  struct Play {
    std::string reply = "HTTP/1.1 200 Connection established\r\n\r\n";
    bool closes = false;     // After it.
    bool in_pieces = false;  // Each byte is sent alone.
  };

  TunnelProxy() : listener_(Listener::bind(Address::parse("127.0.0.1:0").value()).value()) {
    serving_.begin(serve(), [](StartCore&) noexcept {});
  }
  ~TunnelProxy() { EXPECT_TRUE(serving_.has_ended()) << "stop() comes before"; }
  void stop() { serving_.stop(); }
  bool has_ended() const { return serving_.has_ended(); }
  std::string url(const std::string& user_info = "") const { return "http://" + user_info + name().substr(7); }
  // Without who asks.
  std::string name() const { return "http://127.0.0.1:" + std::to_string(listener_.address().port()); }

  std::deque<Play> plays = {Play()};  // The last one stays.
  std::vector<std::string> requests;
  int connections = 0;

 private:
  Task<> serve() {
    Scope peers;
    while (true) {
      Stream stream = co_await listener_.accept();
      ++connections;
      peers.spawn(talk(std::move(stream)), OnError::Ignore);
    }
  }
  Task<> talk(Stream client) {
    const Chunk head = co_await client.read_until("\r\n\r\n", 64 * 1024);
    if (head.empty()) co_return;
    requests.emplace_back(head);
    const std::string place = requests.back().substr(8, requests.back().find(" HTTP/1.1") - 8);
    const Play play = plays.front();
    if (plays.size() > 1) plays.pop_front();
    const std::size_t piece = play.in_pieces ? 1 : std::max<std::size_t>(play.reply.size(), 1);
    for (std::size_t at = 0; at < play.reply.size(); at += piece) {
      co_await client.write(std::string_view(play.reply).substr(at, piece));
      if (play.in_pieces) co_await sleep_for(100_us);
    }
    if (play.closes) co_return;
    const Address to =
        Address::ip("127.0.0.1", static_cast<std::uint16_t>(std::stoi(place.substr(place.rfind(':') + 1)))).value();
    Stream server = co_await Stream::connect(to);
    Scope both;
    both.spawn(copy(client, server), OnError::Ignore);
    both.spawn(copy(server, client), OnError::Ignore);
    co_await both.join();
  }
  static Task<> copy(Stream& from, Stream& to) {
    while (true) {
      const Chunk chunk = co_await from.receive();
      if (chunk.empty()) break;
      co_await to.write(chunk);
    }
    to.shutdown_write();
  }

  Listener listener_;
  Start<void> serving_;
};

class ClientProxies : public ClientTest {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    if (loop_ == nullptr) return;
    tls::testing::Authority authority("Test Root");
    const tls::KeyPair pair = authority.issue({.names = {"shop.example"}, .addresses = {"127.0.0.1"}});
    server_layers_.emplace(tls::ServerContext::make({.certificates = {pair}}).value());
    client_layers_.emplace(tls::ClientContext::make({.trust = {.pem = authority.pem()}}).value());
    raw_ = std::make_unique<RawServer>(&*server_layers_);
    raw_->plays = {{RawServer::ok("from the server")}};
    proxy_ = std::make_unique<TunnelProxy>();
  }
  void TearDown() override {
    client_.reset();
    if (proxy_ != nullptr) {
      proxy_->stop();
      EXPECT_TRUE(until([&] { return proxy_->has_ended(); }));
      proxy_.reset();
    }
    ClientTest::TearDown();
  }
  Client& through_proxy(ClientOptions options = {}) {
    options.pool.https = &*client_layers_;
    if (options.proxy.empty()) options.proxy = proxy_->url();
    return client(std::move(options));
  }
  Client& once_through_proxy() { return through_proxy({.retry = {.attempts_max = 1}}); }
  // "shop.example:PORT" of the server.
  std::string place(const std::string& host = "shop.example") const {
    const std::string url = raw_->url("");
    return host + url.substr(url.rfind(':'));
  }
  std::string shop(const std::string& target = "/") const { return "https://" + place() + target; }
  // What an error says, all of it.
  static std::string said(const Result<ClientResponse>& answer) {
    return answer ? "answered " + std::string(answer->body()) : std::string(answer.error().describe());
  }

  std::optional<tls::Layers> server_layers_;
  std::optional<tls::Layers> client_layers_;
  std::unique_ptr<TunnelProxy> proxy_;
};
INSTANTIATE_TEST_SUITE_P(, ClientProxies,
                         ::testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::SimWithFaults),
                         io::testing::name_of_engine);

// --- Tunnels: https.

TEST_P(ClientProxies, open_a_tunnel_to_a_server_with_https_and_keep_it) {
  const std::string large = io::testing::pattern(300'000);
  raw_->plays = {{RawServer::ok("first")}, {RawServer::ok(large)}, {RawServer::ok("posted")}};

  const auto first = run(through_proxy().get(shop("/secret?token=1")));
  ASSERT_TRUE(first) << first.error().describe();
  EXPECT_EQ(first->body(), "first");
  EXPECT_EQ(first->url(), shop("/secret?token=1"));
  settle();
  const auto second = run(client().get(shop()));
  ASSERT_TRUE(second) << second.error().describe();
  EXPECT_TRUE(second->body() == large);
  ClientRequest post(Method::Post, shop());
  post.body(large, "text/plain");
  const auto third = run(client().send(std::move(post)));
  ASSERT_TRUE(third) << third.error().describe();

  ASSERT_EQ(proxy_->requests.size(), 1u);
  EXPECT_EQ(proxy_->requests[0], "CONNECT " + place() + " HTTP/1.1\r\nHost: " + place() + "\r\n\r\n");
  EXPECT_EQ(raw_->connections, 1);
  ASSERT_EQ(raw_->requests.size(), 3u);
  EXPECT_TRUE(raw_->requests[0].starts_with("GET /secret?token=1 HTTP/1.1\r\nHost: " + place() + "\r\n"))
      << raw_->requests[0];
  EXPECT_TRUE(raw_->requests[2].ends_with(large));
}

TEST_P(ClientProxies, keep_a_tunnel_for_each_server) {
  ASSERT_TRUE(run(through_proxy().get(shop("/1"))));
  ASSERT_TRUE(run(client().get(raw_->url("/2"))));
  ASSERT_TRUE(run(client().get(shop("/3"))));
  EXPECT_EQ(proxy_->connections, 2);
  ASSERT_EQ(proxy_->requests.size(), 2u);
  EXPECT_TRUE(proxy_->requests[1].starts_with("CONNECT " + place("127.0.0.1") + " ")) << proxy_->requests[1];
}

TEST_P(ClientProxies, want_the_certificate_of_the_server_in_a_tunnel) {
  const auto answer = run(through_proxy().get("https://" + place("bank.example") + "/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::Upstream);
  EXPECT_NE(said(answer).find("the certificate of 'bank.example' is for another host: shop.example"), std::string::npos)
      << said(answer);
  EXPECT_TRUE(raw_->requests.empty());
}

TEST_P(ClientProxies, tell_the_proxy_who_they_are_and_nobody_else) {
  ASSERT_TRUE(run(through_proxy({.proxy = proxy_->url("us%40er:pass%3Aword@")}).get(shop())));
  ASSERT_EQ(proxy_->requests.size(), 1u);
  EXPECT_NE(
      proxy_->requests[0].find("\r\nProxy-Authorization: Basic " +
                               base64::encode(std::string_view("us@er:pass:word"), base64::Form::Standard) + "\r\n"),
      std::string::npos)
      << proxy_->requests[0];
  ASSERT_EQ(raw_->requests.size(), 1u);
  EXPECT_EQ(raw_->requests[0].find("Proxy-Authorization"), std::string::npos) << raw_->requests[0];
}

TEST_P(ClientProxies, do_not_tell_the_proxy_what_is_asked_of_the_server) {
  ClientRequest request(Method::Get, shop("/secret"));
  request.header("Authorization", "Bearer hidden").header("X-Tenant", "hidden");
  ASSERT_TRUE(run(through_proxy().send(std::move(request))));
  EXPECT_EQ(proxy_->requests[0].find("hidden"), std::string::npos) << proxy_->requests[0];
  EXPECT_EQ(proxy_->requests[0].find("secret"), std::string::npos) << proxy_->requests[0];
}

TEST_P(ClientProxies, do_not_take_a_refusal_of_the_proxy_for_the_response) {
  struct {
    const char* reply;
    Code code;
    const char* said;
  } const cases[] = {
      {"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 4\r\n\r\nwho?",
       Code::Upstream, "it responded with 407 Proxy Authentication Required: the proxy rejects this user and password"},
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", Code::Upstream, "it responded with 403 Forbidden"},
      {"HTTP/1.0 404 Not Found\r\n\r\n", Code::Upstream, "it responded with 404 Not Found"},
      {"HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\n\r\n", Code::Upstream, "it responded with 302 Found"},
      {"HTTP/1.1 502 Bad Gateway\r\n\r\n", Code::Unavailable, "it responded with 502 Bad Gateway"},
      {"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\r\n", Code::Unavailable,
       "it responded with 503 Service Unavailable"},
      {"HTTP/1.1 599 What\r\n\r\n", Code::Unavailable, "it responded with 599"},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", Code::Upstream, "its response is malformed"},
      {"HTTP/2 200\r\n\r\n", Code::Upstream, "its response is malformed"},
      {"HTTP/1.1 101 Switching Protocols\r\n\r\n", Code::Upstream, "its response is malformed"},
      {"", Code::Unavailable, "it closed the connection before it sent a response"},
      {"HTTP/1.1 200 OK\r\n", Code::Unavailable, "it closed the connection before it sent a response"},
      {"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged", Code::Upstream,
       "it sent further bytes after its response"},
  };
  ClientOptions options{.proxy = proxy_->url("user:secret@"), .retry = {.attempts_max = 1}};
  options.breaker.failure_ratio = 2;
  for (const auto& each : cases) {
    proxy_->plays = {{.reply = each.reply, .closes = true}};
    const auto answer = run(through_proxy(options).get(shop()));
    ASSERT_FALSE(answer) << each.reply;
    // Its bytes may come in two: then it has ended before TLS could begin.
    EXPECT_TRUE(answer.error().code() == each.code || std::string_view(each.said).ends_with("its response"))
        << said(answer);
    EXPECT_NE(said(answer).find("CONNECT " + place() + " through the proxy " + proxy_->name()), std::string::npos)
        << said(answer);
    EXPECT_NE(said(answer).find(each.said), std::string::npos) << each.reply << said(answer);
    EXPECT_EQ(said(answer).find("secret"), std::string::npos) << said(answer);
    EXPECT_EQ(said(answer).find("forged"), std::string::npos) << said(answer);
    EXPECT_TRUE(problem(answer.error()).status() == Status::BadGateway ||
                problem(answer.error()).status() == Status::ServiceUnavailable);
  }
  EXPECT_EQ(raw_->connections, 0);
}

TEST_P(ClientProxies, say_that_a_proxy_wants_credentials) {
  proxy_->plays = {{.reply = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"}};
  const auto answer = run(through_proxy().get(shop()));
  EXPECT_NE(said(answer).find(
                "it responded with 407 Proxy Authentication Required: the proxy requires a user and a password"),
            std::string::npos)
      << said(answer);
  EXPECT_EQ(client().stats().retries, 0u);
}

TEST_P(ClientProxies, reject_a_response_with_a_head_that_is_too_large) {
  proxy_->plays = {{.reply = "HTTP/1.1 200 OK\r\nX-Filler: " + std::string(70'000, 'x') + "\r\n\r\n"}};
  const auto answer = run(once_through_proxy().get(shop()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::Upstream);
  EXPECT_NE(said(answer).find("its response is malformed"), std::string::npos) << said(answer);
}

TEST_P(ClientProxies, fail_wherever_the_response_to_connect_is_cut) {
  const std::string whole = "HTTP/1.1 200 OK\r\nVia: 1.1 proxy\r\n\r\n";
  ClientOptions options{.retry = {.attempts_max = 1}};
  options.breaker.failure_ratio = 2;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    proxy_->plays = {{.reply = whole.substr(0, size), .closes = true, .in_pieces = size % 2 == 0}};
    const auto answer = run(through_proxy(options).get(shop()));
    ASSERT_FALSE(answer) << size;
    EXPECT_EQ(answer.error().code(), Code::Unavailable) << said(answer);
    EXPECT_NE(said(answer).find("it closed the connection before it sent a response"), std::string::npos)
        << said(answer);
  }
  proxy_->plays = {{.reply = whole, .closes = true}};
  EXPECT_FALSE(run(client().get(shop()))) << "closed when TLS begins";
  proxy_->plays = {{.reply = whole, .in_pieces = true}};
  EXPECT_EQ(said(run(client().get(shop()))), "answered from the server");
}

// RFC 9110 §9.3.6: whatever such a response says of a body, there is none. RFC 9110 §15.2: others may come before.
TEST_P(ClientProxies, do_not_look_at_what_a_response_to_connect_says_of_a_body) {
  for (const char* reply :
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"}) {
    proxy_->plays = {{.reply = reply}};
    EXPECT_EQ(said(run(through_proxy().get(shop()))), "answered from the server") << reply;
    client().close_idle_connections();
  }
}

TEST_P(ClientProxies, try_again_when_the_proxy_does_not_reach_the_server) {
  proxy_->plays = {{.reply = "HTTP/1.1 502 Bad Gateway\r\n\r\n", .closes = true}, {}};
  EXPECT_EQ(said(run(through_proxy().get(shop()))), "answered from the server");
  EXPECT_EQ(client().stats().retries, 1u);
}

TEST_P(ClientProxies, replace_a_tunnel_that_was_closed) {
  raw_->plays = {{.reply = RawServer::ok("first"), .closes = true}, {RawServer::ok("second")}};
  ASSERT_TRUE(run(through_proxy().get(shop())));
  settle();
  EXPECT_EQ(said(run(client().get(shop()))), "answered second");
  EXPECT_EQ(proxy_->connections, 2);
}

TEST_P(ClientProxies, name_a_proxy_that_is_not_reached) {
  std::string name = "http://";
  name += Listener::bind(Address::parse("127.0.0.1:0").value()).value().address().to_string();
  settle();
  for (const std::string& target : {shop(), std::string("http://shop.example/")}) {
    client_.reset();
    const auto answer = run(through_proxy({.proxy = name, .retry = {.attempts_max = 1}}).get(target));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::Unavailable);
    EXPECT_NE(said(answer).find("the proxy " + name + " is not reached"), std::string::npos) << said(answer);
  }
  client_.reset();
  const auto answer = run(through_proxy({.proxy = "http://nowhere.example:3128"}).get(shop()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::Upstream);
  EXPECT_NE(said(answer).find("the proxy http://nowhere.example:3128 is not reached"), std::string::npos)
      << said(answer);
}

TEST_P(ClientProxies, count_the_response_to_connect_for_connect_timeout) {
  Listener mute = Listener::bind(Address::parse("127.0.0.1:0").value()).value();
  const std::string name = "http://" + mute.address().to_string();
  const auto answer = run(
      through_proxy({.proxy = name, .pool = {.connect_timeout = 100_ms}, .retry = {.attempts_max = 1}}).get(shop()));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::DeadlineExceeded);
  EXPECT_NE(said(answer).find("through the proxy " + name + " took longer than connect_timeout"), std::string::npos)
      << said(answer);
}

// --- Requests that are forwarded: http.

TEST_P(ClientProxies, give_requests_with_http_to_the_proxy_to_forward) {
  RawServer forwards;
  forwards.plays = {{RawServer::ok("forwarded")}};
  const std::string address = forwards.url("").substr(7);
  through_proxy({.proxy = "http://user:secret@" + address});

  EXPECT_EQ(said(run(client().get("http://one.example:81/a?b=c"))), "answered forwarded");
  EXPECT_EQ(said(run(client().post("http://two.example/", "body", "text/plain"))), "answered forwarded");
  EXPECT_EQ(said(run(client().get("http://one.example:81/again"))), "answered forwarded");

  ASSERT_EQ(forwards.requests.size(), 3u);
  const std::string credentials =
      "Proxy-Authorization: Basic " + base64::encode(std::string_view("user:secret"), base64::Form::Standard) + "\r\n";
  EXPECT_TRUE(forwards.requests[0].starts_with("GET http://one.example:81/a?b=c HTTP/1.1\r\nHost: one.example:81\r\n" +
                                               credentials))
      << forwards.requests[0];
  EXPECT_TRUE(forwards.requests[1].starts_with("POST http://two.example/ HTTP/1.1\r\nHost: two.example\r\n"))
      << forwards.requests[1];
  EXPECT_EQ(forwards.connections, 2) << "one for each server";
  forwards.stop();
  EXPECT_TRUE(until([&] { return forwards.has_ended(); }));
}

TEST_P(ClientProxies, do_not_take_a_407_of_the_proxy_for_the_response) {
  RawServer forwards;
  forwards.plays = {{RawServer::answer("407 Proxy Authentication Required", "who?")}};
  const std::string name = forwards.url("");
  const auto answer = run(through_proxy({.proxy = name}).get("http://shop.example/"));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::Upstream);
  EXPECT_NE(said(answer).find("the proxy " + name +
                              ": it responded with 407 Proxy Authentication Required: the proxy requires a user"),
            std::string::npos)
      << said(answer);
  EXPECT_EQ(forwards.requests.size(), 1u);
  forwards.stop();
  EXPECT_TRUE(until([&] { return forwards.has_ended(); }));
}

TEST_P(ClientProxies, name_the_proxy_where_an_exchange_through_it_breaks) {
  RawServer forwards;
  const std::string name = forwards.url("");
  through_proxy({.proxy = name, .retry = {.attempts_max = 1}});
  for (const char* reply : {"", "not http\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"}) {
    forwards.plays = {{.reply = reply, .closes = true}};
    const auto answer = run(client().get("http://shop.example/"));
    ASSERT_FALSE(answer);
    EXPECT_NE(said(answer).find("through the proxy " + name), std::string::npos) << said(answer);
  }
  forwards.stop();
  EXPECT_TRUE(until([&] { return forwards.has_ended(); }));
}

TEST_P(ClientProxies, follow_a_redirect_from_http_into_a_tunnel) {
  RawServer forwards;
  forwards.plays = {{RawServer::answer("301 Moved Permanently", "", "Location: " + shop("/new") + "\r\n")}};
  // One proxy that does both would be as well: here it is known who was asked.
  ::setenv("http_proxy", forwards.url("").c_str(), 1);
  ::setenv("https_proxy", proxy_->url().c_str(), 1);
  through_proxy({.proxy = "environment"});
  ::unsetenv("http_proxy");
  ::unsetenv("https_proxy");
  const auto answer = run(client().get("http://shop.example/old"));
  EXPECT_EQ(said(answer), "answered from the server");
  EXPECT_EQ(answer->url(), shop("/new"));
  EXPECT_EQ(forwards.requests.size(), 1u);
  EXPECT_EQ(proxy_->requests.size(), 1u);
  forwards.stop();
  EXPECT_TRUE(until([&] { return forwards.has_ended(); }));
}

// --- What goes through none.

TEST_P(ClientProxies, ask_what_no_proxy_names_directly) {
  through_proxy({.no_proxy = {"example"}});
  EXPECT_EQ(said(run(client().get(shop()))), "answered from the server");
  EXPECT_EQ(proxy_->connections, 0);
  EXPECT_EQ(said(run(client().get(raw_->url()))), "answered from the server");
  EXPECT_EQ(proxy_->connections, 1);
}

// The proxy would look the name up by itself, and connect to what it finds.
TEST_P(ClientProxies, do_not_go_around_the_guard_through_a_proxy) {
  int asked = 0;
  through_proxy({.guard = [&asked](const Address&) { return ++asked != 0; }, .no_proxy = {"127.0.0.1"}});
  for (const std::string& target : {shop(), std::string("http://metadata.example/")}) {
    const auto answer = run(client().get(target));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::PermissionDenied);
    EXPECT_NE(said(answer).find("the client has an address guard, which cannot check the address to which the proxy " +
                                proxy_->name() + " connects"),
              std::string::npos)
        << said(answer);
    EXPECT_EQ(problem(answer.error()).status(), Status::InternalServerError);
  }
  EXPECT_EQ(proxy_->connections, 0);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(said(run(client().get(raw_->url()))), "answered from the server") << "directly, and guarded";
  EXPECT_EQ(asked, 1);
}

TEST_P(ClientProxies, have_credentials_for_the_proxy_in_the_options_alone) {
  ClientRequest request(Method::Get, shop());
  request.header("proxy-authorization", "Basic c2VjcmV0");
  const auto answer = run(through_proxy().send(std::move(request)));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::InvalidArgument);
  EXPECT_TRUE(raw_->requests.empty());
}

TEST_P(ClientProxies, that_cannot_be_used_fail_each_call_without_a_word_of_the_password) {
  through_proxy({.proxy = "http://user:secret@proxy:none"});
  for (int i = 0; i < 2; ++i) {
    const auto answer = run(client().get(shop()));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::InvalidArgument);
    EXPECT_NE(said(answer).find("ClientOptions::proxy: a proxy must be http://[user:password@]host[:port]"),
              std::string::npos)
        << said(answer);
    EXPECT_EQ(said(answer).find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace keel::http::client_proxy_test
