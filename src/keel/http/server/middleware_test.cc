#include "keel/http/server/middleware.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "keel/http/server/router.h"
#include "keel/http/testing/internal/request_test.h"
#include "keel/task/testing.h"

namespace keel::http::middleware_test {
namespace {

Response ok(std::string_view text) { return Response::text(Status::Ok, text); }
Response hello(Request&) { return ok("hello"); }
Task<Response> hello_later(Request&) { co_return ok("later"); }
Result<Response> fails(Request&) { return fail(Code::NotFound, "no such thing"); }
Task<Response> fails_later(Request&) {
  co_await fail(Code::NotFound, "no such thing");
  co_return ok("unexpected");
}

// What a client gets, waited for.
Response answer(const Router& router, std::string_view method, std::string_view target, std::string_view fields = "") {
  TestRequest request(router, method, target, fields);
  if (request.match().handler->at_once) return request.finished(request.answer());
  keel::testing::TestLoop loop;
  return request.finished(loop.run(request.answer_later()));
}
bool is_at_once(const Router& router, std::string_view target) {
  return static_cast<bool>(TestRequest(router, "GET", target).match().handler->at_once);
}

std::string order;

// Around the rest.
template <char begin, char end>
Task<Response> around(Request& request, Next next) {
  order += begin;
  Response response = co_await next(request);
  order += end;
  co_return response;
}
Task<Response> refuses(Request&, Next) { co_return Response(Status::Unauthorized); }
struct Counting {
  int calls = 0;
  Task<Response> operator()(Request& request, Next next) {
    ++calls;
    co_return co_await next(request);
  }
};

// Synchronously.
struct Marks {
  char begin;
  char end;
  std::optional<Response> before(Request&) {
    order += begin;
    return std::nullopt;
  }
  void after(Request&, Response& response) {
    order += end;
    response.header("X-Mark", std::string(1, end));
  }
};
struct Denies {
  std::optional<Response> before(Request&) const {
    order += "!";
    return Response(Status::Forbidden);
  }
  void after(Request&, Response&) const { order += "never"; }
};
struct RunsOut {
  void after(Request&, Response&) { throw std::bad_alloc(); }
};
struct Throws {
  void after(Request&, Response&) { throw std::runtime_error("secret"); }
};

class Middlewares : public ::testing::Test {
 protected:
  void SetUp() override { order.clear(); }
};

TEST_F(Middlewares, run_in_the_order_written_around_later_routes) {
  Counting counting;
  Router router;
  router.get("/before", hello);
  router.use(around<'1', '4'>).use(&around<'2', '3'>).use(counting);
  router.get("/now", [](Request&) { return order += "-", ok("now"); });
  router.get("/later", &hello_later);

  EXPECT_EQ(answer(router, "GET", "/before").content(), "hello");
  EXPECT_EQ(order, "");
  EXPECT_EQ(answer(router, "GET", "/now").content(), "now");
  EXPECT_EQ(order, "12-34");
  EXPECT_EQ(answer(router, "GET", "/later").content(), "later");
  EXPECT_EQ(counting.calls, 2);
}

TEST_F(Middlewares, answer_in_place_of_the_handler) {
  Router router;
  router.use(refuses).get("/now", [](Request&) { return order += "handler", ok("now"); });
  EXPECT_EQ(answer(router, "GET", "/now").status(), Status::Unauthorized);
  EXPECT_EQ(order, "");
}

TEST_F(Middlewares, that_act_at_once_leave_a_handler_at_once) {
  Marks outer{'1', '4'};
  Router router;
  router.use(outer).use(Marks{'2', '3'});
  router.get("/now", [](Request&) { return order += "-", ok("now"); }).get("/later", &hello_later);

  EXPECT_TRUE(is_at_once(router, "/now"));
  const Response response = answer(router, "GET", "/now");
  EXPECT_EQ(order, "12-34");
  EXPECT_EQ(response.content(), "now");
  EXPECT_EQ(response.fields(), "X-Mark: 3\r\nX-Mark: 4\r\n");
  order.clear();
  EXPECT_FALSE(is_at_once(router, "/later"));
  EXPECT_EQ(answer(router, "GET", "/later").content(), "later");
  EXPECT_EQ(order, "1234");
}

TEST_F(Middlewares, that_answer_at_once_are_seen_by_those_outside_them_only) {
  const Denies denies;
  Router router;
  router.use(Marks{'1', '2'}).use(denies).use(Marks{'x', 'x'});
  router.get("/now", [](Request&) { return order += "handler", ok("now"); }).get("/later", &hello_later);

  for (const char* target : {"/now", "/later"}) {
    order.clear();
    EXPECT_EQ(answer(router, "GET", target).status(), Status::Forbidden) << target;
    EXPECT_EQ(order, "1!2") << target;
  }
}

TEST_F(Middlewares, of_both_forms_keep_their_order) {
  Router router;
  router.use(Marks{'1', '8'}).use(around<'2', '7'>).use(Marks{'3', '6'}).use(around<'4', '5'>);
  router.get("/now", [](Request&) { return order += "-", ok("now"); });

  EXPECT_EQ(answer(router, "GET", "/now").fields(), "X-Mark: 6\r\nX-Mark: 8\r\n");
  EXPECT_EQ(order, "1234-5678");
}

TEST_F(Middlewares, that_answer_within_one_that_is_around_the_rest_are_seen_by_it) {
  Router router;
  router.use(around<'1', '2'>).use(Denies());
  router.get("/now", hello);
  EXPECT_EQ(answer(router, "GET", "/now").status(), Status::Forbidden);
  EXPECT_EQ(order, "1!2");
}

TEST_F(Middlewares, see_errors_as_the_problems_they_become) {
  Router outer;
  outer.use(Marks{'1', '2'}).get("/now", fails).get("/later", &fails_later);
  Router within;
  within.use(around<'a', 'b'>).use(Marks{'1', '2'}).get("/now", fails).get("/later", &fails_later);

  for (const Router* router : {&outer, &within}) {
    for (const char* target : {"/now", "/later"}) {
      const Response response = answer(*router, "GET", target);
      EXPECT_EQ(response.status(), Status::NotFound);
      EXPECT_EQ(response.fields(), "X-Mark: 2\r\n");
      EXPECT_NE(response.content().find("no such thing"), std::string_view::npos);
    }
  }
}

TEST_F(Middlewares, that_are_around_the_rest_are_passed_by_errors) {
  Router router;
  router.use(around<'1', '2'>).get("/now", fails);
  EXPECT_EQ(answer(router, "GET", "/now").status(), Status::NotFound);
  EXPECT_EQ(order, "1");
}

TEST_F(Middlewares, that_throw_make_a_500_which_those_outside_still_see) {
  Router router;
  router.use(Marks{'1', '2'}).use(Throws()).get("/now", hello);
  const Response response = answer(router, "GET", "/now");
  EXPECT_EQ(response.status(), Status::InternalServerError);
  EXPECT_EQ(response.content().find("secret"), std::string_view::npos);
  EXPECT_EQ(response.fields(), "X-Mark: 2\r\n");
}

// There may be no memory for what a client is told, either.
TEST_F(Middlewares, that_run_out_of_memory_make_a_503_or_pass_that_on) {
  static_assert(!noexcept(Middleware::after(std::declval<Request&>(), std::declval<Response&>())));
  Router router;
  router.use(RunsOut()).get("/now", hello);
  EXPECT_EQ(answer(router, "GET", "/now").status(), Status::ServiceUnavailable);
}

TEST_F(Middlewares, that_act_at_once_stand_around_the_answers_of_the_router) {
  Router router;
  router.use(around<'x', 'x'>).use(Marks{'1', '2'});
  Group api = router.group("/api");
  api.use(Marks{'3', '4'}).post("/a", hello, {.consumes = {"text/plain"}, .produces = {"text/html"}});
  router.put("/api/a", hello);
  const auto seen = [&](std::string_view method, std::string_view target, Status status, std::string_view fields = "") {
    order.clear();
    EXPECT_EQ(answer(router, method, target, fields).status(), status) << method << " " << target;
    return order;
  };

  EXPECT_EQ(seen("GET", "/nowhere", Status::NotFound), "12");
  EXPECT_EQ(seen("BREW", "/api/a", Status::NotImplemented), "12");
  EXPECT_EQ(seen("OPTIONS", "*", Status::NoContent), "12");
  EXPECT_EQ(seen("DELETE", "/api/a", Status::MethodNotAllowed), "1342");
  EXPECT_EQ(seen("OPTIONS", "/api/a", Status::NoContent), "1342");
  EXPECT_EQ(seen("OPTIONS", "/api/a", Status::NoContent, "Access-Control-Request-Method: PUT\r\n"), "12");
  EXPECT_EQ(seen("OPTIONS", "/api/a", Status::NoContent, "Access-Control-Request-Method: GET\r\n"), "1342");
  EXPECT_EQ(seen("POST", "/api/a", Status::UnsupportedMediaType, "Content-Length: 1\r\n"), "1342");
  EXPECT_EQ(seen("POST", "/api/a", Status::NotAcceptable, "Accept: image/png\r\n"), "1342");
}

TEST_F(Middlewares, of_a_group_are_its_own_and_begin_with_those_of_its_router) {
  Router router;
  router.use(Marks{'1', '1'});
  Group api = router.group("/api");
  api.use(Marks{'2', '2'});
  Group inner = api.group("/inner");
  inner.use(Marks{'3', '3'}).get("/a", hello);
  api.use(Marks{'4', '4'}).get("/a", hello);
  router.use(Marks{'5', '5'}).get("/a", hello);
  api.get("/b", hello);
  const auto seen = [&](std::string_view target) {
    order.clear();
    EXPECT_EQ(answer(router, "GET", target).content(), "hello");
    return order;
  };

  EXPECT_EQ(seen("/api/inner/a"), "123321");
  EXPECT_EQ(seen("/api/a"), "124421");
  EXPECT_EQ(seen("/a"), "1551");
  EXPECT_EQ(seen("/api/b"), "124421") << "a group has what its router had when it was made";
}

struct Counted {
  explicit Counted(int& lives) : lives_(&lives) { ++*lives_; }
  Counted(Counted&& other) noexcept : lives_(other.lives_) { ++*lives_; }
  ~Counted() { --*lives_; }
  void after(Request&, Response&) {}
  int* lives_;
};

TEST_F(Middlewares, without_a_name_are_kept_as_long_as_the_router) {
  int lives = 0;
  {
    Router router;
    router.use(Counted(lives)).group("/g").use(Counted(lives));
    EXPECT_EQ(lives, 2);
  }
  EXPECT_EQ(lives, 0);
}

}  // namespace
}  // namespace keel::http::middleware_test
