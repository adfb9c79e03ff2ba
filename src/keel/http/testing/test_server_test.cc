#include "keel/http/testing/test_server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/http/client/client.h"
#include "keel/http/middleware/rate_limit.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/problem.h"
#include "keel/observe/metric.h"
#include "keel/task/event.h"
#include "keel/task/timing.h"

namespace keel::http::test_server_test {
namespace {

Response hello(Request& request) {
  return Response::text(Status::Ok, "Hello, " + std::string(request.header("X-Name").value_or("World")) + "!");
}
Response echo(Request& request) { return Response::text(Status::Created, request.body()).header("X-Kind", "echo"); }
Task<Response> slow(Request& request) {
  const auto seconds = co_await request.path_param<int>("seconds");
  co_await sleep_for(Duration::seconds(seconds));
  co_return Response::text(Status::Ok, "at last");
}

struct Greeting {
  std::string word;
  int times;
};

class TestServers : public ::testing::Test {
 protected:
  TestServers() {
    router_.get("/hello", hello).post("/echo", echo).put("/echo", echo).patch("/echo", echo);
    router_.get("/slow/{seconds}", &slow).del("/hello", [](Request&) { return Response(Status::NoContent); });
  }
  Router router_;
};

TEST_F(TestServers, give_the_struct_that_they_have_answered_with) {
  TestServer server(router_);

  const TestResponse response = server.send(ClientRequest(Method::Post, "/echo").json(Greeting{"Hello", 7}));

  EXPECT_EQ(response.json<Greeting>().value().word, "Hello");
  EXPECT_EQ(response.json<Greeting>().value().times, 7);
  EXPECT_EQ(server.get("/hello").json<Greeting>().error().code(), Code::InvalidArgument);
}

TEST_F(TestServers, answer_as_a_server_does) {
  TestServer server(router_);

  const TestResponse response = server.get("/hello");

  EXPECT_EQ(response.status(), 200);
  EXPECT_EQ(response.body(), "Hello, World!");
  EXPECT_EQ(response.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(response.header("X-Nothing"), std::nullopt);
  EXPECT_EQ(response.error(), "");
  EXPECT_EQ(server.get("/nowhere").status(), 404);
  EXPECT_EQ(server.post("/hello", "{}").header("Allow"), "GET, HEAD, DELETE, OPTIONS");
  EXPECT_EQ(server.del("/hello").status(), 204);
  EXPECT_EQ(server.post("/echo", "posted").body(), "posted");
  EXPECT_EQ(server.put("/echo", "put").status(), 201);
  EXPECT_EQ(server.patch("/echo", "patched", "text/plain").body(), "patched");
  EXPECT_EQ(server.send(ClientRequest(Method::Get, "/hello").header("X-Name", "Ada")).body(), "Hello, Ada!");
  EXPECT_EQ(server.server().stats().accepted, 1u) << "one client, one connection";
}

TEST_F(TestServers, have_the_limits_they_are_given) {
  TestServerOptions options;
  options.server.limits.body_bytes_max = 5;
  TestServer server(router_, std::move(options));

  EXPECT_EQ(server.post("/echo", "12345").status(), 201);
  EXPECT_EQ(server.post("/echo", "123456").status(), 413);
}

TEST_F(TestServers, wait_in_virtual_time) {
  TestServer server(router_);
  const Instant began = server.now();
  EXPECT_EQ(server.get("/slow/20").body(), "at last");
  EXPECT_GE(server.now() - began, 20_s);
  EXPECT_LT(server.now() - began, 21_s);

  EXPECT_EQ(server.get("/slow/40").status(), 504) << "request_timeout is 30 s";
}

TEST_F(TestServers, show_what_is_between_when_the_clock_is_advanced) {
  TestServer server(router_);
  TestCall call = server.begin({Method::Get, "/slow/20"});
  server.advance(19_s);
  EXPECT_FALSE(call.has_ended());

  server.advance(2_s);

  EXPECT_TRUE(call.has_ended());
  EXPECT_EQ(call.response().status(), 200);
}

TEST_F(TestServers, serve_calls_side_by_side) {
  TestServer server(router_);
  TestCall slow_call = server.begin({Method::Get, "/slow/20"});
  TestCall quick_call = server.begin({Method::Get, "/slow/1"});
  EXPECT_EQ(quick_call.response().status(), 200);
  EXPECT_FALSE(slow_call.has_ended());
  EXPECT_EQ(slow_call.response().status(), 200);
}

TEST_F(TestServers, see_a_client_that_goes_away) {
  TestServer server(router_);
  TestCall call = server.begin({Method::Get, "/slow/20"});
  server.advance(1_s);
  call.stop();

  const TestResponse response = call.response();

  EXPECT_EQ(response.status(), 0);
  EXPECT_NE(response.error(), "");
  EXPECT_EQ(response.body(), "");
  EXPECT_EQ(response.header("Date"), std::nullopt);
  {
    TestCall dropped = server.begin({Method::Get, "/slow/20"});
    server.advance(1_s);
  }
  EXPECT_EQ(server.get("/hello").status(), 200);
}

TEST_F(TestServers, have_clients_with_fields_of_their_own) {
  TestServer server(router_);
  TestClient ada(server);
  TestClient bob(server);
  ada.header("X-Name", "Ada");
  bob.header("X-Name", "Bob");

  EXPECT_EQ(ada.get("/hello").body(), "Hello, Ada!");
  EXPECT_EQ(bob.get("/hello").body(), "Hello, Bob!");
  EXPECT_EQ(server.get("/hello").body(), "Hello, World!");
  EXPECT_EQ(server.server().stats().accepted, 3u);
}

TEST_F(TestServers, have_clients_that_ask_for_a_host) {
  router_.host("api.example.com").get("/who", [](Request&) { return Response::text(Status::Ok, "the api"); });
  router_.host("*.example.com").get("/who", [](Request& request) {
    return Response::text(Status::Ok, request.host());
  });
  TestServer server(router_);
  TestClient api(server, {.host = "api.example.com"});
  TestClient tenant(server, {.host = "a.example.com"});
  TestClient other(server, {.host = "example.org"});

  EXPECT_EQ(api.get("/who").body(), "the api");
  EXPECT_EQ(tenant.get("/who").body(), "a.example.com");
  EXPECT_EQ(other.get("/who").status(), 404);
  EXPECT_EQ(other.get("/hello").body(), "Hello, World!");
  EXPECT_EQ(server.get("/who").status(), 404);
}

TEST_F(TestServers, have_clients_with_addresses_of_their_own) {
  const RateLimit limit({.requests = 2, .per = 1_min});
  router_.group("/limited").use(limit).get("/peer", [](Request& request) {
    return Response::text(Status::Ok, request.peer().to_string());
  });
  TestServer server(router_);
  TestClient ada(server, {.address = "192.0.2.7"});
  TestClient bob(server, {.host = "a.example.com", .address = "192.0.2.8"});

  EXPECT_TRUE(ada.get("/limited/peer").body().starts_with("192.0.2.7:"));
  EXPECT_EQ(ada.get("/limited/peer").status(), 200);
  EXPECT_EQ(ada.get("/limited/peer").status(), 429);
  EXPECT_TRUE(bob.get("/limited/peer").body().starts_with("192.0.2.8:"));
  EXPECT_TRUE(server.get("/limited/peer").body().starts_with("10.0.0.1:"));
  server.advance(1_min);
  EXPECT_EQ(ada.get("/limited/peer").status(), 200);
}

TEST_F(TestServers, stand_behind_the_proxies_they_trust) {
  router_.get("/origin", [](Request& request) {
    return Response::text(Status::Ok, std::string(request.scheme()) + " " + std::string(request.host()) + " " +
                                          request.client_address().to_string() + " " + std::string(request.id()));
  });
  TestServerOptions options;
  options.server.trusted_proxies = {Network::parse("10.2.0.0/16").value()};
  TestServer server(router_, std::move(options));
  TestClient proxy(server, {.address = "10.2.3.4"});
  TestClient stranger(server, {.address = "10.3.3.4"});
  for (TestClient* client : {&proxy, &stranger}) {
    client->header("X-Forwarded-For", "192.0.2.7").header("X-Forwarded-Proto", "https");
    client->header("X-Forwarded-Host", "shop.example.com").header("X-Request-Id", "abc-1");
  }

  EXPECT_EQ(proxy.get("/origin").body(), "https 10.0.0.1 192.0.2.7:0 abc-1");
  EXPECT_TRUE(stranger.get("/origin").body().starts_with("http 10.0.0.1 10.3.3.4:"));
  EXPECT_FALSE(stranger.get("/origin").body().ends_with("abc-1"));
}

TEST_F(TestServers, say_of_their_answers_what_they_are_told_to) {
  metrics::Registry registry;
  TestServerOptions options;
  options.server.request_ids = true;
  options.server.server_timing = true;
  options.server.metrics = &registry;
  {
    TestServer server(router_, std::move(options));
    const TestResponse response = server.get("/hello");
    EXPECT_EQ(response.header("X-Request-Id").value_or("").size(), 32u);
    EXPECT_EQ(response.header("Server-Timing"), std::nullopt) << "nothing took any time";
    const TestResponse slow = server.get("/slow/2");
    EXPECT_TRUE(slow.header("Server-Timing").value_or("").starts_with("handler;dur=200"));
    const metrics::Counter answered =
        registry.counter("http_requests_total", "Requests with a response",
                         {{"server", "http"}, {"method", "GET"}, {"route", "/hello"}, {"status_class", "2xx"}});
    EXPECT_EQ(answered.value(), metrics::is_recorded ? 1u : 0u);
  }
  TestServer plain(router_);
  EXPECT_FALSE(plain.get("/hello").header("X-Request-Id"));
  EXPECT_FALSE(plain.get("/hello").header("Server-Timing"));
}

TEST_F(TestServers, listen_where_their_clients_look_whatever_they_are_told) {
  TestServerOptions options;
  options.server.address = Address::parse("unix:/run/app.sock").value();
  options.server.listen.backlog = 0;
  TestServer server(router_, std::move(options));
  EXPECT_EQ(server.get("/hello").status(), 200);
}

TEST_F(TestServers, have_clients_that_could_be_there) {
  TestServer server(router_);
  for (const char* host : {"a.example.com:8080", "a.example.com/x", "a b", "user@a"}) {
    EXPECT_DEATH(TestClient(server, {.host = host}), "must be a name without a port") << host;
  }
  for (const char* address : {"::1", "example.com", "192.0.2.7:80"}) {
    EXPECT_DEATH(TestClient(server, {.address = address}), "from an IPv4 address") << address;
  }
}

Task<> write_lines(ClientBodyWriter& body) {
  for (int i = 0; i < 3; ++i) {
    co_await body.write("line\n");
    co_await sleep_for(1_s);
  }
}

TEST_F(TestServers, take_bodies_that_are_streamed) {
  TestServer server(router_);
  EXPECT_EQ(server.send(ClientRequest(Method::Post, "/echo").stream("text/plain", write_lines)).body(),
            "line\nline\nline\n");
}

Task<Response> count_as_it_comes(Request& request) {
  std::size_t bytes = 0;
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) break;
    bytes += chunk.size();
  }
  co_return Response::text(Status::Ok, std::to_string(bytes));
}
Task<> tell_slowly(BodyWriter& out) {
  for (int i = 0; i < 3; ++i) {
    co_await out.write("piece ");
    co_await sleep_for(1_s);
  }
}

TEST_F(TestServers, serve_handlers_that_stream_both_ways) {
  router_.post("/count", &count_as_it_comes, {.streams_body = true});
  router_.get("/pieces", [](Request&) { return Response::stream(Status::Ok, "text/plain", &tell_slowly); });
  TestServer server(router_);

  EXPECT_EQ(server.send(ClientRequest(Method::Post, "/count").stream("text/plain", write_lines)).body(), "15");
  const Instant began = server.now();
  EXPECT_EQ(server.get("/pieces").body(), "piece piece piece ");
  EXPECT_GE(server.now() - began, 3_s);
}

TEST_F(TestServers, do_not_follow_redirects_or_ask_again) {
  int asked = 0;
  router_.get("/moved", [](Request&) { return Response(Status::Found).header("Location", "/hello"); });
  router_.get("/busy", [&asked](Request&) {
    ++asked;
    return refuse(Status::ServiceUnavailable, "not now");
  });
  TestServer server(router_);

  EXPECT_EQ(server.get("/moved").status(), 302);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(server.get("/busy").status(), 503);
  EXPECT_EQ(asked, 50);
}

class Doorbell {
 public:
  Task<Response> wait(Request&) {
    co_await rung_.wait();
    co_return Response::text(Status::Ok, "rung");
  }
  Task<> ring() {
    rung_.set();
    co_return;
  }

