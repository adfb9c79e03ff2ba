// Which response of the contract it is, and what is said of one that it does not have.

#include "keel/contract/reply.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace keel::contract::reply_test {
namespace {

constexpr Expected responses[] = {{200, 200, "application/json", true},
                                  {200, 200, "text/csv"},
                                  {200, 200, "image/*"},
                                  {204, 204},
                                  {400, 499, "application/problem+json", true},
                                  {404, 404},
                                  {500, 599, "*/*"}};
constexpr Operation operation = {
    .id = "listBooks", .method = http::Method::Get, .path = "/books", .responses = responses};

std::string head(int status, std::string_view fields) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(fields) + "\r\n";
}
// The index of the response, or what is wrong.
std::string matched(int status, std::string_view type, std::string_view body = "") {
  const std::string lines = head(status, type.empty() ? "" : "Content-Type: " + std::string(type) + "\r\n");
  Reply reply(operation, static_cast<http::Status>(status), lines, body);
  const Result<> found = reply.match();
  if (found) return std::to_string(reply.index());
  EXPECT_EQ(found.error().code(), Code::Upstream);
  EXPECT_TRUE(found.error().is_from_environment());
  return std::string(found.error().message());
}

TEST(ContractReply, is_the_response_of_its_status_and_its_media_type) {
  EXPECT_EQ(matched(200, "application/json"), "0");
  EXPECT_EQ(matched(200, "Application/JSON ; charset=utf-8"), "0");
  EXPECT_EQ(matched(200, "text/csv; header=present"), "1");
  EXPECT_EQ(matched(200, "image/png"), "2");
  EXPECT_EQ(matched(204, ""), "3");
  EXPECT_EQ(matched(409, "application/problem+json"), "4");
  EXPECT_EQ(matched(404, ""), "5") << "before 4XX";
  EXPECT_EQ(matched(404, "text/html"), "5") << "it has no content, and may have any";
  EXPECT_EQ(matched(503, "text/html"), "6");
}

TEST(ContractReply, is_rejected_where_the_contract_has_none_like_it) {
  EXPECT_EQ(matched(302, ""), "returned 302 Found, a status that the contract does not declare for this operation");
  EXPECT_EQ(matched(200, "text/html"),
            "returned 200 OK with text/html, but the contract declares application/json, text/csv, image/*");
  EXPECT_EQ(matched(200, "image/"),
            "returned 200 OK with image/, but the contract declares application/json, text/csv, image/*");
  EXPECT_EQ(matched(200, ""),
            "returned 200 OK without a Content-Type, but the contract declares application/json, text/csv, image/*");
  EXPECT_EQ(matched(409, "application/json"),
            "returned 409 Conflict with application/json, but the contract declares application/problem+json");
  EXPECT_EQ(matched(503, ""), "returned 503 Service Unavailable without a Content-Type, but the contract declares */*");
  EXPECT_EQ(matched(299, ""), "returned 299, a status that the contract does not declare for this operation");
}

TEST(ContractReply, tells_the_detail_of_a_problem_shortened_and_without_control_characters) {
  const auto told = [](std::string_view body) { return matched(302, "application/problem+json", body); };
  constexpr std::string_view end = ", a status that the contract does not declare for this operation";
  EXPECT_EQ(told(R"({"title":"Busy","detail":"come\n\u001b[31m later"})"),
            "returned 302 Found: come  [31m later" + std::string(end));
  EXPECT_EQ(told(R"({"title":"Busy"})"), "returned 302 Found: Busy" + std::string(end));
  EXPECT_EQ(told(R"({"detail":7})"), "returned 302 Found" + std::string(end));
  EXPECT_EQ(told("no JSON"), "returned 302 Found" + std::string(end));
  EXPECT_EQ(told("[1]"), "returned 302 Found" + std::string(end));
  std::string long_text = R"({"detail":")";
  for (int i = 0; i < 150; ++i) long_text += "é";
  EXPECT_EQ(told(long_text + "\"}").size(),
            std::string_view("returned 302 Found: ").size() + Reply::detail_bytes_max + 3 + end.size());
}

template <class T>
void read_as(json::Reader& in, T& value, Violations& wrong) {
  json::internal::read_field<T>(in, &value, wrong);
}

TEST(ContractReply, reads_a_body_and_says_where_it_is_not_as_the_contract_says) {
  const std::string lines = head(200, "Content-Type: application/json\r\n");
  const auto read = [&](std::string_view body) {
    Reply reply(operation, http::Status::Ok, lines, body);
    EXPECT_TRUE(reply.match());
    std::map<std::string, std::int64_t> value;
    const Result<> done = reply.json<&read_as<std::map<std::string, std::int64_t>>>(value);
    if (done) return std::to_string(value.size());
    EXPECT_EQ(done.error().code(), Code::Upstream);
    EXPECT_TRUE(done.error().is_from_environment());
    return std::string(done.error().message());
  };
  EXPECT_EQ(read(R"({"a":1,"b":2})"), "2");
  EXPECT_EQ(read(R"({"a":1,"b":"x","c":true})"),
            "returned 200 OK with application/json that does not match the contract: "
            "/b: expected an integer; /c: expected an integer");
  EXPECT_EQ(read("{"),
            "returned 200 OK with application/json that does not match the contract: "
            "unexpected end of text at line 1 column 2");
}

