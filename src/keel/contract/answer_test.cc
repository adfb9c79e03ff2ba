// What the class of an operation's response makes of statuses, values and headers.

#include "keel/contract/answer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/contract/routes.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"
#include "keel/http/testing/test_server.h"

namespace answer_test {

using namespace keel;
using http::Status;

struct Thing {
  std::string name;
};
// What is generated for an operation.
class Answer : public contract::Answer {
 public:
  static Answer ok(const Thing& thing, std::string_view type = "application/json") {
    return {Status::Ok, &thing, &write_as<Thing, keel::json::write<Thing>>, type};
  }
  static Answer client_error(Status status) { return Answer(http::Response(within(status, 400, 499))); }
  template <class T>
  static Answer with_header(const T& value) {
    Answer answer(Status::NoContent);
    answer.set_header("X-Value", value);
    return answer;
  }

 private:
  using contract::Answer::Answer;
};
template <class T>
std::string field(const T& value) {
  const http::Response response = Answer::with_header(value).response();
  return std::string(response.field("X-Value").value_or("(none)"));
}

TEST(Answer, has_the_status_and_the_value_as_json) {
  Answer answer = Answer::ok({"tea"});
  EXPECT_EQ(answer.status(), Status::Ok);
  const http::Response response = std::move(answer).response();
  EXPECT_EQ(response.content_type(), "application/json");

  EXPECT_EQ(Answer::ok({"tea"}, "application/vnd.shop+json").response().content_type(), "application/vnd.shop+json");
}

TEST(Answer, writes_plain_values_into_a_header) {
  EXPECT_EQ(field(std::string("a \"b\", c\\d")), "a \"b\", c\\d");
  EXPECT_EQ(field(std::int64_t{-5}), "-5");
  EXPECT_EQ(field(true), "true");
  EXPECT_EQ(field(0.5), "0.5");
  EXPECT_EQ(field(*Uuid::parse("0f8fad5b-d9cb-469f-a165-70867728950e")), "0f8fad5b-d9cb-469f-a165-70867728950e");
}

TEST(Answer, writes_a_list_into_a_header_with_commas_and_quotes_what_is_not_itself_without_them) {
  EXPECT_EQ(field(std::vector<std::string>{"a", "b \"c\"", "d"}), "a,b \"c\",d");
  EXPECT_EQ(field(std::vector<std::string>{"a,b", "\"c\\", " d"}), "\"a,b\",\"\\\"c\\\\\",\" d\"");
  EXPECT_EQ(field(std::vector<std::int64_t>{1, -2, 3}), "1,-2,3");
  EXPECT_EQ(field(std::vector<std::string>{"", "a"}), "\"\",a");
  EXPECT_EQ(field(std::vector<std::string>{}), "");
}

TEST(Answer, leaves_out_a_header_that_is_absent) {
  EXPECT_EQ(field(std::optional<std::string>()), "(none)");
  EXPECT_EQ(field(std::optional<std::vector<std::string>>()), "(none)");
  EXPECT_EQ(field(std::optional<std::int64_t>(7)), "7");
  EXPECT_EQ(field(std::optional<std::string>("")), "");
}

struct Asked {};
struct Handler {
  Status status = Status::NotFound;
  std::string header;

  Task<Answer> answer(http::Request&, const Asked&) {
    if (!header.empty()) co_return Answer::with_header(header);
    co_return Answer::client_error(status);
  }
};
int served_with(Handler handler) {
  http::Router router;
  const contract::Routes routes(router);
  static constexpr contract::Route route = {http::Method::Get, "/a", contract::call_of<&Handler::answer>};
  static constexpr const contract::Route* all[] = {&route};
  routes.serve(all, &handler);
  http::TestServer server(router);
  return server.get("/a").status();
}

TEST(Answer, a_status_outside_of_a_range_is_a_bug_and_a_500) {
  EXPECT_EQ(served_with({Status::BadRequest, {}}), 400);
  EXPECT_EQ(served_with({static_cast<Status>(499), {}}), 499);
  EXPECT_EQ(served_with({Status::InternalServerError, {}}), 500);
  EXPECT_EQ(served_with({Status::Ok, {}}), 500);
  EXPECT_THROW(Answer::client_error(Status::Ok), Bug);
}

TEST(Answer, a_header_with_a_line_end_makes_a_500_of_the_response) {
  EXPECT_EQ(served_with({Status::Ok, "a"}), 204);
  EXPECT_EQ(served_with({Status::Ok, "a\r\nSet-Cookie: b"}), 500);
}

}  // namespace answer_test
