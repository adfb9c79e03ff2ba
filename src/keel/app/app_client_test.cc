// HTTP clients of a whole App: on every worker, in handlers and in background work, named in metrics and configuration.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "keel/app/internal/app_testing.h"
#include "keel/base/bug.h"

namespace keel::app::app_client_test {
namespace {

// What the handlers of this file call.
http::SharedClient* payments = nullptr;

Task<http::Response> ask_payments(http::Request&) {
  http::ClientResponse answer = co_await payments->get("/point");
  co_return http::Response::text(http::Status::Ok, "payments said " + std::string(answer.body()));
}

Task<http::Response> ask_slow_payments(http::Request&) {
  const auto answer = co_await attempt(payments->get("/slow"));
  co_return http::Response::text(http::Status::Ok, answer ? "in time" : std::string(to_string(answer.error().code())));
}

class Clients : public Apps {
 protected:
  // The service is its own payment service.
  std::string base() const { return "http://127.0.0.1:" + std::to_string(service_.port()); }
  std::string body_of(const std::string& wire) { return wire.substr(wire.find("\r\n\r\n") + 4); }
};

TEST_F(Clients, are_called_by_handlers_on_every_worker_and_by_background_work) {
  std::atomic<int> checked = 0;
  prepare = [&](App& app) {
    payments = &app.client({.name = "payments", .base_url = base() + "/", .timeout = 5_s});
    app.every(5_ms, "reconcile", [&]() -> Task<> {
      const http::ClientResponse answer = co_await payments->get("/");
      if (answer.status() == http::Status::Ok) ++checked;
    });
  };
  add_routes = [](http::Router& router) { router.get("/ask", &ask_payments); };
  std::vector<std::string> answers;
  std::string metrics;

  const int code = run({"--network.workers=2"}, [&] {
    for (int i = 0; i < 20; ++i) answers.push_back(body_of(ask(service_, get("/ask"))));
    for (int i = 0; i < 5000 && checked < 3; ++i) ::usleep(1000);
    metrics = ask(admin_, get("/metrics"));
  });

  EXPECT_EQ(code, 0) << log();
  for (const std::string& answer : answers) EXPECT_EQ(answer, "payments said {\"x\":7}");
  EXPECT_GE(checked.load(), 3);
  EXPECT_NE(metrics.find("http_client_requests_total{client=\"payments\",status_class=\"2xx\"}"), std::string::npos)
      << metrics;
}

TEST_F(Clients, are_as_the_configuration_says_where_it_says_anything) {
  http::ClientOptions effective;
  prepare = [&](App& app) {
    payments = &app.client({.name = "payments", .base_url = "http://127.0.0.1:1", .timeout = 5_s, .redirects_max = 2});
    effective = payments->options();
  };
  add_routes = [](http::Router& router) { router.get("/ask", &ask_slow_payments); };
  std::string answer, page;
  chosen = free_address();
  service_ = *chosen;

  const int code = run({"--network.clients.payments.base_url=" + base(), "--network.clients.payments.timeout_sec=0.05",
                        "--network.clients.payments.max_attempts=1", "--network.clients.other.timeout_sec=1"},
                       [&] {
                         answer = body_of(ask(service_, get("/ask")));
                         page = ask(admin_, get("/admin/config"));
                       });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(effective.base_url, base());
  EXPECT_EQ(effective.timeout, 50_ms);
  EXPECT_EQ(effective.retry.attempts_max, 1);
  EXPECT_EQ(effective.redirects_max, 2) << "the application's";
  EXPECT_EQ(effective.read_timeout, http::ClientOptions().read_timeout);
  EXPECT_EQ(answer, std::string(to_string(Code::DeadlineExceeded)));
  EXPECT_NE(page.find("    payments:\n      base_url:"), std::string::npos) << page;
  EXPECT_NE(log().find("\"key\":\"network.clients.other\""), std::string::npos) << log();
}

// The service is the proxy, too: it takes requests for whatever host.
TEST_F(Clients, go_through_the_proxy_of_the_configuration_whose_password_is_not_shown) {
  prepare = [&](App& app) { payments = &app.client({.name = "payments", .base_url = "http://payments.example"}); };
  add_routes = [](http::Router& router) { router.get("/ask", &ask_payments); };
  const std::string password = folder_ + "/proxy";
  chosen = free_address();
  std::ofstream(password) << "http://user:hidden@127.0.0.1:" << chosen->port() << '\n';
  std::filesystem::permissions(password, std::filesystem::perms::owner_read);
  std::string answer, page;

  const int code = run({"--network.clients.payments.proxy_file=" + password,
                        "--network.clients.payments.no_proxy=[internal, 10.0.0.0/8]",
                        "--network.clients.payments.decompress=false", "--logging.level=debug"},
                       [&] {
                         answer = body_of(ask(service_, get("/ask")));
                         page = ask(admin_, get("/admin/config"));
                       });

  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(answer, "payments said {\"x\":7}");
  EXPECT_NE(page.find("proxy_file:"), std::string::npos) << page;
  EXPECT_EQ(page.find("hidden"), std::string::npos) << page;
  EXPECT_NE(log().find("an HTTP client uses a proxy"), std::string::npos) << log();
  EXPECT_NE(log().find("http://127.0.0.1:" + std::to_string(service_.port())), std::string::npos) << log();
  EXPECT_EQ(log().find("hidden"), std::string::npos) << log();
}

TEST_F(Clients, take_what_the_configuration_says_of_proxies_and_decoding) {
  http::ClientOptions effective, other;
  prepare = [&](App& app) {
    effective = app.client({.name = "payments", .proxy = "own:1", .no_proxy = {"own"}}).options();
    other = app.client({.name = "users", .proxy = "own:1", .no_proxy = {"own"}}).options();
  };
  EXPECT_EQ(run({"--network.clients.payments.proxy=environment", "--network.clients.payments.no_proxy=[]",
                 "--network.clients.payments.decompress=false"},
                [] {}),
            0);
  EXPECT_EQ(effective.proxy, "environment");
  EXPECT_TRUE(effective.no_proxy.empty());
  EXPECT_FALSE(effective.decompresses);
  EXPECT_EQ(other.proxy, "own:1") << "the application's";
  EXPECT_EQ(other.no_proxy, std::vector<std::string>{"own"});
  EXPECT_TRUE(other.decompresses);
}

TEST_F(Clients, whose_proxy_is_none_prevent_the_start) {
  prepare = [&](App& app) { app.client({.name = "payments", .proxy = "socks5://user:hidden@proxy"}); };

  EXPECT_EXIT(run({}, {}), ::testing::ExitedWithCode(2),
              "network.clients.payments.proxy: the client must connect to the proxy with http");
}

TEST_F(Clients, whose_base_url_is_none_prevent_the_start) {
  prepare = [&](App& app) { app.client({.name = "payments", .base_url = "ftp://payments.example"}); };

  EXPECT_EXIT(run({}, {}), ::testing::ExitedWithCode(2), "network.clients.payments.base_url 'ftp://payments.example'");
}

TEST_F(Clients, that_are_made_within_a_start_and_have_no_base_url_end_that_start) {
  prepare = [&](App& app) {
    app.module({.name = "user", .start = [&app]() -> Result<> {
                  app.client({.name = "payments", .base_url = "ftp://payments.example"});
                  return {};
                }});
  };

  const Instant before = Host::system().now();
  EXPECT_EXIT(run({"--common.stop_timeout_sec=20"}, {}), ::testing::ExitedWithCode(2),
              "test: network.clients.payments.base_url 'ftp://payments.example'");
  EXPECT_LT(Host::system().now() - before, 15_s) << "the module has waited for its own stop";
}

TEST_F(Clients, that_need_a_base_url_prevent_the_start_without_one) {
  prepare = [&](App& app) { app.client({.name = "payments", .needs_base_url = true}); };

  EXPECT_EXIT(run({}, {}), ::testing::ExitedWithCode(2),
              "network.clients.payments.base_url is required: the URL of the server, such as "
              "http://payments.internal:8080");
}

TEST_F(Clients, that_need_a_base_url_take_that_of_the_configuration) {
  prepare = [&](App& app) { payments = &app.client({.name = "payments", .needs_base_url = true}); };

  EXPECT_EQ(run({"--network.clients.payments.base_url=http://127.0.0.1:1"}, [] {}), 0);
}

TEST_F(Clients, of_one_name_are_made_once) {
  prepare = [&](App& app) {
    app.client({.name = "payments", .base_url = "http://127.0.0.1:1"});
    app.client({.name = "payments", .base_url = "http://127.0.0.1:2"});
  };

  EXPECT_THROW(run({}, {}), Bug);
}

TEST_F(Clients, of_a_host_that_is_not_known_end_the_call_alone) {
  prepare = [&](App& app) {
    payments =
        &app.client({.name = "payments", .base_url = "http://no-such-host.invalid", .retry = {.attempts_max = 1}});
  };
  add_routes = [](http::Router& router) { router.get("/ask", &ask_payments); };
  int status = 0;

  const int code = run({}, [&] { status = status_of(ask(service_, get("/ask"))); });

  EXPECT_EQ(code, 0);
  EXPECT_TRUE(status == 502 || status == 503) << status;
}

}  // namespace
}  // namespace keel::app::app_client_test