TEST(ContractReply, reads_headers_as_their_types_and_says_which_is_missing_or_wrong) {
  const std::string lines =
      head(204, "X-Total: 7\r\nLink: <a>\r\nlink: <b>,<c>\r\nX-Name: true\r\nX-Empty:\r\nX-Bad: seven\r\n");
  Reply reply(operation, http::Status::NoContent, lines, "");
  ASSERT_TRUE(reply.match());
  std::int64_t total = 0;
  EXPECT_TRUE((reply.header<&read_as<std::int64_t>>("x-total", Form::Bare, true, total)));
  EXPECT_EQ(total, 7);
  std::optional<std::vector<std::string>> links;
  EXPECT_TRUE((reply.header<&read_as<std::vector<std::string>>>("Link", Form::TextList, false, links)));
  EXPECT_EQ(*links, (std::vector<std::string>{"<a>", "<b>", "<c>"}));
  std::string name;
  EXPECT_TRUE((reply.header<&read_as<std::string>>("X-Name", Form::Text, true, name)));
  EXPECT_EQ(name, "true");
  EXPECT_TRUE((reply.header<&read_as<std::vector<std::string>>>("X-Empty", Form::TextList, false, links)));
  EXPECT_EQ(links->size(), 0u);
  std::optional<std::int64_t> none;
  EXPECT_TRUE((reply.header<&read_as<std::int64_t>>("X-None", Form::Bare, false, none)));
  EXPECT_EQ(none, std::nullopt);
  EXPECT_EQ((reply.header<&read_as<std::int64_t>>("X-None", Form::Bare, true, none)).error().message(),
            "returned 204 No Content without the header X-None, which the contract requires");
  EXPECT_EQ((reply.header<&read_as<std::int64_t>>("X-Bad", Form::Bare, true, total)).error().message(),
            "returned 204 No Content with the header X-Bad that does not match the contract: expected an integer");
}

TEST(ContractReply, reads_lists_with_quotes_and_links) {
  const std::string lines =
      head(204, "X-Tags: \"a,b\",, \"c\\\"\",\r\nLink: <https://a.example/?x=1,2>; rel=\"next, last\", </b>\r\n");
  Reply reply(operation, http::Status::NoContent, lines, "");
  ASSERT_TRUE(reply.match());
  std::vector<std::string> list;
  EXPECT_TRUE((reply.header<&read_as<std::vector<std::string>>>("X-Tags", Form::TextList, true, list)));
  EXPECT_EQ(list, (std::vector<std::string>{"a,b", "c\""}));
  EXPECT_TRUE((reply.header<&read_as<std::vector<std::string>>>("Link", Form::TextList, true, list)));
  EXPECT_EQ(list, (std::vector<std::string>{"<https://a.example/?x=1,2>; rel=\"next, last\"", "</b>"}));
}

TEST(ContractReply, reads_each_cookie_as_one_element) {
  const std::string lines =
      head(204, "Set-Cookie: a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT\r\nset-cookie: b=\"2,3\"; Path=/\r\n");
  Reply reply(operation, http::Status::NoContent, lines, "");
  ASSERT_TRUE(reply.match());
  std::vector<std::string> cookies;
  EXPECT_TRUE((reply.header<&read_as<std::vector<std::string>>>("Set-Cookie", Form::TextList, true, cookies)));
  EXPECT_EQ(cookies, (std::vector<std::string>{"a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "b=\"2,3\"; Path=/"}));
}

TEST(ContractReply, reads_a_header_whose_content_is_json) {
  const std::string lines = head(204, "X-Meta: {\"a\": 1, \"b\": 2}\r\nX-Bad: {\"a\"\r\n");
  Reply reply(operation, http::Status::NoContent, lines, "");
  ASSERT_TRUE(reply.match());
  std::map<std::string, std::int64_t> value;
  EXPECT_TRUE((reply.header<&read_as<std::map<std::string, std::int64_t>>>("X-Meta", Form::Json, true, value)));
  EXPECT_EQ(value.at("b"), 2);
  EXPECT_FALSE((reply.header<&read_as<std::map<std::string, std::int64_t>>>("X-Bad", Form::Json, true, value)));
}

void read_direction(json::Reader& in, bool& is_response, Violations&) {
  in.skip();
  is_response = in.is_response();
}

TEST(ContractReply, is_read_as_a_response) {
  const std::string lines = head(200, "Content-Type: application/json\r\nX-A: 1\r\n");
  Reply reply(operation, http::Status::Ok, lines, "{}");
  ASSERT_TRUE(reply.match());
  bool is_response = false;
  EXPECT_TRUE(reply.json<&read_direction>(is_response));
  EXPECT_TRUE(is_response);
  is_response = false;
  EXPECT_TRUE((reply.header<&read_direction>("X-A", Form::Text, true, is_response)));
  EXPECT_TRUE(is_response);
}

}  // namespace
}  // namespace keel::contract::reply_test
