#include "keel/telemetry/admin_pages.h"

#include <gtest/gtest.h>

#include "keel/http/testing/test_server.h"

namespace keel::telemetry::admin_pages_test {
namespace {

AdminPage stages(const std::string& path) {
  return {.path = path,
          .json = [](Buffer& out) { out.append(R"({"stages":[]})"); },
          .text = [](Buffer& out) { out.append("no stages\n"); }};
}

TEST(AdminPages, are_json_and_a_text_for_people) {
  AdminPages pages;
  pages.add(stages("/admin/stages"));
  http::Router router;
  pages.mount(router);
  http::TestServer server(router);

  const http::TestResponse json = server.get("/admin/stages");
  EXPECT_EQ(json.body(), R"({"stages":[]})");
  EXPECT_EQ(json.header("Content-Type"), "application/json");
  const http::TestResponse text = server.get("/admin/stages?format=text");
  EXPECT_EQ(text.body(), "no stages\n");
  EXPECT_EQ(text.header("Content-Type"), "text/plain; charset=utf-8");
}

TEST(AdminPages, without_a_text_are_json_whatever_the_format) {
  AdminPages pages;
  pages.add({.path = "/admin/recorder", .json = [](Buffer& out) { out.append("{}"); }});
  http::Router router;
  pages.mount(router);
  http::TestServer server(router);

  EXPECT_EQ(server.get("/admin/recorder?format=text").header("Content-Type"), "application/json");
}

TEST(AdminPages, may_have_a_status_and_a_type_of_their_own) {
  AdminPages pages;
  pages.add("/readyz", [](http::Request&) {
    return http::Response::text(http::Status::ServiceUnavailable, "not: ready\n", "application/yaml");
  });
  http::Router router;
  pages.mount(router);
  http::TestServer server(router);

  const http::TestResponse response = server.get("/readyz");
  EXPECT_EQ(response.status(), 503);
  EXPECT_EQ(response.header("Content-Type"), "application/yaml");
  EXPECT_EQ(response.header("Cache-Control"), "no-store");
}

TEST(AdminPages, are_never_kept_by_a_cache_and_listed_in_their_order) {
  AdminPages pages;
  pages.add(stages("/b"));
  pages.add("/a", [](http::Request&) { return http::Response(http::Status::Ok); });
  http::Router router;
  pages.mount(router);
  http::TestServer server(router);

  for (const char* const path : {"/a", "/b", "/b?format=text"}) {
    EXPECT_EQ(server.get(path).header("Cache-Control"), "no-store") << path;
  }
  EXPECT_EQ(pages.paths(), "/b /a");
}

TEST(AdminPages, for_probes_are_those_that_are_not_below_admin) {
  AdminPages pages;
  pages.add(stages("/admin/stages"));
  pages.add("/readyz", [](http::Request&) { return http::Response(http::Status::Ok); });
  http::Router all;
  pages.mount(all);
  http::Router for_probes;
  pages.mount(for_probes, AdminPages::Which::ForProbes);

  EXPECT_EQ(http::TestServer(all).get("/admin/stages").status(), 200);
  EXPECT_EQ(http::TestServer(for_probes).get("/admin/stages").status(), 404);
  EXPECT_EQ(http::TestServer(for_probes).get("/readyz").status(), 200);
}

TEST(AdminPages, are_listed_at_the_root_of_the_listener_that_has_them) {
  AdminPages pages;
  pages.add("/readyz", [](http::Request&) { return http::Response(http::Status::Ok); });
  pages.add(stages("/admin/stages"));
  pages.add({.path = "/admin/recorder", .json = [](Buffer& out) { out.append("{}"); }});
  http::Router all;
  pages.mount(all);
  http::Router for_probes;
  pages.mount(for_probes, AdminPages::Which::ForProbes);

  const http::TestResponse list = http::TestServer(all).get("/");
  EXPECT_EQ(list.status(), 200);
  EXPECT_EQ(list.header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(list.header("Cache-Control"), "no-store");
  EXPECT_EQ(list.body(),
            "The pages of this listener, and their versions for people:\n\n"
            "/readyz\n"
            "/admin/stages    /admin/stages?format=text\n"
            "/admin/recorder\n");
  EXPECT_EQ(http::TestServer(for_probes).get("/").body(),
            "The pages of this listener, and their versions for people:\n\n/readyz\n");
}

TEST(AdminPages, at_the_root_take_the_place_of_the_list) {
  AdminPages pages;
  pages.add("/", [](http::Request&) { return http::Response::text(http::Status::Ok, "mine"); });
  http::Router router;
  pages.mount(router);

  EXPECT_EQ(http::TestServer(router).get("/").body(), "mine");
}

TEST(AdminPages, of_one_path_are_a_bug) {
  AdminPages pages;
  pages.add(stages("/a"));
  EXPECT_DEATH(pages.add(stages("/a")), "each admin page must have a different path");
}

}  // namespace
}  // namespace keel::telemetry::admin_pages_test
