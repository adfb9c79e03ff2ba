// What the class of an operation's response makes of statuses, values and headers.

#include "keel/contract/response.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/contract/reply.h"
#include "keel/contract/routes.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"
#include "keel/http/testing/test_server.h"

namespace response_test {

using namespace keel;
using http::Status;

struct Thing {
  std::string name;
};
// What is generated for an operation.
class Response : public contract::Response {
 public:
  static Response ok(const Thing& thing, std::string_view type = "application/json") {
    return {Status::Ok, &thing, &write_as<Thing, keel::json::write<Thing>>, type};
  }
  static Response client_error(Status status) { return Response(http::Response(within(status, 400, 499))); }
  template <class T>
  static Response of(const T& value) {
    return {Status::Ok, &value, &write_as<T, T::write>};
  }
  template <class T>
  static Response with_json_header(const T& value) {
    Response response(Status::NoContent);
    response.set_json_header("X-Value", value);
    return response;
  }
  template <class T>
  static Response with_header(const T& value) {
    Response response(Status::NoContent);
    response.set_header("X-Value", value);
    return response;
  }
  static Response with_cookies(const std::vector<std::string>& cookies) {
    Response response(Status::NoContent);
    response.set_header("set-cookie", cookies);
    return response;
  }

 private:
  using contract::Response::Response;
};
template <class T>
std::string field(const T& value) {
  const http::Response response = Response::with_header(value).response();
  return std::string(response.field("X-Value").value_or("(none)"));
}

void read_texts(keel::json::Reader& in, std::vector<std::string>& value, Violations& wrong) {
  keel::json::internal::read_field<std::vector<std::string>>(in, &value, wrong);
}

TEST(Response, has_the_status_and_the_value_as_json) {
  Response response = Response::ok({"tea"});
  EXPECT_EQ(response.status(), Status::Ok);
  const http::Response sent = std::move(response).response();
  EXPECT_EQ(sent.content_type(), "application/json");

  EXPECT_EQ(Response::ok({"tea"}, "application/vnd.shop+json").response().content_type(), "application/vnd.shop+json");
}

TEST(Response, writes_plain_values_into_a_header) {
  EXPECT_EQ(field(std::string("a \"b\", c\\d")), "a \"b\", c\\d");
  EXPECT_EQ(field(std::int64_t{-5}), "-5");
  EXPECT_EQ(field(true), "true");
  EXPECT_EQ(field(0.5), "0.5");
  EXPECT_EQ(field(*Uuid::parse("0f8fad5b-d9cb-469f-a165-70867728950e")), "0f8fad5b-d9cb-469f-a165-70867728950e");
}

TEST(Response, writes_a_list_into_a_header_with_commas_and_quotes_what_is_not_itself_without_them) {
  EXPECT_EQ(field(std::vector<std::string>{"a", "b \"c\"", "d"}), "a,b \"c\",d");
  EXPECT_EQ(field(std::vector<std::string>{"a,b", "\"c\\", " d"}), "\"a,b\",\"\\\"c\\\\\",\" d\"");
  EXPECT_EQ(field(std::vector<std::int64_t>{1, -2, 3}), "1,-2,3");
  EXPECT_EQ(field(std::vector<std::string>{"", "a"}), "\"\",a");
  EXPECT_EQ(field(std::vector<std::string>{}), "");
}

TEST(Response, writes_a_link_with_commas_as_it_is) {
  EXPECT_EQ(field(std::vector<std::string>{"<https://a.example/?x=1,2>; rel=\"next, last\"", "</b>"}),
            "<https://a.example/?x=1,2>; rel=\"next, last\",</b>");
}

TEST(Response, writes_a_field_for_each_cookie) {
  Response response = Response::with_cookies({"a=1; Path=/", "b=2"});
  EXPECT_EQ(std::move(response).response().fields(), "set-cookie: a=1; Path=/\r\nset-cookie: b=2\r\n");
  EXPECT_EQ(Response::with_cookies({}).response().fields(), "");
}

TEST(Response, writes_a_header_whose_content_is_json) {
  Response response = Response::with_json_header(std::vector<std::string>{"a,b", "\"\n"});
  EXPECT_EQ(std::move(response).response().field("X-Value"), R"(["a,b","\"\n"])");
  EXPECT_FALSE(Response::with_json_header(std::optional<Thing>()).response().field("X-Value"));
  EXPECT_EQ(Response::with_json_header(std::optional<Thing>(Thing{"a"})).response().field("X-Value"),
            R"({"name":"a"})");
}

