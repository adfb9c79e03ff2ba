#include "keel/contract/docs_page.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "keel/contract/internal/page_files.h"
#include "keel/http/middleware/compression.h"
#include "keel/http/middleware/security_headers.h"
#include "keel/http/server/static_files.h"
#include "keel/http/testing/test_server.h"

namespace keel::contract::docs_page_test {
namespace {

using http::ClientRequest;
using http::Method;
using http::Router;
using http::TestResponse;
using http::TestServer;

constexpr std::string_view json = R"({"openapi":"3.1.0","info":{"title":"Shop","version":"1"},"paths":{}})";
constexpr std::string_view gzip = "\x1f\x8b not looked at";
constexpr Document document{.json = json, .gzip = gzip};

std::string field(const TestResponse& response, std::string_view name) {
  return std::string(response.header(name).value_or("(none)"));
}
// The address that stands behind `before` in the page.
std::string address_behind(std::string_view page, std::string_view before) {
  const std::size_t at = page.find(before);
  if (at == page.npos) return "(none)";
  const std::string_view rest = page.substr(at + before.size());
  return std::string(rest.substr(0, rest.find('"')));
}
std::string script_of(std::string_view page) { return address_behind(page, "src=\""); }
std::string style_of(std::string_view page) { return address_behind(page, "rel=\"stylesheet\" href=\""); }
std::string document_of(std::string_view page) { return address_behind(page, "data-document=\""); }

TestResponse ask(TestServer& server, Method method, std::string_view path, std::string_view name = "",
                 std::string_view value = "") {
  ClientRequest request(method, path);
  request.header("Accept-Encoding", "identity");
  if (name == "Accept-Encoding") {
    request = ClientRequest(method, path);
  }
  if (!name.empty()) request.header(name, value);
  return server.send(std::move(request));
}

TEST(DocsPage, serves_the_document_as_json) {
  Router router;
  mount_documentation(router, document);
  TestServer server(router);

  const TestResponse response = ask(server, Method::Get, "/openapi.json");

  EXPECT_EQ(response.status(), 200);
  EXPECT_EQ(response.body(), json);
  EXPECT_EQ(field(response, "Content-Type"), "application/json");
  EXPECT_EQ(field(response, "Cache-Control"), "no-cache");
  EXPECT_EQ(field(response, "Vary"), "Accept-Encoding");
  EXPECT_EQ(field(response, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(field(response, "Content-Encoding"), "(none)");
  EXPECT_EQ(field(response, "Access-Control-Allow-Origin"), "(none)");
}

TEST(DocsPage, sends_gzip_to_those_who_accept_it) {
  Router router;
  mount_documentation(router, document);
  TestServer server(router);

  for (const char* accepted : {"gzip", "br, gzip;q=0.5", "*"}) {
    const TestResponse response = ask(server, Method::Get, "/openapi.json", "Accept-Encoding", accepted);
    EXPECT_EQ(response.body(), gzip) << accepted;
    EXPECT_EQ(field(response, "Content-Encoding"), "gzip") << accepted;
    EXPECT_EQ(field(response, "Vary"), "Accept-Encoding") << accepted;
  }
  for (const char* accepted : {"br", "gzip;q=0", "identity"}) {
    const TestResponse response = ask(server, Method::Get, "/openapi.json", "Accept-Encoding", accepted);
    EXPECT_EQ(response.body(), json) << accepted;
    EXPECT_EQ(field(response, "Content-Encoding"), "(none)") << accepted;
  }
}

TEST(DocsPage, sends_a_document_without_gzip_as_it_is) {
  Router router;
  mount_documentation(router, {.json = json});
  TestServer server(router);

  const TestResponse response = ask(server, Method::Get, "/openapi.json", "Accept-Encoding", "gzip");

  EXPECT_EQ(response.body(), json);
  EXPECT_EQ(field(response, "Vary"), "(none)");
}

TEST(DocsPage, answers_304_to_those_who_have_it) {
  Router router;
  mount_documentation(router, document);
  TestServer server(router);
  const std::string script = '/' + script_of(ask(server, Method::Get, "/docs").body());

  for (const std::string path : {"/openapi.json", "/docs", script.c_str()}) {
    const TestResponse first = ask(server, Method::Get, path);
    const std::string etag = field(first, "ETag");
    const TestResponse again = ask(server, Method::Get, path, "If-None-Match", etag);
    EXPECT_EQ(again.status(), 304) << path;
    EXPECT_EQ(again.body(), "") << path;
    EXPECT_EQ(field(again, "ETag"), etag) << path;
    EXPECT_EQ(field(again, "Cache-Control"), field(first, "Cache-Control")) << path;
    EXPECT_EQ(ask(server, Method::Get, path, "If-None-Match", "\"other\"").status(), 200) << path;
    EXPECT_EQ(ask(server, Method::Get, path, "If-Match", "\"other\"").status(), 412) << path;
  }
  const std::string plain = field(ask(server, Method::Get, "/openapi.json"), "ETag");
  const std::string packed = field(ask(server, Method::Get, "/openapi.json", "Accept-Encoding", "gzip"), "ETag");
  EXPECT_NE(plain, packed) << "they are different bytes";
}

TEST(DocsPage, has_another_entity_tag_for_another_document) {
  Router router;
  mount_documentation(router, {.json = "{}"});
  mount_documentation(router.group("/b"), {.json = "{ }"});
  TestServer server(router);

  EXPECT_NE(field(ask(server, Method::Get, "/openapi.json"), "ETag"),
            field(ask(server, Method::Get, "/b/openapi.json"), "ETag"));
}

TEST(DocsPage, allows_nothing_but_itself) {
  Router router;
  router.use(http::SecurityHeaders());  // What it says of pages does not take the place of the page's own.
  mount_documentation(router, document);
  TestServer server(router);

  const TestResponse response = ask(server, Method::Get, "/docs");

  EXPECT_EQ(response.status(), 200);
  EXPECT_EQ(field(response, "Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(field(response, "Content-Security-Policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'");
  EXPECT_EQ(field(response, "Referrer-Policy"), "no-referrer");
  const std::string_view page = response.body();
  EXPECT_EQ(page.find("<style"), page.npos);
  EXPECT_EQ(page.find("<script>"), page.npos);
  EXPECT_EQ(page.find(" on"), page.npos) << "an attribute with a script";
  EXPECT_EQ(page.find("{{"), page.npos);
}

TEST(DocsPage, lets_the_page_send_requests_to_the_origins_that_are_named) {
  Router router;
  mount_documentation(router, document, {.origins = {"https://api.example.com", "http://127.0.0.1:8080"}});
  TestServer server(router);

  const std::string policy = field(ask(server, Method::Get, "/docs"), "Content-Security-Policy");

  EXPECT_NE(policy.find("connect-src 'self' https://api.example.com http://127.0.0.1:8080;"), policy.npos) << policy;
}

TEST(DocsPage, names_script_and_style_by_their_content) {
  Router router;
  mount_documentation(router, document);
  TestServer server(router);
  const std::string page(ask(server, Method::Get, "/docs").body());

  for (const auto& [address, type, file] :
       {std::tuple(script_of(page), "text/javascript; charset=utf-8", &internal::page_script()),
        std::tuple(style_of(page), "text/css; charset=utf-8", &internal::page_style())}) {
    EXPECT_EQ(address, "docs/" + std::string(file->name));
    const TestResponse plain = ask(server, Method::Get, '/' + address);
    EXPECT_EQ(plain.status(), 200) << address;
    EXPECT_EQ(plain.body(), file->text) << address;
    EXPECT_EQ(field(plain, "Content-Type"), type) << address;
    EXPECT_EQ(field(plain, "Cache-Control"), "public, max-age=31536000, immutable") << address;
    EXPECT_EQ(field(plain, "X-Content-Type-Options"), "nosniff") << address;
    const TestResponse packed = ask(server, Method::Get, '/' + address, "Accept-Encoding", "gzip");
    EXPECT_EQ(field(packed, "Content-Encoding"), "gzip") << address;
    EXPECT_EQ(packed.body(), file->gzip) << address;
    EXPECT_EQ(server.get('/' + address).body(), file->text) << "as a client has it that decodes what comes";
  }
}

TEST(DocsPage, has_less_than_40_kB_compressed) {
  const std::size_t packed =
      internal::page_html().size() + internal::page_script().gzip.size() + internal::page_style().gzip.size();
  EXPECT_LT(packed, 40'000U);
}

TEST(DocsPage, addresses_are_relative_to_the_page) {
  struct Case {
    const char* page;
    const char* document;
    const char* document_address;
    const char* folder;
  };
  for (const Case& one :
       {Case{"/docs", "/openapi.json", "openapi.json", "docs/"},
        Case{"/a/b/docs", "/openapi.json", "../../openapi.json", "docs/"},
        Case{"/docs/", "/api/v1.json", "../api/v1.json", ""}, Case{"/", "/openapi.json", "openapi.json", ""}}) {
    Router router;
    mount_documentation(router.group("/v1"), document, {.document_path = one.document, .page_path = one.page});
    TestServer server(router);
    const std::string path = "/v1" + std::string(one.page);
    const TestResponse page = ask(server, Method::Get, path);
    EXPECT_EQ(page.status(), 200) << path;
    EXPECT_EQ(document_of(page.body()), one.document_address) << path;
    EXPECT_EQ(script_of(page.body()), one.folder + std::string(internal::page_script().name)) << path;
    EXPECT_EQ(ask(server, Method::Get, path.substr(0, path.rfind('/') + 1) + script_of(page.body())).status(), 200);
    EXPECT_EQ(ask(server, Method::Get, "/v1" + std::string(one.document)).body(), json) << path;
    EXPECT_EQ(ask(server, Method::Get, one.document).status(), 404) << path;
  }
}

TEST(DocsPage, has_the_path_below_which_the_operations_are) {
  const auto page = [](std::string_view base) {
    Router router;
    mount_documentation(router, document, {}, base);
    TestServer server(router);
    return std::string(ask(server, Method::Get, "/docs").body());
  };
  EXPECT_NE(page("").find(" data-base=\"\">"), std::string::npos);
  EXPECT_NE(page("/v1&\"").find(" data-base=\"/v1&amp;&quot;\">"), std::string::npos);
}

TEST(DocsPage, answers_head_without_a_body) {
  Router router;
  mount_documentation(router, document);
  TestServer server(router);

  for (const char* path : {"/docs", "/openapi.json"}) {
    const TestResponse response = ask(server, Method::Head, path);
    EXPECT_EQ(response.status(), 200) << path;
    EXPECT_EQ(response.body(), "") << path;
    EXPECT_EQ(field(response, "Content-Length"), std::to_string(ask(server, Method::Get, path).body().size())) << path;
  }
  EXPECT_EQ(ask(server, Method::Post, "/docs").status(), 405);
}

TEST(DocsPage, is_left_out_where_its_path_is_empty) {
  Router with_document;
  mount_documentation(with_document, document, {.page_path = ""});
  TestServer first(with_document);
  EXPECT_EQ(ask(first, Method::Get, "/openapi.json").status(), 200);
  EXPECT_EQ(ask(first, Method::Get, "/docs").status(), 404);

  Router without;
  mount_documentation(without, document, {.document_path = ""});
  TestServer second(without);
  EXPECT_EQ(ask(second, Method::Get, "/openapi.json").status(), 404);
  EXPECT_EQ(ask(second, Method::Get, "/docs").status(), 404);
}

TEST(DocsPage, lets_pages_of_every_site_read_the_document_where_that_is_wanted) {
  Router router;
  router.use(http::SecurityHeaders());
  mount_documentation(router, document, {.any_origin = true});
  TestServer server(router);

  const TestResponse response = ask(server, Method::Get, "/openapi.json");

  EXPECT_EQ(field(response, "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(field(response, "Cross-Origin-Resource-Policy"), "cross-origin");
  EXPECT_EQ(field(ask(server, Method::Get, "/docs"), "Access-Control-Allow-Origin"), "(none)");
}

TEST(DocsPage, is_not_compressed_twice) {
  const http::Compression compression;
  Router router;
  router.use(compression);
  mount_documentation(router, document);
  TestServer server(router);
  const std::string script = '/' + script_of(ask(server, Method::Get, "/docs").body());

  const TestResponse response = ask(server, Method::Get, script, "Accept-Encoding", "gzip");

  EXPECT_EQ(field(response, "Content-Encoding"), "gzip");
  EXPECT_EQ(response.body(), internal::page_script().gzip);
}

TEST(DocsPageDeathTest, refuses_paths_and_origins_that_are_none) {
  Router router;
  for (const char* path : {"docs", "/a b", "/{id}", "//docs", "/a?b"}) {
    EXPECT_DEATH(mount_documentation(router, document, {.page_path = path}),
                 "a path of the documentation must begin "
                 "with");
  }
  for (const char* origin : {"api.example.com", "https://", "https://a; script-src *", "https://a/b", "ftp://a"}) {
    EXPECT_DEATH(mount_documentation(router, document, {.origins = {origin}}), "an origin must be a scheme and a host");
  }
}

TEST(DocsPage, stands_beside_swagger_ui) {
  Router router;
  http::StaticFiles swagger({.folder = "swagger-ui-dist"});
  http::SecurityHeaders headers(
      {.content_security_policy =
           "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src "
           "'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"});
  http::Group pages = router.group("/swagger");
  pages.use(headers);
  swagger.mount(pages, "");
  mount_documentation(router, document, {.page_path = ""});
  TestServer server(router);

  const TestResponse missing = ask(server, Method::Get, "/swagger/swagger-ui.js");
  EXPECT_EQ(missing.status(), 404);
  EXPECT_TRUE(field(missing, "Content-Security-Policy").contains("style-src 'self' 'unsafe-inline'"));
  EXPECT_EQ(ask(server, Method::Get, "/openapi.json").body(), json);
}

}  // namespace
}  // namespace keel::contract::docs_page_test
