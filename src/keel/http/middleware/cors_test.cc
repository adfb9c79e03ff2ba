#include "keel/http/middleware/cors.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/testing/internal/request_test.h"

namespace keel::http::cors_test {
namespace {

constexpr std::string_view vary_of_preflight =
    "Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n";

struct Answer {
  int status;
  std::string fields;
};

Answer answer(const Router& router, std::string_view method, std::string_view fields, std::string_view target = "/a") {
  TestRequest request(router, method, target, fields);
  const Response response = request.finished(request.answer());
  return {number(response.status()), std::string(response.fields())};
}
Answer ask(const CorsOptions& options, std::string_view method, std::string_view fields,
           std::string_view target = "/a") {
  const Cors cors(options);
  Router router;
  router.group("")
      .use(cors)
      .get("/a", [](Request&) { return Response::text(Status::Ok, "a"); })
      .del("/a", [](Request&) { return Response(Status::NoContent); });
  return answer(router, method, fields, target);
}

const CorsOptions named{.origins = {"https://a.example", "https://b.example:8443"}};

TEST(Cors, lets_the_named_origins_read_answers) {
  for (const char* origin : {"https://a.example", "https://b.example:8443"}) {
    const Answer got = ask(named, "GET", "Origin: " + std::string(origin) + "\r\n");
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.fields, "Vary: Origin\r\nAccess-Control-Allow-Origin: " + std::string(origin) + "\r\n");
  }
}

TEST(Cors, says_nothing_to_other_origins_and_keeps_caches_from_mixing_them_up) {
  for (const char* origin :
       {"https://c.example", "http://a.example", "https://a.example:8443", "https://a.example.evil",
        "https://b.example", "null", "https://A.example", "https://a.example,https://c.example"}) {
    const Answer got = ask(named, "GET", "Origin: " + std::string(origin) + "\r\n");
    EXPECT_EQ(got.status, 200) << origin;
    EXPECT_EQ(got.fields, "Vary: Origin\r\n") << origin;
  }
  EXPECT_EQ(ask(named, "GET", "").fields, "Vary: Origin\r\n");
}

TEST(Cors, answers_a_preflight_with_the_methods_of_the_path) {
  const Answer got = ask(named, "OPTIONS",
                         "Origin: https://a.example\r\nAccess-Control-Request-Method: DELETE\r\n"
                         "Access-Control-Request-Headers: content-type,AUTHORIZATION\r\n");
  EXPECT_EQ(got.status, 204);
  EXPECT_EQ(got.fields,
            "Access-Control-Allow-Origin: https://a.example\r\n"
            "Access-Control-Allow-Methods: GET, HEAD, DELETE, OPTIONS\r\n"
            "Access-Control-Allow-Headers: Content-Type, Authorization\r\n"
            "Access-Control-Max-Age: 600\r\n" +
                std::string(vary_of_preflight));
}

TEST(Cors, refuses_a_preflight_for_what_is_not_allowed) {
  const char* const refused[] = {
      "Origin: https://c.example\r\nAccess-Control-Request-Method: GET\r\n",
      "Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n",
      "Origin: https://a.example\r\nAccess-Control-Request-Method: GET, HEAD\r\n",
      "Origin: https://a.example\r\nAccess-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: x-other\r\n",
      ("Origin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n"
       "Access-Control-Request-Headers: content-type\r\nAccess-Control-Request-Headers: x-other\r\n"),
  };
  for (const char* fields : refused) {
    const Answer got = ask(named, "OPTIONS", fields);
    EXPECT_EQ(got.status, 403) << fields;
    EXPECT_EQ(got.fields, vary_of_preflight) << fields;
  }
}

TEST(Cors, leaves_other_options_requests_to_the_router) {
  EXPECT_EQ(ask(named, "OPTIONS", "").fields, "Allow: GET, HEAD, DELETE, OPTIONS\r\nVary: Origin\r\n");
  EXPECT_EQ(ask(named, "OPTIONS", "Origin: https://a.example\r\n").fields,
            "Allow: GET, HEAD, DELETE, OPTIONS\r\nVary: Origin\r\nAccess-Control-Allow-Origin: https://a.example\r\n");
  EXPECT_EQ(ask(named, "OPTIONS", "Access-Control-Request-Method: GET\r\n").status, 204);
}

TEST(Cors, lets_every_origin_read_where_it_says_so) {
  const CorsOptions any{.origins = {"*"}, .exposed = {"X-Total", "ETag"}};
  EXPECT_EQ(ask(any, "GET", "Origin: https://c.example\r\n").fields,
            "Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: X-Total, ETag\r\n");
  EXPECT_EQ(ask(any, "GET", "").fields, "");
}

TEST(Cors, names_the_origin_and_credentials_where_they_are_allowed) {
  const CorsOptions options{.origins = {"https://a.example"}, .credentials = true};
  EXPECT_EQ(ask(options, "GET", "Origin: https://a.example\r\n").fields,
            "Vary: Origin\r\nAccess-Control-Allow-Origin: https://a.example\r\n"
            "Access-Control-Allow-Credentials: true\r\n");
  EXPECT_NE(ask(options, "OPTIONS", "Origin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n")
                .fields.find("Access-Control-Allow-Credentials: true\r\n"),
            std::string::npos);
  EXPECT_EQ(ask(options, "GET", "Origin: https://c.example\r\n").fields, "Vary: Origin\r\n");
}

TEST(Cors, leaves_a_preflight_to_a_path_that_answers_it_itself) {
  const Cors cors(named);
  Router router;
  const auto own_answer = [](Request&) { return Response(Status::Ok).header("X-Own", "1"); };
  router.use(cors).add(Method::Options, "/own", internal::make_handler(own_answer));
  const std::string_view preflight = "Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n";
  const Answer own = answer(router, "OPTIONS", preflight, "/own");
  EXPECT_EQ(own.status, 200);
  EXPECT_NE(own.fields.find("X-Own: 1\r\n"), std::string::npos);
  EXPECT_NE(own.fields.find("Access-Control-Allow-Origin: https://a.example\r\n"), std::string::npos);
  EXPECT_EQ(answer(router, "OPTIONS", preflight, "/nowhere").status, 404);
}

TEST(Cors, lets_pages_read_errors_too) {
  const Cors cors(named);
  Router router;
  router.use(cors).get("/a", [](Request&) -> Result<Response> { return fail(Code::Conflict, "no"); });
  for (const auto& [target, status] : {std::pair("/a", 409), std::pair("/nowhere", 404)}) {
    const Answer got = answer(router, "GET", "Origin: https://a.example\r\n", target);
    EXPECT_EQ(got.status, status);
    EXPECT_NE(got.fields.find("Access-Control-Allow-Origin: https://a.example\r\n"), std::string::npos) << target;
  }
}

TEST(CorsDeathTest, refuses_options_that_would_not_protect_anybody) {
  EXPECT_DEATH(Cors({}), "needs at least one allowed origin");
  EXPECT_DEATH(Cors({.origins = {"*"}, .credentials = true}), "with credentials must name its origins");
  EXPECT_DEATH(Cors({.origins = {"*", "https://a.example"}}), "not both");
  for (const char* origin :
       {"a.example", "https://", "https://a.example/", "https://*.example", "HTTPS://a.example", "https://u@a.example",
        "https://a.example, https://b.example", "null", "https://a.example:443", "http://a.example:80"}) {
    EXPECT_DEATH(Cors({.origins = {origin}}), "a scheme, a host, and a port") << origin;
  }
  EXPECT_DEATH(Cors({.origins = {"*"}, .headers = {"a b"}}), "have valid names");
}

}  // namespace
}  // namespace keel::http::cors_test
