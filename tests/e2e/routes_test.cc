// Every route of the full-stack service, over real sockets, on each engine.

#include <gtest/gtest.h>

#include <set>

#include "client.h"
#include "service.h"

namespace e2e::routes_test {
namespace {

using namespace keel;
using Members = std::map<std::string, std::string>;

class Routes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
    start();
  }
  void TearDown() override {
    if (service_ == nullptr) return;
    EXPECT_EQ(service_->stop(), 0) << service_->errors();
    EXPECT_EQ(service_->errors(), "");
  }
  void start() {
    service_ = std::make_unique<Service>(folder_, std::vector<std::string>{"--network.engine=" + GetParam()});
    ASSERT_TRUE(service_->is_ready()) << service_->errors();
    EXPECT_NE(service_->output().find("  engine   " + GetParam() + ", 2 workers: "), std::string::npos)
        << service_->output();
  }
  Reply call(std::string_view method, std::string_view target, std::string_view body = {}) {
    return e2e::call(service_->address(), method, target, body);
  }
  // The status and the detail of the problem that answers.
  void expect_problem(const Reply& reply, int status, const std::string& title, const std::string& detail) {
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
    const Members problem = members(reply.body).value_or(Members());
    EXPECT_EQ(problem.contains("type") ? problem.at("type") : "", "about:blank") << reply.body;
    EXPECT_EQ(problem.contains("status") ? problem.at("status") : "", std::to_string(status)) << reply.body;
    EXPECT_EQ(problem.contains("title") ? problem.at("title") : "", title) << reply.body;
    EXPECT_EQ(problem.contains("detail") ? problem.at("detail") : "", detail) << reply.body;
  }
  // 422, and the one member that it names.
  void expect_refused_member(const std::string& body, const std::string& pointer, const std::string& keyword,
                             const std::string& detail) {
    const Reply reply = call("POST", "/api/users", body);
    expect_problem(reply, 422, "Unprocessable Content", "the body has invalid values");
    const Members problem = members(reply.body).value_or(Members());
    const auto errors = elements(problem.contains("errors") ? problem.at("errors") : "");
    ASSERT_TRUE(errors && errors->size() == 1) << reply.body;
    EXPECT_EQ(members(errors->front()), (Members{{"pointer", pointer}, {"keyword", keyword}, {"detail", detail}}))
        << body;
  }

  Folder folder_;
  std::unique_ptr<Service> service_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Routes, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Routes, health_is_a_constant) {
  const Reply reply = call("GET", "/health");

  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"status":"ok"})");
  EXPECT_EQ(reply.field("Content-Type"), "application/json");
  EXPECT_EQ(reply.field("Content-Length"), "15");
  EXPECT_NE(reply.field("Date"), "");
}

TEST_P(Routes, an_empty_database_has_sample_users_and_pages_reach_the_end) {
  std::set<std::string> ids;
  std::vector<std::size_t> sizes;
  std::string after = "0";
  std::string first;
  while (after != "null") {
    const Reply reply = call("GET", "/api/users?limit=7&after=" + after);
    ASSERT_EQ(reply.status, 200) << reply.body;
    const Members page = members(reply.body).value_or(Members());
    ASSERT_TRUE(page.contains("items") && page.contains("next")) << reply.body;
    const auto items = elements(page.at("items"));
    ASSERT_TRUE(items.has_value()) << reply.body;
    for (const std::string& item : *items) {
      const Members user = members(item).value_or(Members());
      ASSERT_EQ(user.size(), 5u) << item;
      if (first.empty()) first = user.at("name");
      EXPECT_TRUE(ids.insert(user.at("id")).second) << "twice: " << item;
      EXPECT_GT(std::stoll(user.at("id")), std::stoll(after)) << "in order";
    }
    sizes.push_back(items->size());
    after = page.at("next");
    ASSERT_LT(sizes.size(), 10u);
  }

  EXPECT_EQ(sizes, (std::vector<std::size_t>{7, 7, 6}));
  EXPECT_EQ(first, "Amara Okafor");
  EXPECT_EQ(call("GET", "/api/users?after=20").body, R"({"items":[],"next":null})");
  EXPECT_EQ(members(call("GET", "/api/users").body)->at("next"), "null") << "twenty are the page of twenty";
  EXPECT_EQ(call("GET", "/api/users?limit=0").status, 422);
  EXPECT_TRUE(call("GET", "/api/users?limit=101&after=x")
                  .body.ends_with(R"("errors":[{"parameter":"after","keyword":"type","detail":"expected an integer"},)"
                                  R"({"parameter":"limit","keyword":"maximum","detail":"must be from 1 to 100"}]})"));
  EXPECT_EQ(call("GET", "/api/users?limit=many").status, 400);
}

