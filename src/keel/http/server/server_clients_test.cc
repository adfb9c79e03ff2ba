// What one client address may have of a server, on every engine, and who is meant by it.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/http/server/server.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/http/testing/test_server.h"
#include "keel/net/stream.h"

namespace keel::http::server_clients_test {
namespace {

using namespace internal;

Task<> listens(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
  }
}
Response upgrades(Request&) { return Response::upgrade("talk", &listens); }
struct Passes {
  std::optional<Response> before(Request&) { return std::nullopt; }
};
Task<Response> forgives(Request& request, Next next) {
  const Result<std::string_view> body = co_await attempt(request.whole_body());
  if (!body) co_return Response(Status::Accepted);
  co_return co_await next(request);
}

class ServerClients : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    router_.get("/talk", upgrades);
    router_.group("/guarded").use(Passes()).post("/echo", echo);
    router_.group("/forgiving").use(forgives).post("/echo", echo);
  }
  // It is there, and answered.
  bool is_served(Peer& one, std::size_t nth = 1) {
    one.send(get("/n/7"));
    return has_replies(one, nth);
  }
  bool is_reset(Peer& one) {
    return until([&] { return one.has_ended() || one.is_refused(); });
  }
  static std::string begun(const std::string& path, std::size_t length) {
    return "POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
  }
};

INSTANTIATE_TEST_SUITE_P(, ServerClients, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(ServerClients, have_so_many_connections_and_others_are_reset) {
  Limits limits;
  limits.client_connections_max = 2;
  start(limits);
  Peer& first = peer();
  Peer& second = peer();
  ASSERT_TRUE(is_served(first));
  ASSERT_TRUE(is_served(second));
  EXPECT_EQ(server_->stats().clients, 1u);

  Peer& third = peer();
  ASSERT_TRUE(is_reset(third));
  EXPECT_EQ(third.wire(), "");
  EXPECT_EQ(server_->stats().client_connections_refused, 1u);
  EXPECT_EQ(server_->stats().connections, 2u);
  ASSERT_TRUE(is_served(first, 2)) << "those that are there go on";

  close(second);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 1; }));
  ASSERT_TRUE(is_served(peer()));
  close_all();
  ASSERT_TRUE(until([&] { return server_->stats().clients == 0; }));
}

TEST_P(ServerClients, count_connections_that_have_left_http) {
  Limits limits;
  limits.client_connections_max = 1;
  start(limits);
  Peer& one = peer();
  one.send("GET /talk HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: talk\r\n\r\n");
  ASSERT_TRUE(until([&] { return server_->stats().upgraded == 1; }));
  ASSERT_TRUE(is_reset(peer()));
  close(one);
  ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
  ASSERT_TRUE(is_served(peer()));
}

TEST_P(ServerClients, are_bounded_otherwise_from_the_next_connection_on) {
  Limits limits;
  limits.client_connections_max = 1;
  start(limits);
  ASSERT_TRUE(is_served(peer()));
  ASSERT_TRUE(is_reset(peer()));
  limits.client_connections_max = 3;
  server_->change(limits, false);
  ASSERT_TRUE(is_served(peer()));
  limits.client_connections_max = 2;
  server_->change(limits, false);
  ASSERT_TRUE(is_reset(peer()));
}

