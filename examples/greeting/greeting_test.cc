// How a service is tested: its router behind a server in this thread, without sockets, in virtual time.

#include "greeting.h"

#include <gtest/gtest.h>

#include "keel/http/testing/test_server.h"

namespace greeting::greeting_test {
namespace {

using namespace keel;

class GreeterTest : public ::testing::Test {
 protected:
  GreeterTest() { greeter_.mount(router_); }
  Greeter greeter_{"Hello"};
  http::Router router_;
};

TEST_F(GreeterTest, greets_by_name) {
  http::TestServer server(router_);

  const http::TestResponse response = server.get("/hello/Ada%20Lovelace");

  EXPECT_EQ(response.status(), 200);
  EXPECT_EQ(response.body(), "Hello, Ada Lovelace!");
  EXPECT_EQ(response.header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(server.get("/hello/Nobody").status(), 404);
}

TEST_F(GreeterTest, greets_many_at_once) {
  http::TestServer server(router_);

  const http::TestResponse response = server.post("/hello", R"({"names":["Ada","Grace"]})");

  EXPECT_EQ(response.status(), 200);
  EXPECT_EQ(response.body(), R"({"greetings":["Hello, Ada!","Hello, Grace!"]})");
  EXPECT_EQ(server.post("/hello", R"({"names":[]})").status(), 422);
  EXPECT_EQ(server.post("/hello", "Ada").status(), 400);
}

TEST_F(GreeterTest, answers_later_when_asked_to) {
  http::TestServer server(router_);

  http::TestCall call = server.begin({http::Method::Get, "/later/20"});
  server.advance(19_s);  // Takes no real time: the clock is the simulation's.
  EXPECT_FALSE(call.has_ended());
  EXPECT_EQ(call.response().body(), "Hello, at last.");

  EXPECT_EQ(server.get("/later/31").status(), 504) << "Limits::request_timeout is 30 s";
  EXPECT_EQ(server.get("/later/soon").status(), 400);
}

}  // namespace
}  // namespace greeting::greeting_test
