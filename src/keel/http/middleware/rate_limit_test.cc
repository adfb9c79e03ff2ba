#include "keel/http/middleware/rate_limit.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "keel/http/testing/internal/request_test.h"
#include "keel/task/testing.h"

namespace keel::http::rate_limit_test {
namespace {

Response hello(Request&) { return Response::text(Status::Ok, "hello"); }

struct Answer {
  int status;
  std::string fields;
};
Answer ask(const Router& router, std::string_view fields = "", std::string_view target = "/a") {
  TestRequest request(router, "GET", target, fields);
  const Response response = request.finished(request.answer());
  return {number(response.status()), std::string(response.fields())};
}

TEST(RateLimit, lets_through_what_it_says_and_refuses_the_next) {
  keel::testing::TestLoop loop;
  const RateLimit limit({.requests = 2, .per = 10_s});
  Router router;
  router.use(limit).get("/a", hello);
  const std::string policy = "RateLimit-Policy: \"default\";q=2;w=10\r\n";

  EXPECT_EQ(ask(router).fields, policy + "RateLimit: \"default\";r=1;t=5\r\n");
  EXPECT_EQ(ask(router).fields, policy + "RateLimit: \"default\";r=0;t=10\r\n");
  const Answer refused = ask(router);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.fields, "Retry-After: 5\r\n" + policy + "RateLimit: \"default\";r=0;t=10\r\n");
  loop.advance(5_s);
  EXPECT_EQ(ask(router).status, 200);
  EXPECT_EQ(ask(router).status, 429);
}

TEST(RateLimit, counts_by_the_value_of_a_field_where_it_says_so) {
  keel::testing::TestLoop loop;
  Router router;
  router.use(RateLimit({.requests = 1, .per = 10_s, .header = "X-Api-Key"})).get("/a", hello);

  EXPECT_EQ(ask(router, "X-Api-Key: one\r\n").status, 200);
  EXPECT_EQ(ask(router, "X-Api-Key: two\r\n").status, 200);
  EXPECT_EQ(ask(router, "x-api-key: one\r\n").status, 429);
  EXPECT_EQ(ask(router).status, 200) << "without the field, by address";
  EXPECT_EQ(ask(router).status, 429);
}

TEST(RateLimit, does_not_take_a_field_for_an_address) {
  keel::testing::TestLoop loop;
  Router router;
  router.use(RateLimit({.requests = 1, .per = 10_s, .header = "X-Api-Key"})).get("/a", hello);

  EXPECT_EQ(ask(router, "X-Api-Key:\r\n").status, 200);
  EXPECT_EQ(ask(router).status, 200) << "the request of a test has no address";
  EXPECT_EQ(ask(router, "X-Api-Key:\r\n").status, 429);
  EXPECT_EQ(ask(router).status, 429);
}

TEST(RateLimit, may_stand_around_a_route_twice) {
  keel::testing::TestLoop loop;
  Router router;
  router.use(RateLimit({.requests = 3, .per = 10_s, .name = "all"}));
  router.group("").use(RateLimit({.requests = 1, .per = 10_s, .name = "dear"})).get("/dear", hello);
  router.get("/a", hello);

  const Answer first = ask(router, "", "/dear");
  EXPECT_EQ(first.status, 200);
  EXPECT_NE(first.fields.find("RateLimit: \"dear\";r=0;t=10\r\n"), std::string::npos) << first.fields;
  EXPECT_NE(first.fields.find("RateLimit: \"all\";r=2;t=4\r\n"), std::string::npos) << first.fields;
  EXPECT_EQ(ask(router, "", "/dear").status, 429);
  EXPECT_EQ(ask(router).status, 200);
  EXPECT_EQ(ask(router).status, 429) << "what the inner one refused has taken from the outer one";
}

TEST(RateLimit, counts_what_the_router_answers_itself) {
  keel::testing::TestLoop loop;
  Router router;
  router.use(RateLimit({.requests = 1, .per = 10_s}));
  EXPECT_EQ(ask(router, "", "/nowhere").status, 404);
  EXPECT_EQ(ask(router, "", "/nowhere").status, 429);
}

TEST(RateLimit, counts_on_each_thread_for_itself) {
  keel::testing::TestLoop loop;
  Router router;
  router.use(RateLimit({.requests = 1, .per = 10_s})).get("/a", hello);
  EXPECT_EQ(ask(router).status, 200);
  std::thread([&] {
    keel::testing::TestLoop other;
    EXPECT_EQ(ask(router).status, 200);
    EXPECT_EQ(ask(router).status, 429);
  }).join();
  EXPECT_EQ(ask(router).status, 429);
}

TEST(RateLimitDeathTest, refuses_options_that_let_nothing_through) {
  EXPECT_DEATH(RateLimit({.requests = 0}), "must allow at least one request");
  EXPECT_DEATH(RateLimit({.per = 1_ms}), "at least one request, in a period of at least a second");
  EXPECT_DEATH(RateLimit({.header = "a b"}), "name of a field");
  EXPECT_DEATH(RateLimit({.name = "a\""}), "letters and digits");
}

}  // namespace
}  // namespace keel::http::rate_limit_test
