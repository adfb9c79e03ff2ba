#include "keel/http/middleware/security_headers.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/testing/internal/request_test.h"

namespace keel::http::security_headers_test {
namespace {

// The fields of what a route answers, with the middleware around it.
std::string fields(const SecurityHeadersOptions& options, Response (*handler)(Request&), const char* target = "/") {
  Router router;
  router.use(SecurityHeaders(options)).get("/", handler);
  TestRequest request(router, "GET", target);
  return std::string(request.finished(request.answer()).fields());
}

Response plain(Request&) { return Response::text(Status::Ok, "x"); }
Response with_its_own(Request&) {
  return Response::text(Status::Ok, "x").header("content-security-policy", "default-src 'self'");
}

TEST(SecurityHeaders, are_those_of_an_api_by_default) {
  const std::string expected =
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n";
  EXPECT_EQ(fields({}, plain), expected);
  EXPECT_EQ(fields({}, plain, "/nowhere"), expected) << "a 404 too";
}

TEST(SecurityHeaders, leave_a_field_of_the_handler_as_it_is) {
  const std::string all = fields({}, with_its_own);
  EXPECT_TRUE(all.starts_with("content-security-policy: default-src 'self'\r\nX-Content-Type-Options")) << all;
  EXPECT_EQ(all.find("Content-Security-Policy"), std::string::npos);
}

TEST(SecurityHeaders, are_left_out_where_empty_and_added_where_asked_for) {
  SecurityHeadersOptions options;
  options.content_security_policy = options.frame_options = options.referrer_policy = "";
  options.cross_origin_opener_policy = options.cross_origin_resource_policy = "";
  options.nosniff = false;
  EXPECT_EQ(fields(options, plain), "");
  options.permissions_policy = "camera=()";
  options.hsts_max_age = 2_min;
  EXPECT_EQ(fields(options, plain),
            "Permissions-Policy: camera=()\r\nStrict-Transport-Security: max-age=120; includeSubDomains\r\n");
  options.hsts_subdomains = false;
  EXPECT_TRUE(fields(options, plain).ends_with("max-age=120\r\n"));
}

TEST(SecurityHeadersDeathTest, refuse_a_value_that_would_end_its_line) {
  EXPECT_DEATH(SecurityHeaders({.content_security_policy = "a\r\nSet-Cookie: b"}), "a line of text");
}

}  // namespace
}  // namespace keel::http::security_headers_test
