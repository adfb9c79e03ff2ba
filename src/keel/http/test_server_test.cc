#include "keel/http/test_server.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/body_writer.h"
#include "keel/http/problem.h"
#include "keel/task/event.h"
#include "keel/task/timing.h"

namespace keel::http {
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

class TestServers : public ::testing::Test {
 protected:
  TestServers() {
    router_.get("/hello", hello).post("/echo", echo).put("/echo", echo).patch("/echo", echo);
    router_.get("/slow/{seconds}", &slow).del("/hello", [](Request&) { return Response(Status::NoContent); });
  }
  Router router_;
};

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
  options.limits.body_bytes_max = 5;
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
}  // namespace keel::http
