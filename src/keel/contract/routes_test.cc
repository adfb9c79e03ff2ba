#include "keel/contract/routes.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/testing/test_server.h"

namespace routes_test {

using namespace keel;
using contract::Routes;
using http::Method;

struct Handler {
  std::string text;
};
Task<http::Response> answer(Handler& handler, http::Request& request) {
  co_return http::Response::text(http::Status::Ok, handler.text + std::string(request.path()));
}
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
  Routes(router).add(Method::Get, "/a/{id}", handler, &answer);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/a/1").body(), "one /a/1");
  EXPECT_EQ(server.post("/a/1").status(), 405);
}

TEST(ContractRoutes, stand_below_a_prefix_and_in_a_group) {
  Handler handler{""};
  http::Router router;
  Routes(router).below("/v1").add(Method::Get, "/a", handler, &answer);
  Routes(router.group("/admin")).below("/v2").add(Method::Get, "/a", handler, &answer);
  Routes(router).below("").add(Method::Get, "/b", handler, &answer);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/v1/a").status(), 200);
  EXPECT_EQ(server.get("/admin/v2/a").status(), 200);
  EXPECT_EQ(server.get("/b").status(), 200);
  EXPECT_EQ(server.get("/a").status(), 404);
}

TEST(ContractRoutes, with_a_middleware_leave_the_others_without_it) {
  int calls = 0;
  Handler handler{""};
  http::Router router;
  const Routes routes(router);
  routes.with(Counting{&calls}).add(Method::Get, "/inside", handler, &answer);
  routes.add(Method::Get, "/outside", handler, &answer);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/outside").status(), 200);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(server.get("/inside").status(), 200);
  EXPECT_EQ(calls, 1);
}

TEST(ContractRoutes, take_the_options_of_a_route) {
  Handler handler{""};
  http::Router router;
  Routes(router).add(Method::Post, "/a", handler, &answer, {.consumes = {"application/json"}});
  http::TestServer server(router);

  EXPECT_EQ(server.post("/a", "x", "text/plain").status(), 415);
  EXPECT_EQ(server.post("/a", "{}").status(), 200);
}

}  // namespace routes_test
