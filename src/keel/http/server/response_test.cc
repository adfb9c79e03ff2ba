#include "keel/http/server/response.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "keel/base/bug.h"
#include "keel/net/stream.h"

namespace keel::http {

struct Pair {
  int a;
  std::string_view b;
};
void write_json(json::Writer& out, const Pair& pair) {
  out.begin_object();
  out.key("a").integer(pair.a);
  out.key("b").string(pair.b);
  out.end_object();
}

namespace {

using namespace std::string_view_literals;

TEST(Response, of_text_copies_it_and_says_what_it_is) {
  std::string text = "hello";
  const Response response = Response::text(Status::Created, text);
  text = "other";
  EXPECT_EQ(response.status(), Status::Created);
  EXPECT_EQ(response.content(), "hello");
  EXPECT_EQ(response.content_type(), "text/plain; charset=utf-8");
  EXPECT_EQ(Response::text(Status::Ok, "<p>", "text/html").content_type(), "text/html");
  EXPECT_EQ(Response(Status::NoContent).content(), "");
}

Task<> write_nothing(BodyWriter&) { co_return; }

TEST(Response, copies_a_content_type_that_is_made_at_run_time) {
  std::string type = "application/vnd.example.picture+png";
  const Response text = Response::text(Status::Ok, "bytes", type);
  const Response body = Response::body(Status::Ok, Buffer(), type);
  const Response stream = Response::stream(Status::Ok, type, &write_nothing);
  Response bad = Response::text(Status::Ok, "bytes", std::string("a\r\nX-Other: 1"));
  type.assign(type.size(), '?');
  for (const Response* each : {&text, &body, &stream}) {
    EXPECT_EQ(each->content_type(), "application/vnd.example.picture+png");
  }
  EXPECT_TRUE(stream.is_streamed());
  EXPECT_EQ(bad.content_type(), "");
}

TEST(Response, of_json_is_written_by_its_type) {
  const Response response = Response::json(Status::Ok, Pair{1, "x\"y"});
  EXPECT_EQ(response.content(), R"({"a":1,"b":"x\"y"})");
  EXPECT_EQ(response.content_type(), "application/json");
}

TEST(Response, takes_a_buffer_over) {
  Buffer buffer;
  buffer.append("bytes");
  const Response response = Response::body(Status::Ok, std::move(buffer), "application/octet-stream");
  EXPECT_EQ(response.content(), "bytes");
  EXPECT_TRUE(buffer.empty());
}

TEST(Response, collects_fields_in_order) {
  const Response response =
      Response(Status::Ok).header("X-A", "1").header("Set-Cookie", "a=b").header("Set-Cookie", "c=d");
  EXPECT_EQ(response.fields(), "X-A: 1\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n");
  EXPECT_TRUE(response.is_valid());
}

TEST(Response, is_not_valid_with_a_field_that_would_split_it_or_is_the_servers) {
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"X", "a\r\nY: b"},
      {"X", "a\nb"},
      {"X", "a\rb"},
      {"X", "a\0b"sv},
      {"X", "\x1b[31m"},
      {"X Y", "a"},
      {"", "a"},
      {"X:", "a"},
      {"X\r\n", "a"},
      {"Content-Length", "5"},
      {"transfer-encoding", "chunked"},
      {"CONNECTION", "close"},
      {"Date", "now"},
  };
  for (const auto& [name, value] : bad) {
    const Response response = Response(Status::Ok).header(name, value);
    EXPECT_FALSE(response.is_valid()) << name << ": " << value;
    EXPECT_EQ(response.fields(), "");
  }
  EXPECT_TRUE(Response(Status::Ok).header("X", "caf\xc3\xa9 \t ok").is_valid());
}

TEST(Response, is_not_valid_with_a_type_that_would_split_it) {
  const std::string_view split = "text/plain\r\nSet-Cookie: evil=1";
  EXPECT_FALSE(Response::text(Status::Ok, "x", split).is_valid());
  EXPECT_FALSE(Response::body(Status::Ok, Buffer(), split).is_valid());
  EXPECT_FALSE(Response::stream(Status::Ok, split, [](BodyWriter&) -> Task<> { co_return; }).is_valid());
  EXPECT_TRUE(Response::text(Status::Ok, "x", "").is_valid());
  EXPECT_TRUE(Response::body(Status::Ok, Buffer(), "text/plain; charset=utf-8").is_valid());
}

