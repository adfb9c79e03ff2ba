#include "keel/app/internal/start_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/http/testing/test_server.h"

namespace keel::app::internal::start_report_test {
namespace {

class StartReports : public ::testing::Test {
 protected:
  std::vector<std::string> phases() const {
    std::vector<std::string> names;
    for (const Phase& phase : lifecycle_.phases()) names.push_back(phase.name);
    return names;
  }

  const Program program_{"shop", "1.4.2"};
  config::Reloadable<Settings> config_{Settings()};
  Lifecycle lifecycle_;
  metrics::Registry metrics_;
  Health health_;
  const Platform platform_;
  const Registrar registrar_{program_,
                             *config_,
                             [](const void* value) -> const Settings& { return *static_cast<const Settings*>(value); },
                             config_.versions(),
                             lifecycle_,
                             metrics_,
                             health_,
                             platform_};
};

TEST_F(StartReports, have_the_phases_of_an_app_in_their_order) {
  StartReport report(registrar_, Host::system().now());
  report.begin();
  report.begin_wiring();
  report.end_wiring();
  const Instant checking = Host::system().now();
  report.complete(checking);

  EXPECT_EQ(phases(), (std::vector<std::string>{"signals", "bootstrap", "wiring", "health"}));
  EXPECT_GT(report.took(), Duration());
  EXPECT_LT(report.took(), 1_min);
}

TEST_F(StartReports, begin_with_the_configuration_when_it_was_loaded) {
  const char* const none[] = {nullptr};
  config_ = config::Reloadable<Settings>::load({.environment = none}).value();
  const Registrar registrar{program_, *config_, registrar_.settings_in, config_.versions(), lifecycle_, metrics_,
                            health_,  platform_};
  StartReport report(registrar, Host::system().now());
  report.begin();

  EXPECT_EQ(phases(), (std::vector<std::string>{"configuration", "signals"}));
}

TEST_F(StartReports, are_a_page) {
  StartReport report(registrar_, Host::system().now());
  report.begin();
  telemetry::AdminPages pages;
  report.add_pages(pages);
  http::Router router;
  pages.mount(router);
  http::TestServer server(router);

  const std::string text(server.get("/admin/start?format=text").body());
  EXPECT_NE(text.find("\n  signals  "), std::string::npos) << text;
  const std::string json(server.get("/admin/start").body());
  EXPECT_NE(json.find(R"({"name":"signals",)"), std::string::npos) << json;
  EXPECT_TRUE(text.starts_with("start of shop 1.4.2\n")) << text;
  EXPECT_TRUE(json.starts_with(R"({"name":"shop","version":"1.4.2","keel":")")) << json;
}

}  // namespace
}  // namespace keel::app::internal::start_report_test