TEST_P(Routes, a_user_is_created_found_replaced_and_removed) {
  const Reply created = call("POST", "/api/users", R"({"name":"Ada \u263a","email":"ada@example.com","age":36})");
  ASSERT_EQ(created.status, 201) << created.body;
  const Members row = members(created.body).value_or(Members());
  EXPECT_EQ(row.at("name"), "Ada \u263a");
  EXPECT_EQ(row.at("email"), "ada@example.com");
  EXPECT_EQ(row.at("age"), "36");
  EXPECT_EQ(row.at("created_at").size(), 20u);
  EXPECT_EQ(row.at("id"), "21");
  const std::string where = created.field("Location");
  EXPECT_EQ(where, "/api/users/21");

  const Reply found = call("GET", where);
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(found.body, created.body);

  const Reply replaced = call("PUT", where, R"({"name":"Countess","email":"ada@example.com","age":null})");
  EXPECT_EQ(replaced.status, 200);
  Members expected = row;
  expected["name"] = "Countess";
  expected["age"] = "null";
  EXPECT_EQ(members(replaced.body), expected);
  EXPECT_EQ(call("GET", where).body, replaced.body);

  const Reply removed = call("DELETE", where);
  EXPECT_EQ(removed.status, 204);
  EXPECT_EQ(removed.body, "");
  EXPECT_EQ(removed.field("Content-Length"), "");
  expect_problem(call("GET", where), 404, "Not Found", "no user has this id");
  expect_problem(call("PUT", where, R"({"name":"a","email":"a@b"})"), 404, "Not Found", "no user has this id");
  expect_problem(call("DELETE", where), 404, "Not Found", "no user has this id");
  EXPECT_EQ(call("GET", "/api/users/nobody").status, 400);
}

TEST_P(Routes, an_address_is_used_once) {
  expect_problem(call("POST", "/api/users", R"({"name":"a","email":"chen.wei@example.com"})"), 409, "Conflict",
                 "email: another user has this address");
  expect_problem(call("PUT", "/api/users/1", R"({"name":"a","email":"chen.wei@example.com"})"), 409, "Conflict",
                 "email: another user has this address");
  EXPECT_EQ(members(call("GET", "/api/users/1").body)->at("name"), "Amara Okafor");
}

TEST_P(Routes, what_is_wrong_with_a_body_is_named) {
  expect_refused_member(R"({"name":"a"})", "/email", "required", "is required");
  expect_refused_member(R"({"email":"a@b"})", "/name", "required", "is required");
  expect_refused_member(R"({"name":"","email":"a@b"})", "/name", "minLength", "must have 1 to 200 characters");
  expect_refused_member(R"({"name":"a","email":"nobody"})", "/email", "format",
                        "expected an email address such as ada@example.com");
  expect_refused_member(R"({"name":"a","email":"a@b","age":151})", "/age", "maximum", "must be from 0 to 150");
  expect_refused_member(R"({"name":"a","email":"a@b","age":"old"})", "/age", "type", "expected an integer");
  expect_refused_member("[1]", "", "type", "expected an object");

  expect_problem(call("POST", "/api/users", "{\n \"name\": tru}"), 400, "Bad Request",
                 "expected a value at line 2 column 10 (/name)");
  expect_problem(call("POST", "/api/users", R"({"name":"a",)"), 400, "Bad Request",
                 "unexpected end of text at line 1 column 13");
  expect_problem(call("POST", "/api/users", R"({"name":"a","name":"b","email":"a@b"})"), 400, "Bad Request",
                 "is given twice at line 1 column 20 (/name)");
  EXPECT_EQ(call("POST", "/api/users", "").status, 400);
}

TEST_P(Routes, any_object_is_kept) {
  const Reply first = call("POST", "/api/data", R"({"any":[1,{"thing":null}]})");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(first.body, R"({"id":1})");
  EXPECT_EQ(call("POST", "/api/data", "{}").body, R"({"id":2})");

  EXPECT_EQ(call("POST", "/api/data", "[1]").status, 422);
  EXPECT_EQ(call("POST", "/api/data", "{").status, 400);
  EXPECT_EQ(call("POST", "/api/data", "{} {}").status, 400);
}

