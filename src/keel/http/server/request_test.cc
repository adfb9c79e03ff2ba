#include "keel/http/server/request.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/bug.h"
#include "keel/data/date.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"
#include "keel/http/testing/internal/request_test.h"

namespace keel::http::request_test {
namespace {

class Requests : public ::testing::Test {
 protected:
  Requests() {
    router_.get("/users/{id}/{name}", [](Request&) { return Response(Status::Ok); });
    router_.post("/users", [](Request&) { return Response(Status::Ok); });
  }
  Router router_;
};

TEST_F(Requests, show_their_parts) {
  TestRequest request(router_, "POST", "/users?a=b&c",
                      "X-Token: t\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n", "body");
  EXPECT_EQ(request->method(), Method::Post);
  EXPECT_EQ(request->path(), "/users");
  EXPECT_EQ(request->query(), "a=b&c");
  EXPECT_EQ(request->route(), "/users");
  EXPECT_EQ(request->header("x-tOKEN"), "t");
  EXPECT_EQ(request->header(Known::ContentType), "text/plain");
  EXPECT_EQ(request->header("missing"), std::nullopt);
  EXPECT_EQ(request->body(), "body");
}

TEST_F(Requests, convert_path_parameters) {
  TestRequest request(router_, "GET", "/users/-42/J%C3%BCrgen%2F%2541");
  EXPECT_EQ(*request->path_param<int>("id"), -42);
  EXPECT_EQ(*request->path_param<std::int64_t>("id"), -42);
  EXPECT_EQ(*request->path_param<double>("id"), -42.0);
  EXPECT_EQ(*request->path_param<std::string_view>("name"), "J\xc3\xbcrgen/%41") << "decoded once";
}

TEST_F(Requests, convert_parameters_to_types_that_are_read_from_text) {
  TestRequest request(router_, "GET",
                      "/users/0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50/n?since=2026-11-24T12%3a00%3A37%2B01:00");
  EXPECT_EQ(request->path_param<Uuid>("id").value().text(), "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
  EXPECT_EQ(request->query_param<Timestamp>("since").value()->text(), "2026-11-24T11:00:37Z");
  EXPECT_EQ(request->query_param<Timestamp>("until").value(), std::nullopt);

  TestRequest wrong(router_, "GET", "/users/0192f7a8/n?since=yesterday");
  const Result<Uuid> id = wrong->path_param<Uuid>("id");
  EXPECT_EQ(id.error().code(), Code::InvalidArgument);
  EXPECT_EQ(id.error().message(), "parameter 'id': expected a UUID such as 0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50");
  EXPECT_EQ(wrong->query_param<Timestamp>("since").error().message(),
            "parameter 'since': expected a time such as 2026-11-24T12:00:37.250Z (RFC 3339)");
  EXPECT_EQ(wrong->query_param<Date>("since").error().message(),
            "parameter 'since': expected a date such as 2026-11-24 (RFC 3339)");
}

TEST_F(Requests, refuse_path_parameters_of_another_type_by_name) {
  for (const char* value : {"x", "1x", "+1", "99999999999", "1.5", "%31x", "0x1"}) {
    TestRequest request(router_, "GET", std::string("/users/") + value + "/n");
    const Result<int> id = request->path_param<int>("id");
    ASSERT_FALSE(id) << value;
    EXPECT_EQ(id.error().code(), Code::InvalidArgument);
    const bool is_beyond = value == std::string_view("99999999999");
    EXPECT_EQ(id.error().message(), is_beyond ? "parameter 'id': expected an integer from -2147483648 to 2147483647"
                                              : "parameter 'id': expected an integer")
        << value;
  }
  TestRequest negative(router_, "GET", "/users/-1/n");
  EXPECT_EQ(negative->path_param<std::uint8_t>("id").error().message(),
            "parameter 'id': expected an integer from 0 to 255");
}

// "nan" is not below 0 and not above 100 either.
TEST_F(Requests, refuse_numbers_that_are_none) {
  for (const char* value : {"nan", "NAN", "-nan", "nan(1)", "inf", "-inf", "INFINITY", "1e999"}) {
    TestRequest request(router_, "GET", std::string("/users/") + value + "/n?x=" + value);
    const Result<double> id = request->path_param<double>("id");
    ASSERT_FALSE(id) << value;
    EXPECT_EQ(id.error().message(), "parameter 'id': expected a number");
    EXPECT_FALSE(request->query_param<double>("x")) << value;
    EXPECT_FALSE(request->query_param<float>("x")) << value;
  }
  TestRequest small(router_, "GET", "/users/-1.5e-3/n");
  EXPECT_EQ(*small->path_param<double>("id"), -1.5e-3);
}

TEST_F(Requests, convert_query_parameters_that_are_there) {
  TestRequest request(router_, "POST", "/users?page=3&q=a+b%26c&page=4&empty=&flag");
  EXPECT_EQ(**request->query_param<int>("page"), 3);
  EXPECT_EQ(**request->query_param<std::string_view>("q"), "a b&c");
  EXPECT_EQ(**request->query_param<std::string_view>("empty"), "");
  EXPECT_EQ(**request->query_param<std::string_view>("flag"), "");
  EXPECT_EQ(*request->query_param<int>("missing"), std::nullopt);
  EXPECT_FALSE(request->query_param<int>("q"));
  EXPECT_FALSE(request->query_param<int>("empty"));
}

TEST_F(Requests, refuse_a_query_whose_escapes_are_broken) {
  TestRequest request(router_, "POST", "/users?a=%zz&b=1");
  const auto missing = request->query_param<int>("missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::InvalidArgument);
  EXPECT_FALSE(request->query_param<std::string_view>("a"));
}

TEST_F(Requests, a_parameter_the_route_does_not_have_is_a_bug_of_the_one_who_asks) {
  TestRequest request(router_, "GET", "/users/1/n");
  const unsigned line = __LINE__ + 1;
  const auto other = request->path_param<int>("other");
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().is_bug());
  EXPECT_EQ(other.error().message(),
            "path_param(\"other\"): the route \"" + std::string(request->route()) + "\" has no parameter of this name");
  EXPECT_EQ(other.error().place().line(), line);
  EXPECT_THROW((void)request->raw_path_param("other"), Bug) << "it has no Result";
}

TEST(Request, joins_the_fields_of_a_list) {
  Router router;
  TestRequest request(router, "GET", "/", "Accept: a/b\r\nX-One: 1\r\naccept: c/d, e/f\r\nX-Empty:\r\n");
  EXPECT_EQ(request->header_list("Accept"), "a/b, c/d, e/f");
  EXPECT_EQ(request->header_list("X-One"), "1");
  EXPECT_EQ(request->header_list("X-Empty"), "");
  EXPECT_EQ(request->header_list("X-None"), std::nullopt);
}

TEST(Request, joins_many_fields_of_a_list_in_memory_of_their_size) {
  std::string fields;
  for (int i = 0; i < 60; ++i) fields += "X-List: " + std::string(100, 'a') + "\r\n";
  Router router;
  TestRequest request(router, "GET", "/", fields);
  const std::size_t before = request->arena().bytes_held();
  EXPECT_EQ(request->header_list("X-List")->size(), 60u * 102 - 2);
  EXPECT_LT(request->arena().bytes_held() - before, 32u * 1024);
  TestRequest empty(router, "GET", "/", "X-List:\r\nX-List: b\r\nX-List:\r\n");
  EXPECT_EQ(empty->header_list("X-List"), ", b, ");
}

TEST(Request, keeps_values_by_type_and_by_who_set_them) {
  struct User {
    int id;
  };
  struct Tenant {
    int id;
  };
  Router router;
  TestRequest request(router, "GET", "/");
  EXPECT_EQ(request->get<User>(), nullptr);

  request->set(User{1});
  request->set(Tenant{2});
  const int one = 0;
  request->set(User{3}, &one);

  EXPECT_EQ(request->get<User>()->id, 1);
  EXPECT_EQ(request->get<Tenant>()->id, 2);
  EXPECT_EQ(request->get<User>(&one)->id, 3);
  EXPECT_EQ(request->get<Tenant>(&one), nullptr);
  request->set(User{4});
  EXPECT_EQ(request->get<User>()->id, 4) << "the last one counts";
}

TEST(Request, without_a_connection_has_no_peer) {
  Router router;
  EXPECT_EQ(TestRequest(router, "GET", "/")->peer().family(), AF_UNSPEC);
}

}  // namespace
}  // namespace keel::http::request_test
