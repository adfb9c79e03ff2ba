#include "keel/contract/routes.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "keel/contract/answer.h"
#include "keel/http/testing/test_server.h"
#include "keel/task/timing.h"

namespace routes_test {

using namespace keel;
using contract::Routes;
using http::Method;

// What is generated for an operation.
struct Asked {
  static inline int alive = 0;
  std::string path;

  Asked() { ++alive; }
  Asked(const Asked&) = delete;
  ~Asked() { --alive; }
};
class Reply : public contract::Answer {
 public:
  static Reply ok(std::string_view text) { return Reply(http::Response::text(http::Status::Ok, text)); }

 private:
  using Answer::Answer;
};
Result<> read(http::Request& request, Asked& to) {
  to.path = request.path();
  if (request.path().ends_with("bad")) return fail(Code::InvalidArgument, "bad");
  return {};
}

struct Handler {
  std::string text;
  int calls = 0;

  Task<Reply> answer(http::Request&, const Asked& asked) {
    ++calls;
    EXPECT_EQ(Asked::alive, 1);
    co_await sleep_for(1_ms);
    EXPECT_EQ(Asked::alive, 1);
    co_return Reply::ok(text + asked.path);
  }
  Task<Reply> reads(http::Request& request, const Asked&) {
    while (true) {
      const std::string_view chunk = co_await request.read_body();
      if (chunk.empty()) co_return Reply::ok(text);
    }
  }
  Task<Reply> fails(http::Request&, const Asked&) {
    co_await sleep_for(1_ms);
    co_return fail(Code::NotFound, "there is none");
  }
  Task<Reply> throws(http::Request&, const Asked&) {
    if (text.empty()) throw std::runtime_error("broken");
    co_return Reply::ok(text);
  }
};
struct Counting {
  using KeptAround = void;
  int* calls;
  Task<http::Response> operator()(http::Request& request, http::Next next) {
    ++*calls;
    co_return co_await next(request);
  }
};

TEST(ContractRoutes, call_the_function_with_the_handler) {
  Handler handler{"one "};
  http::Router router;
  Routes(router).serve<&Handler::answer, &read>(Method::Get, "/a/{id}", handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/a/1").body(), "one /a/1");
  EXPECT_EQ(server.post("/a/1").status(), 405);
  EXPECT_EQ(Asked::alive, 0);
}

TEST(ContractRoutes, do_not_call_it_for_a_request_that_cannot_be_read) {
  Handler handler{"one "};
  http::Router router;
  Routes(router).serve<&Handler::answer, &read>(Method::Get, "/{id}", handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/bad").status(), 400);
  EXPECT_EQ(handler.calls, 0);
  EXPECT_EQ(Asked::alive, 0);
  EXPECT_EQ(server.get("/good").status(), 200);
}

TEST(ContractRoutes, answer_an_error_and_an_exception_of_the_function) {
  Handler handler{""};
  http::Router router;
  const Routes routes(router);
  routes.serve<&Handler::fails, &read>(Method::Get, "/fails", handler);
  routes.serve<&Handler::throws, &read>(Method::Get, "/throws", handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/fails").status(), 404);
  EXPECT_EQ(server.get("/throws").status(), 500);
  EXPECT_EQ(Asked::alive, 0);
}

TEST(ContractRoutes, need_no_function_that_reads) {
  Handler handler{"one"};
  http::Router router;
  Routes(router).serve<&Handler::answer>(Method::Get, "/a", handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/a").body(), "one");
}

TEST(ContractRoutes, stand_below_a_prefix_and_in_a_group) {
  Handler handler{""};
  http::Router router;
  Routes(router).below("/v1").serve<&Handler::answer, &read>(Method::Get, "/a", handler);
  Routes(router.group("/admin")).below("/v2").serve<&Handler::answer, &read>(Method::Get, "/a", handler);
  Routes(router).below("").serve<&Handler::answer, &read>(Method::Get, "/b", handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/v1/a").status(), 200);
  EXPECT_EQ(server.get("/admin/v2/a").status(), 200);
  EXPECT_EQ(server.get("/b").status(), 200);
  EXPECT_EQ(server.get("/a").status(), 404);
}

TEST(ContractRoutes, have_a_limit_of_their_own_for_bodies_that_their_handler_reads) {
  Handler handler{""};
  http::Router router;
  const Routes routes = Routes(router).streaming(3).below("/v1");
  constexpr http::RouteOptions streams = {.streams_body = true};
  routes.serve<&Handler::reads, &read>(Method::Post, "/streamed", handler, streams);
  routes.serve<&Handler::answer, &read>(Method::Post, "/whole", handler);
  Routes(router).streaming(std::nullopt).serve<&Handler::reads, &read>(Method::Post, "/streamed", handler, streams);
  http::TestServer server(router);

  EXPECT_EQ(server.post("/v1/streamed", "123").status(), 200);
  EXPECT_EQ(server.post("/v1/streamed", "1234").status(), 413);
  EXPECT_EQ(server.post("/v1/whole", "1234").status(), 200);
  EXPECT_EQ(server.post("/streamed", "1234").status(), 200);
}

TEST(ContractRoutes, with_a_middleware_leave_the_others_without_it) {
  int calls = 0;
  Handler handler{""};
  http::Router router;
  const Routes routes(router);
  routes.with(Counting{&calls}).serve<&Handler::answer, &read>(Method::Get, "/inside", handler);
  routes.serve<&Handler::answer, &read>(Method::Get, "/outside", handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/outside").status(), 200);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(server.get("/inside").status(), 200);
  EXPECT_EQ(calls, 1);
}

TEST(ContractRoutes, take_the_options_of_a_route) {
  Handler handler{""};
  http::Router router;
  Routes(router).serve<&Handler::answer, &read>(Method::Post, "/a", handler, {.consumes = {"application/json"}});
  http::TestServer server(router);

  EXPECT_EQ(server.post("/a", "x", "text/plain").status(), 415);
  EXPECT_EQ(server.post("/a", "{}").status(), 200);
}

}  // namespace routes_test
