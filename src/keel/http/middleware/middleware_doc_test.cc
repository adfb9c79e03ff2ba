// docs/middleware.md, compiled and run: each of its blocks stands here (tools/tidy/pages.cc).

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/base64.h"
#include "keel/http/middleware/authentication.h"
#include "keel/http/middleware/compression.h"
#include "keel/http/middleware/cors.h"
#include "keel/http/middleware/rate_limit.h"
#include "keel/http/middleware/security_headers.h"
#include "keel/http/server/body_transform.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/router.h"
#include "keel/http/testing/internal/request_test.h"
#include "keel/http/testing/test_server.h"
#include "keel/task/testing.h"
#include "keel/task/timing.h"

namespace keel::middleware_doc_test {
namespace {

struct Caller {
  int id;
};

struct RequireKey {
  // A response here is the response; nullopt lets the request pass.
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

bool is_signed(std::string_view body, std::optional<std::string_view> signature) { return signature == body; }

Task<http::Response> signed_only(http::Request& request, http::Next next) {
  const std::string_view body = co_await request.whole_body();
  if (!is_signed(body, request.header("X-Signature"))) co_return http::refuse(http::Status::Unauthorized, "not signed");
  co_return co_await next(request);
}

// RFC 4180 wants lines that end with CRLF.
class CrlfLines final : public http::BodyTransform {
 public:
  Result<> write(std::string_view piece, Buffer& out) override {
    for (const char c : piece) out.append(c == '\n' ? "\r\n" : std::string_view(&c, 1));
    return {};
  }
  Result<> end(Buffer&) override { return {}; }      // nothing was kept back
  void release() noexcept override { delete this; }  // the last call, once
};

struct CsvForSpreadsheets {
  void after(http::Request&, http::Response& response) {
    if (response.is_streamed() && response.content_type() == "text/csv") response.transform(*new CrlfLines);
  }
};

Task<> write_rows(http::BodyWriter& out) {
  co_await out.write("id,name\n");
  co_await out.write("1,Ada\n");
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

namespace authentication {

struct Caller {
  std::string name;
  bool may_write = false;
};

struct Sessions {
  Task<std::optional<Caller>> find(std::string token);  // nullopt: no such token
};

Task<std::optional<Caller>> Sessions::find(std::string token) {
  co_await sleep_for(1_ms);
  if (token == "writer") co_return Caller{"Ada", true};
  if (token == "reader") co_return Caller{"Bob", false};
  co_return std::nullopt;
}

struct Orders {
  http::Response list(http::Request& request) {
    const Caller& caller = *request.get<Caller>();
    if (!caller.may_write) return http::insufficient_scope("orders:write");  // 403 that says what is needed
    return http::Response::text(http::Status::Ok, "for " + caller.name);
  }
  http::Response ping(http::Request& request) {
    return http::Response::text(http::Status::Ok, request.get<http::KeyOwner>()->name);
  }
};

}  // namespace authentication

std::string answer(const http::Router& router, std::string_view target, std::string_view fields = "") {
  http::TestRequest request(router, "GET", target, fields);
  const http::Response response = request.match().handler->at_once ? request.finished(request.answer()) : [&] {
    testing::TestLoop loop;
    return request.finished(loop.run(request.answer_later()));
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

  router.group("/signed").use(signed_only).post("/a", [](http::Request& request) {
    return http::Response::text(http::Status::Ok, request.body());
  });
  EXPECT_EQ(http::TestServer(router).post("/signed/a", "text").status(), 401);
}

TEST(MiddlewareDoc, says_who_is_asking) {
  using namespace authentication;
  Sessions sessions;
  Orders orders;
  const std::vector<http::NamedKey> keys = {{"ci", "key-1"}};
  auto by_token = [&](std::string_view token) { return sessions.find(std::string(token)); };
  auto by_password = [](std::string_view user, std::string_view password) -> std::optional<authentication::Caller> {
    if (password != "open sesame") return std::nullopt;
    return authentication::Caller{std::string(user), true};
  };
  http::Router router;
  router.group("/api").use(http::bearer(by_token, {.realm = "orders"})).get("/orders", orders, &Orders::list);
  router.group("/office").use(http::basic(by_password, {.realm = "back office"})).get("/", orders, &Orders::list);
  router.group("/hooks").use(http::api_key(http::one_of(keys))).get("/ping", orders, &Orders::ping);

  http::TestServer server(router);
  const auto ask = [&](std::string_view path, std::string_view field, const std::string& value) {
    http::ClientRequest request(http::Method::Get, path);
    if (!value.empty()) request.header(field, value);
    return server.send(std::move(request));
  };
  EXPECT_EQ(ask("/api/orders", "Authorization", "Bearer writer").body(), "for Ada");
  EXPECT_EQ(ask("/api/orders", "Authorization", "Bearer reader").status(), 403);
  EXPECT_EQ(ask("/api/orders", "Authorization", "Bearer nobody").status(), 401);
  EXPECT_EQ(
      ask("/office/", "Authorization", "Basic " + base64::encode("Ada:open sesame", base64::Form::Standard)).body(),
      "for Ada");
  EXPECT_EQ(ask("/hooks/ping", "X-Api-Key", "key-1").body(), "ci");
  EXPECT_EQ(ask("/hooks/ping", "X-Api-Key", "").status(), 401);
}

TEST(MiddlewareDoc, changes_a_streamed_body) {
  http::Router router;
  router.use(CsvForSpreadsheets()).get("/users.csv", [](http::Request&) {
    return http::Response::stream(http::Status::Ok, "text/csv", &write_rows);
  });
  http::TestServer server(router);
  EXPECT_EQ(server.get("/users.csv").body(), "id,name\r\n1,Ada\r\n");
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
}  // namespace keel::middleware_doc_test
