// docs/testing.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "keel/http/server/problem.h"
#include "keel/http/testing/test_server.h"
#include "keel/task/timing.h"

namespace greeting {
namespace {

using namespace keel;

http::Response take(http::Request& request) {
  return http::Response::text(http::Status::Ok, std::string(request.header("X-Tenant").value_or("nobody")) + ": " +
                                                    std::string(request.body()));
}
Result<http::Response> who(http::Request& request) {
  if (request.header("Authorization") != "Bearer ada") return fail(Code::Unauthenticated, "who are you?");
  return http::Response::text(http::Status::Ok, "Ada");
}

class Greeter {
 public:
  explicit Greeter(std::string greeting) : greeting_(std::move(greeting)) {}
  void mount(http::Router& router) {
    router.get("/hello/{name}", *this, &Greeter::hello).get("/later/{seconds}", *this, &Greeter::later);
    router.post("/import", take).get("/me", who);
  }

 private:
  Result<http::Response> hello(http::Request& request) {
    KEEL_TRY(const std::string_view name, request.path_param<std::string_view>("name"));
    return http::Response::text(http::Status::Ok, greeting_ + ", " + std::string(name) + "!");
  }
  Task<http::Response> later(http::Request& request) {
    const auto seconds = co_await request.path_param<int>("seconds");
    co_await sleep_for(Duration::seconds(seconds));
    co_return http::Response::text(http::Status::Ok, greeting_ + ", at last.");
  }
  const std::string greeting_;
};

}  // namespace
}  // namespace greeting

namespace keel {
namespace {

TEST(Greeter, greets_by_name) {
  greeting::Greeter greeter("Hello");
  http::Router router;
  greeter.mount(router);
  http::TestServer server(router);

  const http::TestResponse response = server.get("/hello/Ada");

  EXPECT_EQ(response.status(), 200);
  EXPECT_EQ(response.body(), "Hello, Ada!");
}

Task<> write_rows(http::ClientBodyWriter& body) {
  for (int row = 1; row <= 3; ++row) {
    const std::string line = std::to_string(row) + ";";
    co_await body.write(line);
  }
}

class TestServerDoc : public ::testing::Test {
 protected:
  TestServerDoc() { greeter_.mount(router); }
  greeting::Greeter greeter_{"Hello"};
  http::Router router;
};

TEST_F(TestServerDoc, shows_what_is_between) {
  http::TestServer server(router);
  http::TestCall call = server.begin({http::Method::Get, "/later/20"});
  server.advance(19_s);
  EXPECT_FALSE(call.has_ended());
  EXPECT_EQ(call.response().body(), "Hello, at last.");
  EXPECT_EQ(server.get("/later/31").status(), 504);
}

TEST_F(TestServerDoc, sends_what_it_says) {
  http::TestServer server(router);
  http::ClientRequest rows(http::Method::Post, "/import");
  rows.header("X-Tenant", "7").stream("text/csv", write_rows);
  EXPECT_EQ(server.send(std::move(rows)).body(), "7: 1;2;3;");
  http::TestClient ada(server);
  ada.header("Authorization", "Bearer ada");
  EXPECT_EQ(ada.get("/me").status(), 200);
  EXPECT_EQ(server.get("/me").status(), 401);
}

TEST_F(TestServerDoc, asks_for_a_host) {
  router.host("*.example.com").get("/", [](http::Request& request) {
    return http::Response::text(http::Status::Ok, request.host());
  });
  http::TestServer server(router);
  http::TestClient tenant(server, {.host = "a.example.com", .address = "192.0.2.7"});
  EXPECT_EQ(tenant.get("/").body(), "a.example.com");
}

TEST_F(TestServerDoc, stands_behind_a_proxy) {
  http::TestServerOptions options;
  options.server.limits.body_bytes_max = 64 * 1024;
  options.server.trusted_proxies = {Network::parse("10.2.0.0/16").value()};
  options.server.request_ids = true;
  http::TestServer server(router, std::move(options));
  http::TestClient proxy(server, {.address = "10.2.3.4"});
  proxy.header("X-Forwarded-For", "192.0.2.7").header("X-Forwarded-Proto", "https");
  EXPECT_EQ(proxy.get("/me").header("X-Request-Id").value_or("").size(), 32u);
}

TEST_F(TestServerDoc, runs_many_seeds) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    http::TestServerOptions options;
    options.simulation = sim::SimOptions::faulty(seed);
    http::TestServer server(router, std::move(options));

    const http::TestResponse response = server.get("/hello/Ada");

    EXPECT_TRUE(response.status() == 0 || response.body() == "Hello, Ada!") << server.simulation().replay();
  }
}

}  // namespace
}  // namespace keel
