#include "keel/http/server/problem.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "keel/base/arena.h"
#include "keel/data/json.h"

namespace keel::http::problem_test {
namespace {

TEST(Problem, has_the_members_of_rfc_9457) {
  const Response response = problem(Error(Code::NotFound, "no such user"));
  EXPECT_EQ(response.status(), Status::NotFound);
  EXPECT_EQ(response.content_type(), "application/problem+json");
  EXPECT_EQ(response.content(), R"({"type":"about:blank","title":"Not Found","status":404,"detail":"no such user"})");
}

TEST(Problem, has_the_status_of_each_code) {
  for (int i = 0; i < code_count; ++i) {
    const Error error(static_cast<Code>(i), "text");
    EXPECT_EQ(static_cast<int>(problem(error).status()), http_status(error.code())) << to_string(error.code());
  }
}

TEST(Problem, tells_nothing_of_what_went_wrong_inside) {
  for (const Code code :
       {Code::Internal, Code::DataLoss, Code::Unavailable, Code::ResourceExhausted, Code::DeadlineExceeded}) {
    const Response response = problem(Error(code, "GET http://users.internal/?token=secret: refused"));
    EXPECT_EQ(static_cast<int>(response.status()), http_status(code));
    EXPECT_NE(response.content().find("has been logged"), std::string_view::npos) << response.content();
    EXPECT_EQ(response.content().find("secret"), std::string_view::npos) << response.content();
  }
  EXPECT_EQ(problem(Error(Code::Upstream, "GET http://users.internal/: no such host")).content(),
            R"({"type":"about:blank","title":"Bad Gateway","status":502,)"
            R"("detail":"another server failed; the error has been logged"})");
}

TEST(Problem, of_what_the_environment_did_is_the_servers_fault_and_says_nothing) {
  for (int i = 0; i < code_count; ++i) {
    const auto code = static_cast<Code>(i);
    const Response response = problem(Error(code, "data/pictures/1.png.71fc: open").from_environment());
    const int status = static_cast<int>(response.status());
    if (code != Code::Cancelled) {
      EXPECT_TRUE(status == 500 || (status >= 502 && status <= 504)) << to_string(code) << ' ' << status;
    }
    EXPECT_EQ(response.content().find("1.png"), std::string_view::npos) << response.content();
  }
  EXPECT_EQ(problem(Error::from_errno("open", ENOENT).because("data/pictures/1.png.71fc")).content(),
            R"({"type":"about:blank","title":"Internal Server Error","status":500,)"
            R"("detail":"an internal error occurred and has been logged"})");
  EXPECT_EQ(problem(Error::from_errno("connect", ECONNREFUSED)).status(), Status::ServiceUnavailable);
  EXPECT_EQ(problem(Error(Code::Upstream, "x").from_environment()).status(), Status::BadGateway);
  EXPECT_EQ(problem(Error(Code::DeadlineExceeded, "x").from_environment()).status(), Status::GatewayTimeout);
}

TEST(Problem, of_a_refusal_may_have_any_status_and_no_detail) {
  EXPECT_EQ(refuse(Status::UnsupportedMediaType, {}).content(),
            R"({"type":"about:blank","title":"Unsupported Media Type","status":415})");
  EXPECT_EQ(refuse(Status::BadRequest, "a \"quoted\"\nline").content(),
            R"({"type":"about:blank","title":"Bad Request","status":400,"detail":"a \"quoted\"\nline"})");
}

TEST(Problem, names_the_members_that_are_not_acceptable) {
  Invalid invalid;
  EXPECT_TRUE(invalid.empty());
  invalid.field("/email", "must not be empty", "minLength").field("/age", "must be positive");
  EXPECT_FALSE(invalid.empty());
  const Response response = std::move(invalid).response();
  EXPECT_EQ(response.status(), Status::UnprocessableContent);
  EXPECT_NE(
      response.content().find(R"("errors":[{"pointer":"/email","keyword":"minLength","detail":"must not be empty"},)"
                              R"({"pointer":"/age","detail":"must be positive"}])"),
      std::string_view::npos)
      << response.content();
}

Response of_json(std::string_view text) {
  Arena arena;
  json::Reader reader(text, arena);
  reader.begin_object();
  while (auto key = reader.next_key()) {
    if (*key == "age") {
      reader.int64();
    } else {
      reader.skip();
    }
  }
  (void)reader.finish();
  EXPECT_TRUE(reader.failed()) << text;
  return problem(reader);
}

TEST(Problem, of_text_that_is_not_json_is_400_with_its_place) {
  const Response response = of_json("{\"age\": 1,\n  x}");
  EXPECT_EQ(response.status(), Status::BadRequest);
  EXPECT_NE(response.content().find("at line 2 column 3"), std::string_view::npos) << response.content();
}

TEST(Problem, of_json_of_another_shape_is_422_with_the_member) {
  const Response response = of_json(R"({"name":"x","age":"old"})");
  EXPECT_EQ(response.status(), Status::UnprocessableContent);
  EXPECT_NE(response.content().find(R"("pointer":"/age","keyword":"type")"), std::string_view::npos)
      << response.content();
}

}  // namespace
}  // namespace keel::http::problem_test
