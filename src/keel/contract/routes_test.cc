#include "keel/contract/routes.h"

#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>

#include "keel/contract/input.h"
#include "keel/contract/response.h"
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
class Reply : public contract::Response {
 public:
  static Reply ok(std::string_view text) { return Reply(http::Response::text(http::Status::Ok, text)); }

 private:
  using Response::Response;
};
Result<> read(contract::Input& in, void* asked) {
  if (in.is_body("text/bad")) return fail(Code::InvalidArgument, "bad");
  static_cast<Asked*>(asked)->path = "read";
  return {};
}
constexpr contract::Asked reading = {.body = &read};

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
// Serves one function.
template <auto operation>
void serve(const Routes& routes, contract::Route route, Handler& handler) {
  static std::deque<contract::Route> kept;
  route.call = contract::call_of<operation>;
  const contract::Route* const all[] = {&kept.emplace_back(route)};
  routes.serve(all, &handler);
}
contract::Route route(Method method, std::string_view pattern) { return {method, pattern, nullptr, &reading}; }
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
  serve<&Handler::answer>(Routes(router), route(Method::Get, "/a/{id}"), handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/a/1").body(), "one read");
  EXPECT_EQ(server.post("/a/1").status(), 405);
  EXPECT_EQ(Asked::alive, 0);
}

TEST(ContractRoutes, do_not_call_it_for_a_request_that_cannot_be_read) {
  Handler handler{"one "};
  http::Router router;
  serve<&Handler::answer>(Routes(router), route(Method::Post, "/{id}"), handler);
  http::TestServer server(router);

  EXPECT_EQ(server.post("/bad", "x", "text/bad").status(), 400);
  EXPECT_EQ(handler.calls, 0);
  EXPECT_EQ(Asked::alive, 0);
  EXPECT_EQ(server.post("/good", "x", "text/good").status(), 200);
}

TEST(ContractRoutes, answer_an_error_and_an_exception_of_the_function) {
  Handler handler{""};
  http::Router router;
  const Routes routes(router);
  serve<&Handler::fails>(routes, route(Method::Get, "/fails"), handler);
  serve<&Handler::throws>(routes, route(Method::Get, "/throws"), handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/fails").status(), 404);
  EXPECT_EQ(server.get("/throws").status(), 500);
  EXPECT_EQ(Asked::alive, 0);
}

TEST(ContractRoutes, need_no_function_that_reads) {
  Handler handler{"one"};
  http::Router router;
  serve<&Handler::answer>(router, {Method::Get, "/a", nullptr}, handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/a").body(), "one");
}

TEST(ContractRoutes, stand_below_a_prefix_and_in_a_group) {
  Handler handler{""};
  http::Router router;
  serve<&Handler::answer>(Routes(router).below("/v1"), route(Method::Get, "/a"), handler);
  serve<&Handler::answer>(Routes(router.group("/admin")).below("/v2"), route(Method::Get, "/a"), handler);
  serve<&Handler::answer>(Routes(router).below(""), route(Method::Get, "/b"), handler);
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
  contract::Route streamed = route(Method::Post, "/streamed");
  streamed.streams_body = true;
  serve<&Handler::reads>(routes, streamed, handler);
  serve<&Handler::answer>(routes, route(Method::Post, "/whole"), handler);
  serve<&Handler::reads>(Routes(router).streaming(std::nullopt), streamed, handler);
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
  serve<&Handler::answer>(routes.with(Counting{&calls}), route(Method::Get, "/inside"), handler);
  serve<&Handler::answer>(routes, route(Method::Get, "/outside"), handler);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/outside").status(), 200);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(server.get("/inside").status(), 200);
  EXPECT_EQ(calls, 1);
}

TEST(ContractRoutes, take_the_options_of_a_route) {
  Handler handler{""};
  http::Router router;
  contract::Route taking = route(Method::Post, "/a");
  taking.consumes = contract::json_only;
  serve<&Handler::answer>(router, taking, handler);
  http::TestServer server(router);

  EXPECT_EQ(server.post("/a", "x", "text/plain").status(), 415);
  EXPECT_EQ(server.post("/a", "{}").status(), 200);
}

}  // namespace routes_test
