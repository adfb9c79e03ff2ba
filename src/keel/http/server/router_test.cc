#include "keel/http/server/router.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/base/bug.h"
#include "keel/http/testing/internal/request_test.h"
#include "keel/task/testing.h"

namespace keel::http::router_test {
namespace {

Response ok(std::string_view text) { return Response::text(Status::Ok, text); }
Response hello(Request&) { return ok("hello"); }
Task<Response> hello_later(Request&) { co_return ok("later"); }

// What the router answers, waited for.
Response answer(const Router& router, std::string_view method, std::string_view target, std::string_view fields = "",
                std::string_view host = "test") {
  TestRequest request(router, method, target, fields, "", host);
  if (request.match().handler->at_once) return *request.answer();
  keel::testing::TestLoop loop;
  return *loop.run(request.answer_later());
}

TEST(Router, finds_the_handler_of_method_and_path) {
  Router router;
  router.get("/a", hello).post("/a", [](Request&) { return ok("posted"); }).get("/b/{id}", [](Request&) {
    return ok("b");
  });

  EXPECT_EQ(answer(router, "GET", "/a").content(), "hello");
  EXPECT_EQ(answer(router, "POST", "/a").content(), "posted");
  EXPECT_EQ(answer(router, "GET", "/b/1").content(), "b");
  EXPECT_EQ(answer(router, "GET", "/b/1?x=y").content(), "b");
}

struct Service {
  int calls = 0;
  Response now(Request&) { return ++calls, ok("now"); }
  Result<Response> maybe(Request&) { return ++calls, Result<Response>(ok("maybe")); }
  Task<Response> later(Request&) { co_return (++calls, ok("later")); }
};

TEST(Router, takes_functions_lambdas_and_members_that_answer_now_or_later) {
  Service service;
  Router router;
  router.get("/function", hello).get("/task", &hello_later).get("/lambda", [](Request&) { return ok("lambda"); });
  router.get("/lambda-task", [](Request&) -> Task<Response> { co_return ok("lambda-task"); });
  router.get("/now", service, &Service::now)
      .put("/maybe", service, &Service::maybe)
      .patch("/later", service, &Service::later);

  EXPECT_EQ(answer(router, "GET", "/function").content(), "hello");
  EXPECT_EQ(answer(router, "GET", "/task").content(), "later");
  EXPECT_EQ(answer(router, "GET", "/lambda").content(), "lambda");
  EXPECT_EQ(answer(router, "GET", "/lambda-task").content(), "lambda-task");
  EXPECT_EQ(answer(router, "GET", "/now").content(), "now");
  EXPECT_EQ(answer(router, "PUT", "/maybe").content(), "maybe");
  EXPECT_EQ(answer(router, "PATCH", "/later").content(), "later");
  EXPECT_EQ(service.calls, 3);
}

struct Shelf {
  Response base(Request&) { return ok("base"); }
};
struct Catalogue : Shelf {
  Response constant(const Request&) const { return ok("constant"); }
  Task<Response> later(const Request&) const { co_return ok("later"); }
  Response many(Request&) { return ok("many"); }
  int many(int count) const { return count; }
};
Response of_constant(const Request& request) { return ok(request.path()); }
Task<Response> of_constant_later(const Request& request) { co_return ok(request.path()); }

TEST(Router, takes_handlers_of_a_constant_request_and_members_that_are_constant_inherited_or_overloaded) {
  Catalogue catalogue;
  const Catalogue fixed;
  Router router;
  router.get("/function", of_constant).get("/task", of_constant_later);
  router.get("/lambda", [](const Request&) { return ok("lambda"); });
  router.get("/constant", catalogue, &Catalogue::constant).put("/constant", fixed, &Catalogue::constant);
  router.post("/later", catalogue, &Catalogue::later).patch("/base", catalogue, &Catalogue::base);
  router.del("/many", catalogue, &Catalogue::many);

  EXPECT_EQ(answer(router, "GET", "/function").content(), "/function");
  EXPECT_EQ(answer(router, "GET", "/task").content(), "/task");
  EXPECT_EQ(answer(router, "GET", "/lambda").content(), "lambda");
  EXPECT_EQ(answer(router, "GET", "/constant").content(), "constant");
  EXPECT_EQ(answer(router, "PUT", "/constant").content(), "constant");
  EXPECT_EQ(answer(router, "POST", "/later").content(), "later");
  EXPECT_EQ(answer(router, "PATCH", "/base").content(), "base");
  EXPECT_EQ(answer(router, "DELETE", "/many").content(), "many");
}

TEST(Router, answers_head_like_get_unless_head_has_its_own) {
  Router router;
  router.get("/a", hello);
  router.get("/b", hello).add(Method::Head, "/b", Handler{[](Request&) -> Result<Response> { return ok("own"); }, {}});
  EXPECT_EQ(answer(router, "HEAD", "/a").content(), "hello");
  EXPECT_EQ(answer(router, "HEAD", "/b").content(), "own");
}

TEST(Router, answers_unknown_paths_methods_and_forms_itself) {
  Router router;
  router.get("/a", hello).del("/a", hello).post("/b", hello);

  EXPECT_EQ(answer(router, "GET", "/nowhere").status(), Status::NotFound);
  EXPECT_EQ(answer(router, "GET", "/a/").status(), Status::NotFound);
  EXPECT_EQ(answer(router, "BREW", "/a").status(), Status::NotImplemented);
  EXPECT_EQ(answer(router, "POST", "/a").status(), Status::MethodNotAllowed);
  EXPECT_EQ(answer(router, "POST", "/a").fields(), "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
  EXPECT_EQ(answer(router, "HEAD", "/b").fields(), "Allow: POST, OPTIONS\r\n");
  EXPECT_EQ(answer(router, "OPTIONS", "/a").status(), Status::NoContent);
  EXPECT_EQ(answer(router, "OPTIONS", "/a").fields(), "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
  EXPECT_EQ(answer(router, "OPTIONS", "*").status(), Status::NoContent);
  EXPECT_FALSE(TestRequest(router, "GET", "/nowhere").match().is_route);
  EXPECT_TRUE(TestRequest(router, "GET", "/a").match().is_route);
}

TEST(Router, names_the_route_and_numbers_it) {
  Router router;
  router.get("/users/{id}", hello).post("/users", hello);
  TestRequest request(router, "GET", "/users/7");
  EXPECT_EQ(request->route(), "/users/{id}");
  EXPECT_EQ(request.match().index, 0u);
  EXPECT_EQ(TestRequest(router, "POST", "/users").match().index, 1u);
  EXPECT_EQ(TestRequest(router, "GET", "/x").match().index, 2u);
  ASSERT_EQ(router.routes().size(), 2u);
  EXPECT_EQ(router.routes()[1].pattern, "/users");
  EXPECT_EQ(router.routes()[1].method, Method::Post);
}

TEST(Router, keeps_the_options_of_each_route) {
  Service service;
  Router router;
  router.get("/plain", hello)
      .get("/slow", &hello_later, {.request_timeout = 2_min})
      .put("/upload", service, &Service::later, {.body_bytes_max = 1u << 30, .streams_body = true});

  const auto options = [&](std::string_view method, std::string_view target) {
    return *TestRequest(router, method, target).match().options;
  };
  EXPECT_EQ(options("GET", "/plain").request_timeout, std::nullopt);
  EXPECT_EQ(options("GET", "/slow").request_timeout, 2_min);
  EXPECT_EQ(options("HEAD", "/slow").request_timeout, 2_min);
  EXPECT_EQ(options("PUT", "/upload").body_bytes_max, 1u << 30);
  EXPECT_TRUE(options("PUT", "/upload").streams_body);
  for (const char* method : {"GET", "OPTIONS", "BREW"}) {
    EXPECT_EQ(options(method, "/upload").body_bytes_max, std::nullopt) << method;
    EXPECT_FALSE(options(method, "/upload").streams_body) << method;
  }
}

// --- Groups.

TEST(Router, puts_a_group_below_its_prefix) {
  Service service;
  Router router;
  Group api = router.group("/api");
  api.get("", hello).get("/a", hello).post("/a/{id:int}", service, &Service::now);
  api.group("/v2").get("/a", [](Request& request) { return ok(request.route()); });
  router.group("").get("/top", hello);

  EXPECT_EQ(answer(router, "GET", "/api").content(), "hello");
  EXPECT_EQ(answer(router, "GET", "/api/a").content(), "hello");
  EXPECT_EQ(answer(router, "POST", "/api/a/7").content(), "now");
  EXPECT_EQ(answer(router, "GET", "/api/v2/a").content(), "/api/v2/a");
  EXPECT_EQ(answer(router, "GET", "/top").content(), "hello");
  EXPECT_EQ(answer(router, "GET", "/api/").status(), Status::NotFound);
  EXPECT_EQ(answer(router, "GET", "/a").status(), Status::NotFound);
}

TEST(Router, gives_the_options_of_a_group_to_routes_that_do_not_say) {
  Router router;
  Group api = router.group("/api", {.body_bytes_max = 10, .request_timeout = 1_s, .produces = {"text/plain"}});
  api.get("/as-group", hello).get("/own", hello, {.request_timeout = 2_s});
  api.group("/inner", {.body_bytes_max = 20, .produces = {"text/html"}}).get("/both", hello);

  const auto options = [&](std::string_view target) { return *TestRequest(router, "GET", target).match().options; };
  EXPECT_EQ(options("/api/as-group").body_bytes_max, 10u);
  EXPECT_EQ(options("/api/as-group").request_timeout, 1_s);
  EXPECT_EQ(options("/api/own").body_bytes_max, 10u);
  EXPECT_EQ(options("/api/own").request_timeout, 2_s);
  EXPECT_EQ(options("/api/inner/both").body_bytes_max, 20u);
  EXPECT_EQ(options("/api/inner/both").request_timeout, 1_s);
  EXPECT_EQ(options("/api/inner/both").produces, std::vector<std::string>{"text/html"});
}

// --- Hosts.

TEST(Router, serves_a_host_its_own_routes_first_and_those_of_all_hosts_then) {
  Router router;
  router.get("/", hello).get("/health", [](Request&) { return ok("healthy"); });
  router.host("API.example.com").get("/", [](Request& request) { return ok(request.route()); });
  router.host("*.example.com").get("/", [](Request&) { return ok("wild"); }).get("/wild/{x}", hello);
  router.host("*.deep.example.com").get("/", [](Request&) { return ok("deep"); });
  const auto at = [&](std::string_view host, std::string_view target) {
    const std::string whole = "http://" + std::string(host) + std::string(target);
    return std::string(answer(router, "GET", whole, "", host).content());
  };

  EXPECT_EQ(at("api.example.com", "/"), "api.example.com/");
  EXPECT_EQ(at("Api.Example.COM:8080", "/"), "api.example.com/");
  EXPECT_EQ(at("www.example.com", "/"), "wild");
  EXPECT_EQ(at("a.b.example.com", "/"), "wild");
  EXPECT_EQ(at("a.deep.example.com", "/"), "deep");
  EXPECT_EQ(at("deep.example.com", "/"), "wild");
  EXPECT_EQ(at("example.com", "/"), "hello");
  EXPECT_EQ(at("badexample.com", "/"), "hello");
  EXPECT_EQ(at("[::1]:80", "/"), "hello");
  EXPECT_EQ(at("api.example.com", "/wild/7"), "hello");
  EXPECT_EQ(at("a.deep.example.com", "/wild/7"), "hello");
  EXPECT_EQ(at("api.example.com", "/health"), "healthy");
  EXPECT_NE(at("example.com", "/wild/7").find("404"), std::string::npos);
  EXPECT_EQ(at(std::string(300, 'a') + ".example.com", "/"), "hello");
}

TEST(Router, lets_the_host_decide_the_methods_of_a_path_that_it_knows) {
  Router router;
  router.post("/a", hello);
  router.host("h").get("/a", hello).group("/g").get("/b", hello);

  EXPECT_EQ(answer(router, "POST", "http://h/a", "", "h").status(), Status::MethodNotAllowed);
  EXPECT_EQ(answer(router, "POST", "http://i/a", "", "i").status(), Status::Ok);
  EXPECT_EQ(answer(router, "GET", "http://h/g/b", "", "h").status(), Status::Ok);
  ASSERT_EQ(router.routes().size(), 3u);
  EXPECT_EQ(router.routes()[1].pattern, "h/a");
}

// --- What a route consumes and produces.

TEST(Router, refuses_a_body_of_a_type_that_the_route_does_not_take) {
  Router router;
  router.post("/json", hello, {.consumes = {"application/json", "text/*"}}).get("/any", hello);
  const auto status = [&](std::string_view fields) { return answer(router, "POST", "/json", fields).status(); };

  EXPECT_EQ(status("Content-Length: 2\r\nContent-Type: application/json\r\n"), Status::Ok);
  EXPECT_EQ(status("Content-Length: 2\r\nContent-Type: Application/JSON;charset=utf-8\r\n"), Status::Ok);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\nContent-Type: text/csv\r\n"), Status::Ok);
  EXPECT_EQ(status(""), Status::Ok) << "no body";
  EXPECT_EQ(status("Content-Type: image/png\r\nContent-Length: 0\r\n"), Status::Ok) << "no body";
  EXPECT_EQ(status("Content-Length: 2\r\nContent-Type: image/png\r\n"), Status::UnsupportedMediaType);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\n"), Status::UnsupportedMediaType);
  const Response refused = answer(router, "POST", "/json", "Content-Length: 2\r\n");
  EXPECT_EQ(refused.fields(), "Accept: application/json, text/*\r\n");  // RFC 9110 §15.5.16.
  const std::string json = "Content-Length: 2\r\nContent-Type: application/json\r\nContent-Encoding: ";
  EXPECT_EQ(status(json + "identity\r\n"), Status::Ok);
  EXPECT_EQ(status(json + "\r\n"), Status::Ok);
  EXPECT_EQ(status(json + "identity, gzip\r\n"), Status::UnsupportedMediaType);
  EXPECT_EQ(status(json + "identity\r\ncontent-encoding: gzip\r\n"), Status::UnsupportedMediaType);
  const Response coded = answer(router, "POST", "/json", json + "gzip\r\n");
  EXPECT_EQ(coded.status(), Status::UnsupportedMediaType);
  EXPECT_EQ(coded.fields(), "Accept-Encoding: identity\r\n");
  EXPECT_EQ(answer(router, "GET", "/any", "Content-Length: 2\r\nContent-Encoding: gzip\r\n").status(), Status::Ok)
      << "its handler may know how";

  TestRequest request(router, "POST", "/json", "Content-Length: 2\r\n");
  EXPECT_FALSE(request.match().is_route) << "given at once, before the body is read";
  EXPECT_EQ(request.match().options->body_bytes_max, std::nullopt);
  EXPECT_EQ(request.match().index, 0u) << "counted for the route";
}

TEST(Router, answers_with_406_when_nothing_that_the_route_produces_is_accepted) {
  Router router;
  router.get("/report", [](Request& request) { return ok(request.accepted_type()); },
             {.produces = {"application/json", "text/csv"}});
  router.get("/any", [](Request& request) { return ok("[" + std::string(request.accepted_type()) + "]"); });
  const auto got = [&](std::string_view fields) {
    const Response response = answer(router, "GET", "/report", fields);
    return response.status() == Status::Ok ? std::string(response.content())
                                           : std::to_string(number(response.status()));
  };

  EXPECT_EQ(got(""), "application/json");
  EXPECT_EQ(got("Accept: */*\r\n"), "application/json");
  EXPECT_EQ(got("Accept: text/*\r\n"), "text/csv");
  EXPECT_EQ(got("Accept: application/json;q=0.5, text/csv\r\n"), "text/csv");
  EXPECT_EQ(got("Accept: image/png\r\nAccept: text/csv;q=0.1\r\n"), "text/csv") << "two fields are one list";
  EXPECT_EQ(got("Accept: image/png\r\n"), "406");
  EXPECT_EQ(got("Accept: */*;q=0\r\n"), "406");
  EXPECT_NE(answer(router, "GET", "/report", "Accept: image/png\r\n").content().find("application/json, text/csv"),
            std::string_view::npos);
  EXPECT_EQ(answer(router, "GET", "/any", "Accept: image/png\r\n").content(), "[]");
  EXPECT_EQ(answer(router, "HEAD", "/report", "Accept: image/png\r\n").status(), Status::NotAcceptable);
}

TEST(Router, names_the_methods_of_all_routes_for_an_asterisk) {
  Router router;
  EXPECT_EQ(answer(router, "OPTIONS", "*").fields(), "Allow: OPTIONS\r\n");
  router.get("/a", hello).del("/b", hello);
  EXPECT_EQ(answer(router, "OPTIONS", "*").fields(), "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
  // RFC 9112 §3.2.4: a proxy has not turned it into "*" yet. With a path or a query it is that resource.
  EXPECT_EQ(answer(router, "OPTIONS", "http://test").fields(), "Allow: GET, HEAD, DELETE, OPTIONS\r\n");
  EXPECT_EQ(answer(router, "OPTIONS", "http://test/").status(), Status::NotFound);
  EXPECT_EQ(answer(router, "OPTIONS", "http://test?a").status(), Status::NotFound);
  EXPECT_EQ(answer(router, "OPTIONS", "http://test/a").fields(), "Allow: GET, HEAD, OPTIONS\r\n");
}

// RFC 5789 §2.2, §3.1.
TEST(Router, says_which_patches_it_takes) {
  Router router;
  router.get("/a", hello)
      .patch("/a", hello, {.consumes = {"application/merge-patch+json", "application/json-patch+json"}});
  router.get("/b", hello).patch("/b", hello);
  const std::string types = "Accept-Patch: application/merge-patch+json, application/json-patch+json\r\n";
  EXPECT_EQ(answer(router, "OPTIONS", "/a").fields(), "Allow: GET, HEAD, PATCH, OPTIONS\r\n" + types);
  EXPECT_EQ(answer(router, "OPTIONS", "/b").fields(), "Allow: GET, HEAD, PATCH, OPTIONS\r\n");
  const Response refusal = answer(router, "PATCH", "/a", "Content-Type: text/plain\r\nContent-Length: 2\r\n");
  EXPECT_EQ(refusal.status(), Status::UnsupportedMediaType);
  EXPECT_NE(refusal.fields().find(types), std::string_view::npos) << refusal.fields();
}

// RFC 9110 §14.5: the part would replace the whole.
TEST(Router, refuses_a_part_that_is_put_for_the_whole) {
  Router router;
  router.put("/whole", hello).post("/whole", hello).put("/parts", hello, {.partial_put = true});
  const std::string_view part = "Content-Range: bytes 0-1/10\r\nContent-Length: 2\r\n";
  EXPECT_EQ(answer(router, "PUT", "/whole", part).status(), Status::BadRequest);
  EXPECT_EQ(answer(router, "PUT", "/whole", "Content-Length: 2\r\n").status(), Status::Ok);
  EXPECT_EQ(answer(router, "POST", "/whole", part).status(), Status::Ok);
  EXPECT_EQ(answer(router, "PUT", "/parts", part).status(), Status::Ok);
}

// RFC 9110 §7.4.
TEST(Router, refuses_a_secured_target_that_nobody_trusted_has_brought) {
  Router router;
  router.get("/a", hello);
  EXPECT_EQ(answer(router, "GET", "https://test/a").status(), Status::MisdirectedRequest);
  EXPECT_EQ(answer(router, "GET", "http://test/a").status(), Status::Ok);
}

TEST(RouterDeathTest, refuses_mistakes_with_a_sentence) {
  Router router;
  router.get("/a/{id}", hello);
  EXPECT_DEATH(router.get("no-slash", hello), "router_test.cc:[0-9]+.*no-slash.*a pattern must begin with '/'");
  EXPECT_DEATH(router.put("/b", hello, {.streams_body = true}), "must return a Task");
  EXPECT_DEATH(router.add(Method::Connect, "/a", Handler{hello, {}}), "a method other than Other and CONNECT");
  EXPECT_DEATH(router.get("/b", hello, {.consumes = {"json"}}), "\"json\": a route must consume");
  EXPECT_DEATH(router.get("/b", hello, {.produces = {"text/*"}}), "\"text/\\*\": a route must consume");
  EXPECT_DEATH(router.group("/api/"), "a group's prefix must begin with '/'");
  EXPECT_DEATH(router.group("api"), "a group's prefix must begin with '/'");
  EXPECT_DEATH(router.group("/api").get("users", hello), "users.*be empty for the group's prefix itself");
  EXPECT_DEATH(router.host("a:80").get("/", hello), "a:80.*a host must be a name without a port");
  EXPECT_DEATH(router.host("*").get("/", hello), "a host must be a name");
}

TEST(Router, takes_no_route_once_a_server_has_counted_them) {
  Router router;
  router.get("/a", hello);
  router.seal();
  try {
    router.get("/b", hello);
    FAIL() << "the route is added";
  } catch (const Bug& bug) {
    EXPECT_TRUE(std::string_view(bug.what()).starts_with("/b: a route cannot be added after a server was started"))
        << bug.what();
    EXPECT_TRUE(std::string_view(bug.place().file_name()).ends_with("router_test.cc"));
  }
}

TEST(RouterDeathTest, names_both_routes_of_a_conflict_and_where_they_were_added) {
  Router router;
  const int first = __LINE__ + 1;
  router.get("/a/{id}", hello).host("h").get("/a", hello);
  const auto at = [](int line) { return "router_test.cc:" + std::to_string(line); };

  // Outside the macro, in which compilers do not agree on the line.
  const int second = __LINE__ + 1;
  const auto add_second = [&] { router.get("/a/{id}", hello); };
  EXPECT_DEATH(add_second(),
               at(second) + ".*/a/\\{id\\}.*one handler for each method; its GET was added at .*" + at(first));
  const int third = __LINE__ + 1;
  const auto add_third = [&] { router.post("/a/{name}/b", hello); };
  EXPECT_DEATH(add_third(),
               at(third) + ".*\\{name\\} stands where \"/a/\\{id\\}\" has \\{id\\}; the other pattern was added at .*" +
                   at(first));
  EXPECT_DEATH(router.group("/a").get("/{id}", hello), "its GET was added at .*" + at(first));
  EXPECT_DEATH(router.host("H").get("/a", hello), "h/a.*its GET was added at .*" + at(first));
}

}  // namespace
}  // namespace keel::http::router_test