TEST_P(ServerClients, hold_so_much_of_bodies_beside_their_only_one) {
  Limits limits;
  limits.client_bodies_bytes_max = 64 * 1024;
  start(limits);
  const std::string body(200'000, 'b');
  EXPECT_EQ(ask_one(post("/echo", body)).status, 200) << "one alone may be larger";

  Peer& first = peer();
  first.send(begun("/echo", body.size()) + body.substr(0, 100'000));
  ASSERT_TRUE(until([&] { return server_->stats().body_bytes >= 100'000; }));
  // One that announces it, one that grows, and one behind middleware.
  std::string chunked = post_chunked("/guarded/echo", std::string(1000, 'c'), 100);
  for (const std::string& wire : {begun("/echo", 1000), post_chunked("/echo", std::string(1000, 'c'), 100), chunked}) {
    Peer& one = peer();
    one.send(wire);
    ASSERT_TRUE(has_replies(one, 1));
    EXPECT_EQ(one.all()[0].status, 429) << wire;
    EXPECT_EQ(one.all()[0].field("Retry-After"), "1");
    EXPECT_TRUE(one.all()[0].closes());
  }
  EXPECT_EQ(server_->stats().client_bodies_refused, 3u);
  EXPECT_EQ(server_->stats().bodies_refused, 0u);

  first.send(body.substr(100'000));
  ASSERT_TRUE(has_replies(first, 1));
  EXPECT_EQ(first.all()[0].body, body);
  EXPECT_EQ(server_->stats().body_bytes, 0u);
  EXPECT_EQ(ask_one(post("/echo", body)).status, 200);
}

// The bytes that arrived after the body are dropped with it: no request is read from what follows them.
TEST_P(ServerClients, lose_the_connection_of_a_guarded_body_whose_last_piece_is_too_much) {
  Limits limits;
  limits.client_bodies_bytes_max = 64 * 1024;
  start(limits);
  Peer& forgiven = peer();
  Peer& rejected = peer();
  forgiven.send(begun("/forgiving/echo", 1000));
  rejected.send(begun("/guarded/echo", 1000));
  ASSERT_TRUE(until([&] { return server_->stats().accepted == 2; }));
  settle();
  Peer& other = peer();
  other.send(begun("/echo", 200'000) + std::string(100'000, 'b'));
  ASSERT_TRUE(until([&] { return server_->stats().body_bytes >= 100'000; }));
  for (Peer* const one : {&rejected, &forgiven}) {
    one->send(std::string(1000, 'c') + get("/n/7"));
    ASSERT_TRUE(has_replies(*one, 1));
    const Reply reply = one->all()[0];
    EXPECT_EQ(reply.status, one == &rejected ? 429 : 202);
    EXPECT_EQ(reply.field("Retry-After"), one == &rejected ? "1" : "");
    EXPECT_TRUE(reply.closes());
    ASSERT_TRUE(until([&] { return one->has_ended(); }));
    EXPECT_EQ(one->all().size(), 1u);
  }
  EXPECT_EQ(server_->stats().client_bodies_refused, 2u);
}

TEST_P(ServerClients, are_not_those_of_a_trusted_proxy) {
  options_.trusted_proxies = {*Network::parse("127.0.0.1")};
  Limits limits;
  limits.client_connections_max = 1;
  start(limits);
  ASSERT_TRUE(is_served(peer()));
  ASSERT_TRUE(is_served(peer()));
  EXPECT_EQ(server_->stats().clients, 0u);
}

TEST_P(ServerClients, are_not_bounded_on_this_machine_unless_told) {
  Limits limits;
  limits.connections_max = 4;
  start(limits);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(is_served(peer()));
  EXPECT_EQ(server_->stats().clients, 0u);
}

// Without keys: half of the connections for each address of the internet.
TEST(ServerClientsOfTheInternet, leave_half_of_the_connections_to_others) {
  Router router;
  router.get("/held", &held);
  router.get("/now", plaintext);
  TestServerOptions options;
  options.server.limits.connections_max = 4;
  TestServer server(router, std::move(options));
  held_back = true;
  TestClient greedy(server, {.address = "8.8.8.8"});
  std::vector<TestCall> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(greedy.begin(ClientRequest(Method::Get, "/held")));
  server.advance(1_s);
  EXPECT_EQ(greedy.get("/now").status(), 0) << "it has half of them";
  TestClient other(server, {.address = "8.8.4.4"});
  EXPECT_EQ(other.get("/now").status(), 200);
  EXPECT_EQ(server.server().stats().clients, 2u);
  held_back = false;
  for (TestCall& call : calls) EXPECT_EQ(std::move(call).response().status(), 200);
  EXPECT_EQ(greedy.get("/now").status(), 200);
}

}  // namespace
}  // namespace keel::http::server_clients_test