TEST(Response, finds_and_replaces_added_fields) {
  Response response(Status::Ok);
  EXPECT_EQ(response.field("X-A"), std::nullopt);
  response.header("X-A", "1").header("X-AB", "2").header("x-a", "3").header("X-Empty", "");
  EXPECT_EQ(response.field("x-A"), "1");
  EXPECT_EQ(response.field("X-AB"), "2");
  EXPECT_EQ(response.field("X-Empty"), "");
  EXPECT_EQ(response.field("X-"), std::nullopt);
  EXPECT_EQ(response.field("2"), std::nullopt);

  response.replace("X-A", "4");
  EXPECT_EQ(response.fields(), "X-AB: 2\r\nX-Empty: \r\nX-A: 4\r\n");
  response.replace("X-New", "5");
  EXPECT_EQ(response.field("X-New"), "5");
  response.replace("X-A", "a\r\nb");
  EXPECT_FALSE(response.is_valid());
}

// RFC 9110 §8.3: two types would be two answers to two readers.
TEST(Response, has_one_type) {
  const Response of_json = Response::json(Status::Ok, Pair{1, ""}).header("content-type", "application/hal+json");
  EXPECT_EQ(of_json.content_type(), "application/hal+json");
  EXPECT_EQ(of_json.fields(), "content-type: application/hal+json\r\n");

  Response page = Response::text(Status::Ok, "<p>").header("Content-Type", "text/plain").header("X-A", "1");
  page.header("Content-Type", "text/html").header("Content-Types", "many");
  EXPECT_EQ(page.fields(), "X-A: 1\r\nContent-Type: text/html\r\nContent-Types: many\r\n");
  page.replace("Content-Type", "text/css");
  EXPECT_EQ(page.content_type(), "text/css");
  EXPECT_EQ(page.fields(), "X-A: 1\r\nContent-Types: many\r\nContent-Type: text/css\r\n");

  Response bare(Status::Ok);
  EXPECT_EQ(bare.content_type(), "");
  EXPECT_FALSE(bare.header("Content-Type", "a\r\nb").is_valid());
}

TEST(Response, takes_the_value_of_one_of_its_own_fields) {
  const std::string long_value(40, 'v');
  Response response(Status::Ok);
  response.header("X-A", long_value).header("X-B", "b");
  for (int i = 0; i < 100; ++i) response.header("X-Copy", *response.field("X-A"));
  for (int i = 0; i < 100; ++i) response.replace("X-A", *response.field("X-A"));
  response.replace("X-B", *response.field("X-A"));

  EXPECT_EQ(response.field("X-Copy"), long_value);
  EXPECT_EQ(response.field("X-A"), long_value);
  EXPECT_EQ(response.field("X-B"), long_value);
}

Task<> talk(Stream) { co_return; }

TEST(Response, of_an_upgrade_names_the_protocol) {
  Response response = Response::upgrade("echo", talk).header("X-Added", "too");
  EXPECT_EQ(response.status(), Status::SwitchingProtocols);
  EXPECT_EQ(response.fields(), "Upgrade: echo\r\nX-Added: too\r\n");
  EXPECT_TRUE(response.is_upgrade());
  const Response moved = std::move(response);
  EXPECT_TRUE(moved.is_upgrade());
  EXPECT_FALSE(Response(Status::SwitchingProtocols).is_upgrade());
  EXPECT_THROW(Response(Status::Ok).any_origin(), Bug);
  EXPECT_FALSE(Response::upgrade("echo\r\nX: y", talk).is_valid());
}

TEST(Response, names_what_it_varies_by_once) {
  Response response(Status::Ok);
  response.vary("Origin").vary("Accept-Encoding").vary("origin");
  EXPECT_EQ(response.fields(), "Vary: Origin\r\nVary: Accept-Encoding\r\n");
  Response several(Status::Ok);
  several.header("vary", "Accept , ORIGIN");
  several.vary("Origin");
  EXPECT_EQ(several.fields(), "vary: Accept , ORIGIN\r\n");
  Response anything(Status::Ok);
  anything.header("Vary", "*");
  anything.vary("Origin");
  EXPECT_EQ(anything.fields(), "Vary: *\r\n");
}

TEST(Response, takes_another_body_of_the_same_type) {
  Response response = Response::text(Status::Ok, "before", "text/x");
  Buffer bytes;
  bytes.append("after");
  response.replace_content(std::move(bytes));
  EXPECT_EQ(response.content(), "after");
  EXPECT_EQ(response.content_type(), "text/x");
}

}  // namespace
}  // namespace keel::http
