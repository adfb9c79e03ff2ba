// docs/middleware.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/middleware/compression.h"
#include "keel/http/middleware/cors.h"
#include "keel/http/middleware/rate_limit.h"
#include "keel/http/middleware/security_headers.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/router.h"
#include "keel/http/testing/internal/request_test.h"
#include "keel/task/testing.h"

namespace keel {
namespace {

struct Caller {
  int id;
};

struct RequireKey {
  // An answer here is the answer; nullopt lets the request pass.
  std::optional<http::Response> before(http::Request& request) {
    const auto key = request.header("X-Api-Key");
    if (!key || *key != "secret") {
      return http::refuse(http::Status::Unauthorized, "this needs an X-Api-Key")
          .header("WWW-Authenticate", "ApiKey realm=\"reports\"");  // a 401 names what it asks for
    }
    request.set(Caller{7});  // the handler finds it by request.get<Caller>()
    return std::nullopt;
  }
};

struct Stamp {
  // Runs on whatever became of the request: an error, an exception and a deadline are problems by then.
  void after(http::Request&, http::Response& response) { response.header("X-Served-By", "keel"); }
};

Task<http::Response> with_retry(http::Request& request, http::Next next) {
  Result<http::Response> response = co_await attempt(next(request));
  if (!response && response.error().code() == Code::Unavailable) co_return co_await next(request);
  co_return std::move(response);
}

struct Users {
  int calls = 0;
  Result<http::Response> find(http::Request& request) {
    KEEL_TRY(unsigned id, request.path_param<unsigned>("id"));
    return http::Response::text(http::Status::Ok, "user " + std::to_string(id));
  }
  http::Response report(http::Request& request) {
    return http::Response::text(http::Status::Ok, "for " + std::to_string(request.get<Caller>()->id));
  }
  Result<http::Response> fails_once(http::Request&) {
    if (calls++ == 0) return fail(Code::Unavailable, "not now");
    return http::Response::text(http::Status::Ok, "again");
  }
};

std::string answer(const http::Router& router, std::string_view target, std::string_view fields = "") {
  http::TestRequest request(router, "GET", target, fields);
  const http::Handler& handler = *request.match().handler;
  const http::Response response = handler.at_once ? request.finished(handler.at_once(*request)) : [&] {
    testing::TestLoop loop;
    return request.finished(loop.run(handler.later(*request)));
  }();
  return std::to_string(http::number(response.status())) + " " + std::string(response.content()) + "\n" +
         std::string(response.fields());
}

TEST(MiddlewareDoc, does_what_it_says) {
  Users users;
  RequireKey require_key;
  http::Router router;
  router.use(http::SecurityHeaders()).use(http::Compression());

  http::Group api = router.group("/api", {.request_timeout = 5_s, .produces = {"application/json"}});
  api.use(http::Cors({.origins = {"https://app.example.com"}}));
  api.use(http::RateLimit({.requests = 100, .per = 1_min}));
  api.get("/users/{id:uint}", users, &Users::find);

  http::Group reports = api.group("/reports");  // what /api has, and more
  reports.use(require_key).get("/{name:slug}", users, &Users::report);

  const std::string found = answer(router, "/api/users/42", "Origin: https://app.example.com\r\n");
  EXPECT_TRUE(found.starts_with("200 user 42\n")) << found;
  for (const char* field : {"RateLimit: \"default\";r=99", "Access-Control-Allow-Origin: https://app.example.com\r\n",
                            "X-Content-Type-Options: nosniff\r\n"}) {
    EXPECT_NE(found.find(field), std::string::npos) << found;
  }
  EXPECT_TRUE(answer(router, "/api/users/x").starts_with("404 "));
  EXPECT_TRUE(answer(router, "/api/reports/may", "X-Api-Key: secret\r\n").starts_with("200 for 7\n"));
  EXPECT_TRUE(answer(router, "/api/reports/may").starts_with("401 "));
}

TEST(MiddlewareDoc, waits_where_it_has_to) {
  Users users;
  http::Router router;
  router.use(Stamp()).use(with_retry).get("/a", users, &Users::fails_once);
  EXPECT_EQ(answer(router, "/a"), "200 again\nX-Served-By: keel\r\n");
}

TEST(MiddlewareDoc, has_options_that_are_there) {
  http::Cors cors({.origins = {"https://app.example.com", "http://localhost:5173"},
                   .credentials = true,
                   .headers = {"Content-Type", "Authorization", "X-Request-Id"},
                   .exposed = {"ETag"}});
  http::SecurityHeaders pages({.content_security_policy = "default-src 'self'", .hsts_max_age = 8760_h});
  http::RateLimit by_key({.requests = 10, .per = 1_s, .header = "X-Api-Key", .name = "key"});
  http::Compression small({.bytes_min = 256, .types = {"application/json"}, .codings = {"br", "gzip"}});

  Users users;
  http::Router router;
  router.use(cors).use(pages).use(by_key).use(small).get("/users/{id}", users, &Users::find);
  const std::string found = answer(router, "/users/42");
  EXPECT_NE(found.find("max-age=31536000; includeSubDomains\r\n"), std::string::npos) << found;
  EXPECT_NE(found.find("RateLimit-Policy: \"key\";q=10;w=1\r\n"), std::string::npos) << found;
}

}  // namespace
}  // namespace keel
