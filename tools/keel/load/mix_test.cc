#include "load/mix.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

namespace keel::load::load_mix_test {
namespace {

std::string written(const Request& request, std::uint64_t n = 1, bool closes = false) {
  Random random(1);
  Buffer out;
  Buffer scratch;
  request.write(out, n, random, closes, scratch);
  return std::string(out.view());
}

std::string problem_of(const std::string& yaml) {
  const auto mix = parse_mix(yaml, "mix.yaml");
  return mix ? "" : mix.error().describe();
}

TEST(Mix, a_request_without_places_is_built_once) {
  RequestText text{.target = "/plaintext", .headers = {{"Accept", "text/plain"}}};
  const auto request = Request::compile(text, "localhost:80", nullptr);

  ASSERT_TRUE(request);
  EXPECT_TRUE(request->is_fixed());
  EXPECT_EQ(request->text(false), "GET /plaintext HTTP/1.1\r\nHost: localhost:80\r\nAccept: text/plain\r\n\r\n");
  EXPECT_EQ(request->text(true),
            "GET /plaintext HTTP/1.1\r\nHost: localhost:80\r\nAccept: text/plain\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(written(*request), request->text(false));
}

TEST(Mix, a_body_is_sent_with_its_length) {
  RequestText text{.method = "POST", .target = "/u", .body = "{\"n\": {n}}"};
  const auto request = Request::compile(text, "h", nullptr);

  ASSERT_TRUE(request);
  EXPECT_FALSE(request->is_fixed());
  EXPECT_EQ(written(*request, 7), "POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\n{\"n\": 7}");
  EXPECT_EQ(written(*request, 123), "POST /u HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n{\"n\": 123}");
}

TEST(Mix, another_host_takes_the_place_of_the_first) {
  const auto request = Request::compile({.headers = {{"host", "example.org"}}}, "h", nullptr);

  ASSERT_TRUE(request);
  EXPECT_EQ(request->text(false), "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
}

TEST(Mix, fields_that_would_change_the_message_are_refused) {
  for (const char* name : {"Content-Length", "transfer-encoding", "Connection", "Expect", "a b", ""}) {
    const auto request = Request::compile({.where = "here", .headers = {{name, "1"}}}, "h", nullptr);
    ASSERT_FALSE(request) << name;
    EXPECT_TRUE(request.error().message().starts_with("here: ")) << request.error().describe();
  }
  EXPECT_FALSE(Request::compile({.headers = {{"a", "b\r\nc: d"}}}, "h", nullptr));
}

TEST(Mix, a_request_line_is_a_method_and_a_path) {
  RequestText request;

  ASSERT_TRUE(parse_request_line("POST /a?b=c", request));
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/a?b=c");
  ASSERT_TRUE(parse_request_line("/x", request));
  EXPECT_EQ(request.method, "GET");
  for (const char* wrong : {"", "GET", "GET ", "GET a", "G(T /", "CONNECT /", "GET /a b", "GET /#a", "GET /\xc3\xa9"}) {
    EXPECT_FALSE(parse_request_line(wrong, request)) << wrong;
  }
}

TEST(Mix, requests_come_as_often_as_their_weight_says) {
  const auto mix =
      Mix::compile({{.target = "/7", .weight = 7}, {.target = "/2", .weight = 2}, {.target = "/1"}}, "h", nullptr);
  ASSERT_TRUE(mix);
  Random random(3);
  std::map<const Request*, int> counts;
  for (int i = 0; i < 100'000; ++i) ++counts[&mix->pick(random)];

  EXPECT_NEAR(counts[&mix->requests()[0]], 70'000, 600);
  EXPECT_NEAR(counts[&mix->requests()[1]], 20'000, 600);
  EXPECT_NEAR(counts[&mix->requests()[2]], 10'000, 600);
}

TEST(Mix, is_read_from_yaml) {
  const auto mix = parse_mix(
      "- request: GET /users/{n}\n"
      "  weight: 7\n"
      "  expect: {status: 200, contains: '\"id\"', length: 12}\n"
      "- request: POST /users\n"
      "  headers: {Content-Type: application/json}\n"
      "  body: '{\"name\": \"Ada\"}'\n"
      "  expect: {status: 201, body: ok, contains: [a, b], json: {user.name: Ada, id: 7}}\n",
      "mix.yaml");

  ASSERT_TRUE(mix) << mix.error().describe();
  ASSERT_EQ(mix->size(), 2u);
  EXPECT_EQ((*mix)[0].target, "/users/{n}");
  EXPECT_EQ((*mix)[0].weight, 7u);
  EXPECT_EQ((*mix)[0].check.status, 200);
  EXPECT_EQ((*mix)[0].check.contains, std::vector<std::string>{"\"id\""});
  EXPECT_EQ((*mix)[0].check.length, 12u);
  EXPECT_EQ((*mix)[1].where, "mix.yaml:4");
  EXPECT_EQ((*mix)[1].method, "POST");
  EXPECT_EQ((*mix)[1].body, "{\"name\": \"Ada\"}");
  EXPECT_EQ((*mix)[1].check.body, "ok");
  EXPECT_EQ((*mix)[1].check.contains.size(), 2u);
  EXPECT_EQ((*mix)[1].check.json.size(), 2u);
}

TEST(Mix, a_body_may_lie_in_a_file_beside_the_mix) {
  const std::string folder = ::testing::TempDir();
  const std::string name = "keel_load_mix_test_body";
  std::ofstream(folder + name) << "{\"n\": {n}}";

  const auto mix = parse_mix("- request: POST /\n  body_file: " + name + "\n", folder + "mix.yaml");
  std::remove((folder + name).c_str());

  ASSERT_TRUE(mix) << mix.error().describe();
  EXPECT_EQ(mix->front().body, "{\"n\": {n}}");
}

TEST(Mix, mistakes_in_yaml_are_told_with_file_and_line) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"", "mix.yaml:1: a mix is a list"},
      {"request: GET /\n", "mix.yaml:1: a mix is a list"},
      {"- request: GET /\n- 7\n", "mix.yaml:2: expected a request"},
      {"- weight: 7\n", "mix.yaml:1: request is missing"},
      {"- request: GET /\n  wieght: 7\n", "mix.yaml:2: unknown key 'wieght'; there are request, weight"},
      {"- request: GET /\n  weight: 0\n", "mix.yaml:2: weight: a number from 1 to 1000000 is expected, not '0'"},
      {"- request: GET /\n  weight: 1\n  request: GET /a\n", "mix.yaml:3: key 'request' is given twice"},
      {"- request: GET /\n  expect: {status: 200, status: 201}\n", "mix.yaml:2: key 'status' is given twice"},
      {"- request: GET /\n---\n- request: GET /a\n", "mix.yaml:3: the file has a second YAML document"},
      {"- request: GET users\n", "mix.yaml:1: 'users' is not a path"},
      {"- request: GET /\n  expect: {stauts: 200}\n", "mix.yaml:2: unknown key 'stauts'"},
      {"- request: GET /\n  expect: 200\n", "mix.yaml:2: expect: expected conditions such as {status: 200}"},
      {"- request: GET /\n  expect: {status: 99}\n", "mix.yaml:2: expect.status: a number from 200 to 599"},
      {"- request: GET /\n  expect: {contains: {a: b}}\n", "mix.yaml:2: expect.contains: a text"},
      {"- request: GET /\n  headers: [a]\n", "mix.yaml:2: headers: expected names with values"},
      {"- request: GET /\n  body: a\n  body_file: b\n", "mix.yaml:3: body and body_file"},
      {"- request: GET /\n  body_file: no/such/file\n", "mix.yaml:2: body_file: no/such/file"},
      {"- request: [\n", "mix.yaml:2: "},
  };
  for (const auto& [yaml, said] : mistakes) EXPECT_TRUE(problem_of(yaml).starts_with(said)) << problem_of(yaml);
}

TEST(Mix, a_mistake_in_a_template_names_its_request) {
  const auto mix = Mix::compile({{.where = "mix.yaml:7", .target = "/{users}"}}, "h", nullptr);

  ASSERT_FALSE(mix);
  EXPECT_TRUE(mix.error().message().starts_with("mix.yaml:7: {users}: ")) << mix.error().describe();
}

}  // namespace
}  // namespace keel::load::load_mix_test
