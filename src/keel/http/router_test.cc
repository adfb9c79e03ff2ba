#include "keel/http/router.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/internal/request_test.h"
#include "keel/task/testing.h"

namespace keel::http {
namespace {

Response ok(std::string_view text) { return Response::text(Status::Ok, text); }
Response hello(Request&) { return ok("hello"); }
Task<Response> hello_later(Request&) { co_return ok("later"); }

// What the router answers, waited for.
Response answer(const Router& router, std::string_view method, std::string_view target) {
  TestRequest request(router, method, target);
  const Handler& handler = *request.match().handler;
  if (handler.at_once) return *handler.at_once(*request);
  keel::testing::TestLoop loop;
  return *loop.run(handler.later(*request));
}

TEST(Router, finds_the_handler_of_method_and_path) {
  Router router;
  router.get("/a", hello).post("/a", [](Request&) { return ok("posted"); }).get("/b/{id}", [](Request&) {
    return ok("b");
  });

  EXPECT_EQ(answer(router, "GET", "/a").content(), "hello");
  EXPECT_EQ(answer(router, "POST", "/a").content(), "posted");
  EXPECT_EQ(answer(router, "GET", "/b/1").content(), "b");
  EXPECT_EQ(answer(router, "GET", "/b/1?x=y").content(), "b");
}

struct Service {
  int calls = 0;
  Response now(Request&) { return ++calls, ok("now"); }
  Result<Response> maybe(Request&) { return ++calls, Result<Response>(ok("maybe")); }
  Task<Response> later(Request&) { co_return (++calls, ok("later")); }
};

TEST(Router, takes_functions_lambdas_and_members_that_answer_now_or_later) {
  Service service;
  Router router;
  router.get("/function", hello).get("/task", &hello_later).get("/lambda", [](Request&) { return ok("lambda"); });
  router.get("/lambda-task", [](Request&) -> Task<Response> { co_return ok("lambda-task"); });
  router.get("/now", service, &Service::now)
      .put("/maybe", service, &Service::maybe)
      .patch("/later", service, &Service::later);

  EXPECT_EQ(answer(router, "GET", "/function").content(), "hello");
  EXPECT_EQ(answer(router, "GET", "/task").content(), "later");
  EXPECT_EQ(answer(router, "GET", "/lambda").content(), "lambda");
  EXPECT_EQ(answer(router, "GET", "/lambda-task").content(), "lambda-task");
  EXPECT_EQ(answer(router, "GET", "/now").content(), "now");
  EXPECT_EQ(answer(router, "PUT", "/maybe").content(), "maybe");
  EXPECT_EQ(answer(router, "PATCH", "/later").content(), "later");
  EXPECT_EQ(service.calls, 3);
}

TEST(Router, answers_head_like_get_unless_head_has_its_own) {
  Router router;
  router.get("/a", hello);
  router.get("/b", hello).add(Method::Head, "/b", Handler{[](Request&) -> Result<Response> { return ok("own"); }, {}});
  EXPECT_EQ(answer(router, "HEAD", "/a").content(), "hello");
  EXPECT_EQ(answer(router, "HEAD", "/b").content(), "own");
}

TEST(Router, answers_unknown_paths_methods_and_forms_itself) {
  Router router;
  router.get("/a", hello).del("/a", hello).post("/b", hello);

  EXPECT_EQ(answer(router, "GET", "/nowhere").status(), Status::NotFound);
  EXPECT_EQ(answer(router, "GET", "/a/").status(), Status::NotFound);
  EXPECT_EQ(answer(router, "BREW", "/a").status(), Status::NotImplemented);
  EXPECT_EQ(answer(router, "POST", "/a").status(), Status::MethodNotAllowed);
  EXPECT_EQ(answer(router, "POST", "/a").fields(), "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
  EXPECT_EQ(answer(router, "HEAD", "/b").fields(), "Allow: POST, OPTIONS\r\n");
  EXPECT_EQ(answer(router, "OPTIONS", "/a").status(), Status::NoContent);
  EXPECT_EQ(answer(router, "OPTIONS", "/a").fields(), "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
  EXPECT_EQ(answer(router, "OPTIONS", "*").status(), Status::NoContent);
  EXPECT_FALSE(TestRequest(router, "GET", "/nowhere").match().is_route);
  EXPECT_TRUE(TestRequest(router, "GET", "/a").match().is_route);
}

TEST(Router, names_the_route_and_numbers_it) {
  Router router;
  router.get("/users/{id}", hello).post("/users", hello);
  TestRequest request(router, "GET", "/users/7");
  EXPECT_EQ(request->route(), "/users/{id}");
  EXPECT_EQ(request.match().index, 0u);
  EXPECT_EQ(TestRequest(router, "POST", "/users").match().index, 1u);
  EXPECT_EQ(TestRequest(router, "GET", "/x").match().index, 2u);
  ASSERT_EQ(router.routes().size(), 2u);
  EXPECT_EQ(router.routes()[1].pattern, "/users");
  EXPECT_EQ(router.routes()[1].method, Method::Post);
}

TEST(Router, keeps_the_options_of_each_route) {
  Service service;
  Router router;
  router.get("/plain", hello)
      .get("/slow", &hello_later, {.request_timeout = 2_min})
      .put("/upload", service, &Service::later, {.body_bytes_max = 1u << 30, .streams_body = true});

  const auto options = [&](std::string_view method, std::string_view target) {
    return *TestRequest(router, method, target).match().options;
  };
  EXPECT_EQ(options("GET", "/plain").request_timeout, std::nullopt);
  EXPECT_EQ(options("GET", "/slow").request_timeout, 2_min);
  EXPECT_EQ(options("HEAD", "/slow").request_timeout, 2_min);
  EXPECT_EQ(options("PUT", "/upload").body_bytes_max, 1u << 30);
  EXPECT_TRUE(options("PUT", "/upload").streams_body);
  for (const char* method : {"GET", "OPTIONS", "BREW"}) {
    EXPECT_EQ(options(method, "/upload").body_bytes_max, std::nullopt) << method;
    EXPECT_FALSE(options(method, "/upload").streams_body) << method;
  }
}

// --- Middleware.

std::string order;
Task<Response> first(Request& request, Next next) {
  order += "1";
  Response response = co_await next(request);
  order += "4";
  co_return response;
}
Task<Response> second(Request& request, Next next) {
  order += "2";
  co_return co_await next(request);
}
Task<Response> refuses(Request&, Next) { co_return Response(Status::Unauthorized); }
struct Counting {
  int calls = 0;
  Task<Response> operator()(Request& request, Next next) {
    ++calls;
    co_return co_await next(request);
  }
};

TEST(Router, runs_middleware_in_the_order_written_around_later_routes) {
  Counting counting;
  Router router;
  router.get("/before", hello);
  router.use(first).use(second).use(counting);
  router.get("/now", [](Request&) { return order += "3", ok("now"); });
  router.get("/later", &hello_later);

  order.clear();
  EXPECT_EQ(answer(router, "GET", "/before").content(), "hello");
  EXPECT_EQ(order, "");
  EXPECT_EQ(answer(router, "GET", "/now").content(), "now");
  EXPECT_EQ(order, "1234");
  EXPECT_EQ(answer(router, "GET", "/later").content(), "later");
  EXPECT_EQ(counting.calls, 2);
}

TEST(Router, lets_middleware_answer_in_place_of_the_handler) {
  Service service;
  Router router;
  router.use(refuses).get("/now", service, &Service::now);
  EXPECT_EQ(answer(router, "GET", "/now").status(), Status::Unauthorized);
  EXPECT_EQ(service.calls, 0);
}

TEST(RouterDeathTest, refuses_mistakes_with_a_sentence) {
  Router router;
  router.get("/a/{id}", hello);
  EXPECT_DEATH(router.get("/a/{id}", hello), "one handler for each method");
  EXPECT_DEATH(router.get("no-slash", hello), "no-slash");
  EXPECT_DEATH(router.put("/b", hello, {.streams_body = true}), "returns a Task");
  EXPECT_DEATH(router.add(Method::Connect, "/a", Handler{hello, {}}), "a method of its own");
}

}  // namespace
}  // namespace keel::http