TEST_P(Routes, unknown_paths_and_methods_are_told_apart) {
  expect_problem(call("GET", "/api/user"), 404, "Not Found", "there is nothing at this path");
  for (const char* path :
       {"/api/users/", "/API/users", "/", "/api/users/1/2", "/metrics", "/healthz", "/readyz", "/startupz"}) {
    EXPECT_EQ(call("GET", path).status, 404) << path;
  }

  const Reply wrong = call("PATCH", "/api/users/1");
  expect_problem(wrong, 405, "Method Not Allowed", "this path does not support this method");
  EXPECT_EQ(wrong.field("Allow"), "GET, HEAD, PUT, DELETE, OPTIONS");
  EXPECT_EQ(call("DELETE", "/api/users").field("Allow"), "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(call("BREW", "/health").status, 501);

  const Reply asked = call("OPTIONS", "/api/data");
  EXPECT_EQ(asked.status, 204);
  EXPECT_EQ(asked.field("Allow"), "POST, OPTIONS");
}

TEST_P(Routes, head_is_get_without_its_body) {
  for (const char* path : {"/health", "/api/users", "/api/users/1", "/api/users/999", "/nowhere"}) {
    Connection connection(service_->address());
    ASSERT_TRUE(connection.send(request("HEAD", path) + request("GET", path, {}, "Connection: close\r\n")));
    const auto head = connection.receive(true);
    const auto get = connection.receive();
    ASSERT_TRUE(head && get) << path;
    EXPECT_EQ(head->status, get->status) << path;
    EXPECT_EQ(head->field("Content-Length"), std::to_string(get->body.size())) << path;
    EXPECT_EQ(head->field("Content-Type"), get->field("Content-Type")) << path;
    EXPECT_TRUE(connection.ends_silently(5_s)) << "nothing follows the second answer";
  }
}

TEST_P(Routes, a_restart_keeps_the_data_and_adds_no_samples) {
  ASSERT_EQ(call("POST", "/api/users", R"({"name":"Kept","email":"kept@example.com"})").status, 201);
  ASSERT_EQ(call("DELETE", "/api/users/1").status, 204);
  const std::string before = call("GET", "/api/users?limit=100").body;

  ASSERT_EQ(service_->stop(), 0);
  start();

  EXPECT_EQ(call("GET", "/api/users?limit=100").body, before);
  EXPECT_NE(before.find("kept@example.com"), std::string::npos);
}

TEST_P(Routes, each_request_is_one_line_of_the_log) {
  struct Asked {
    std::string method, target, body;
  };
  const std::vector<Asked> asked = {{"GET", "/api/users?limit=3", ""}, {"GET", "/api/users/999", ""},
                                    {"POST", "/api/data", "{}"},       {"HEAD", "/health", ""},
                                    {"DELETE", "/api/users/1", ""},    {"GET", "/a%22b%0Ac", ""}};
  std::vector<std::string> expected;
  for (const Asked& one : asked) {
    const Reply reply = call(one.method, one.target, one.body);
    expected.push_back(one.method + " " + one.target.substr(0, one.target.find('?')) + " " +
                       std::to_string(reply.status));
  }
  ASSERT_EQ(service_->stop(), 0) << service_->errors();

  std::vector<std::string> found;
  for (const std::string& line : lines(read_file(folder_ / "service.log"))) {
    const auto fields = members(line);
    ASSERT_TRUE(fields.has_value()) << "not a JSON object: " << line;
    EXPECT_TRUE(fields->contains("time") && fields->contains("level") && fields->contains("message")) << line;
    if (fields->at("message") != "request") continue;
    ASSERT_TRUE(fields->contains("method") && fields->contains("path") && fields->contains("status")) << line;
    found.push_back(fields->at("method") + " " + fields->at("path") + " " + fields->at("status"));
    ASSERT_TRUE(fields->contains("duration") && fields->contains("trace")) << line;
    const double duration = std::stod(fields->at("duration"));
    EXPECT_TRUE(duration >= 0 && duration < 10) << line;
    EXPECT_EQ(fields->at("trace").size(), 32u) << line;
  }
  // Lines of different workers may be some milliseconds out of order.
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace e2e::routes_test