 private:
  Event rung_;
};

// Its connection waits for another request by a timer of the loop.
Task<> fails_with_a_client(TestServer& server) {
  Resolver resolver(server.simulation().pool(), {}, [at = server.server().address()](const std::string&) {
    return Result<std::vector<Address>>(std::vector<Address>{at});
  });
  Client client(resolver);
  co_await client.get("http://server.internal/hello");
  co_await fail(Code::NotFound, "not there");
}
TEST_F(TestServers, end_what_a_task_that_failed_holds_on_its_loop) {
  TestServer server(router_);
  EXPECT_EQ(server.run(fails_with_a_client(server)).error().code(), Code::NotFound);
}

TEST_F(TestServers, run_the_tasks_of_a_test_on_their_loop) {
  Doorbell doorbell;
  router_.get("/wait", doorbell, &Doorbell::wait);
  TestServer server(router_);
  TestCall call = server.begin({Method::Get, "/wait"});
  server.advance(10_s);
  EXPECT_FALSE(call.has_ended());

  EXPECT_TRUE(server.run(doorbell.ring()));

  EXPECT_EQ(call.response().body(), "rung");
}

std::uint64_t trace_of(const Router& router, std::uint64_t seed) {
  TestServerOptions options;
  options.simulation = sim::SimOptions::faulty(seed);
  TestServer server(router, std::move(options));
  for (int i = 0; i < 5; ++i) server.get("/hello");
  return server.simulation().trace_hash();
}

TEST_F(TestServers, repeat_a_run_by_its_seed_with_faults_on_the_way) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(trace_of(router_, seed), trace_of(router_, seed)) << seed;
  EXPECT_NE(trace_of(router_, 1), trace_of(router_, 2));
}

}  // namespace
}  // namespace keel::http::test_server_test
