#include "keel/app/internal/admin_guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/http/testing/test_server.h"

namespace keel::app::internal::admin_guard_test {
namespace {

class Guards : public ::testing::Test {
 protected:
  Guards() {
    router_.use(guard_);
    router_.get("/readyz", [](http::Request&) { return http::Response::text(http::Status::Ok, "ready"); });
    server_ = std::make_unique<http::TestServer>(router_);
  }
  http::TestResponse ask(const std::string& host, const std::string& path = "/readyz") {
    return http::TestClient(*server_, {.host = host}).get(path);
  }

  const std::vector<std::string> names_ = {"Metrics.internal"};
  AdminGuard guard_{names_};
  http::Router router_;
  std::unique_ptr<http::TestServer> server_;
};

// Addresses as hosts, and ports behind all of them: app_pages_test.cc.
TEST_F(Guards, let_localhost_and_configured_names_pass) {
  for (const char* const host : {"localhost", "LocalHost", "metrics.internal", "METRICS.INTERNAL"}) {
    EXPECT_EQ(ask(host).status(), 200) << host;
  }
}

TEST_F(Guards, reject_a_name_that_a_browser_was_told_of_by_somebody_else) {
  for (const char* const host :
       {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "internal", "a.metrics.internal"}) {
    const http::TestResponse response = ask(host);
    EXPECT_EQ(response.status(), 421) << host;
    EXPECT_EQ(response.body().find("ready"), std::string::npos);
    EXPECT_NE(response.body().find("monitoring.metrics.export_names"), std::string::npos) << response.body();
  }
  EXPECT_EQ(ask("evil.example", "/unknown").status(), 421) << "nor is it told which pages there are";
}

TEST_F(Guards, tell_browsers_neither_to_guess_nor_to_share) {
  for (const auto& response : {ask("localhost"), ask("evil.example"), ask("localhost", "/unknown")}) {
    EXPECT_EQ(response.header("X-Content-Type-Options"), "nosniff") << response.status();
    EXPECT_EQ(response.header("Cross-Origin-Resource-Policy"), "same-origin") << response.status();
  }
}

}  // namespace
}  // namespace keel::app::internal::admin_guard_test