struct Account {
  static void write(keel::json::Writer& out, const Account&) {
    out.begin_object().key("id").integer(1);
    if (out.omit() != keel::json::Writer::Omit::WriteOnly) out.key("password").string("secret");
    out.end_object();
  }
};

TEST(Response, leaves_out_what_is_write_only) {
  http::Router router;
  http::Handler handler;
  handler.at_once = [](http::Request&) -> Result<http::Response> { return Response::of(Account()).response(); };
  router.add(http::Method::Get, "/a", std::move(handler));
  http::TestServer server(router);
  EXPECT_EQ(server.get("/a").body(), R"({"id":1})");
}

// What a service writes is what its client reads.
TEST(Response, has_headers_that_a_reply_reads_as_the_same) {
  static constexpr std::string_view pieces[] = {"a", ",",  "\"", "\\",  "=", "<",    ">",
                                                " ", "\t", ";",  "=\"", "é", "null", "1"};
  static constexpr contract::Expected responses[] = {{204, 204}};
  static constexpr contract::Operation operation = {
      .id = "a", .method = http::Method::Get, .path = "/a", .responses = responses};
  std::mt19937 random(static_cast<unsigned>(GTEST_FLAG_GET(random_seed)) + 4);
  for (int i = 0; i < 5'000; ++i) {
    std::vector<std::string> list(random() % 4);
    for (std::string& one : list) {
      for (unsigned j = random() % 5; j != 0; --j) one += pieces[random() % std::size(pieces)];
    }
    const std::string head = "HTTP/1.1 204 X\r\nX-Value: " + field(list) + "\r\n\r\n";
    contract::Reply reply(operation, Status::NoContent, head, "");
    ASSERT_TRUE(reply.match());
    std::vector<std::string> read;
    const auto done = reply.header<&read_texts>("X-Value", contract::Form::TextList, true, read);
    ASSERT_TRUE(done) << done.error().describe();
    EXPECT_EQ(read, list) << head;
  }
}

TEST(Response, leaves_out_a_header_that_is_absent) {
  EXPECT_EQ(field(std::optional<std::string>()), "(none)");
  EXPECT_EQ(field(std::optional<std::vector<std::string>>()), "(none)");
  EXPECT_EQ(field(std::optional<std::int64_t>(7)), "7");
  EXPECT_EQ(field(std::optional<std::string>("")), "");
}

struct Asked {};
struct Handler {
  Status status = Status::NotFound;
  std::string header;

  Task<Response> respond(http::Request&, const Asked&) {
    if (!header.empty()) co_return Response::with_header(header);
    co_return Response::client_error(status);
  }
};
int served_with(Handler handler) {
  http::Router router;
  const contract::Routes routes(router);
  static constexpr contract::Route route = {http::Method::Get, "/a", contract::call_of<&Handler::respond>};
  static constexpr const contract::Route* all[] = {&route};
  routes.serve(all, &handler);
  http::TestServer server(router);
  return server.get("/a").status();
}

TEST(Response, a_status_outside_of_a_range_is_a_bug_and_a_500) {
  EXPECT_EQ(served_with({Status::BadRequest, {}}), 400);
  EXPECT_EQ(served_with({static_cast<Status>(499), {}}), 499);
  EXPECT_EQ(served_with({Status::InternalServerError, {}}), 500);
  EXPECT_EQ(served_with({Status::Ok, {}}), 500);
  EXPECT_THROW(Response::client_error(Status::Ok), Bug);
}

TEST(Response, a_header_with_a_line_end_makes_a_500_of_the_response) {
  EXPECT_EQ(served_with({Status::Ok, "a"}), 204);
  EXPECT_EQ(served_with({Status::Ok, "a\r\nSet-Cookie: b"}), 500);
}

}  // namespace response_test
