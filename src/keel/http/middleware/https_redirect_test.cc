#include "keel/http/middleware/https_redirect.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/testing/test_server.h"

namespace keel::http::https_redirect_test {
namespace {

Response plain(Request&) { return Response::text(Status::Ok, "x"); }

std::string location(const TestResponse& response) { return std::string(response.header("Location").value_or("none")); }

TEST(HttpsRedirect, sends_every_path_to_the_same_one_by_https) {
  Router router;
  router.use(HttpsRedirect()).get("/here", plain);
  TestServer server(router);
  TestClient client(server, {.host = "shop.example"});
  const TestResponse here = client.get("/here?a=%20b&c");
  EXPECT_EQ(here.status(), 308);
  EXPECT_EQ(location(here), "https://shop.example/here?a=%20b&c");
  EXPECT_EQ(location(client.get("/no/where")), "https://shop.example/no/where");
  EXPECT_EQ(location(client.get("//other.example/")), "https://shop.example//other.example/");
  const TestResponse posted = client.post("/here", std::string(5000, 'x'));
  EXPECT_EQ(posted.status(), 308);
  EXPECT_EQ(location(posted), "https://shop.example/here");
}

TEST(HttpsRedirect, names_a_port_that_is_not_the_usual_one) {
  Router router;
  router.use(HttpsRedirect({.port = 8443}));
  TestServer server(router);
  TestClient client(server, {.host = "shop.example"});
  EXPECT_EQ(location(client.get("/")), "https://shop.example:8443/");
}

TEST(HttpsRedirect, lets_pass_what_came_by_https) {
  Router router;
  router.use(HttpsRedirect()).get("/here", plain);
  TestServerOptions options;
  options.server.believed.proto = TrustedPeers::Everybody;
  TestServer server(router, options);
  ClientRequest request(Method::Get, "/here");
  request.header("X-Forwarded-Proto", "https");
  EXPECT_EQ(server.send(std::move(request)).status(), 200);
  EXPECT_EQ(server.get("/here").status(), 308);
}

}  // namespace
}  // namespace keel::http::https_redirect_test
