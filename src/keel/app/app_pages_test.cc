#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/internal/app_testing.h"

namespace keel::app::app_pages_test {
namespace {

class PagesOfAnApp : public Apps {};

TEST_F(PagesOfAnApp, tell_what_the_start_was_made_of) {
  prepare = [](App& app) {
    app.module({.name = "cache", .start = [] { return Result<>(); }});
    app.module({.name = "unused", .start = [] { return Result<>(); }, .lazy = true});
    app.pool("images");
  };

  const int code = run({"--common.log_level=debug"}, [&] {
    const std::string text = ask(admin_, get("/admin/start?format=text"));
    EXPECT_EQ(status_of(text), 200);
    const std::string json = ask(admin_, get("/admin/start"));
    EXPECT_NE(json.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << json;
    const std::string metrics = ask(admin_, get("/metrics"));
    for (const char* const phase : {"signals", "bootstrap", "logs", "workers", "wiring", "monitoring", "pool images",
                                    "cache", "admin", "http", "health"}) {
      EXPECT_NE(text.find("\n  " + std::string(phase) + "  "), std::string::npos) << phase << text;
      EXPECT_NE(json.find("{\"name\":\"" + std::string(phase) + '"'), std::string::npos) << phase << json;
      EXPECT_NE(metrics.find("\napp_start_seconds{phase=\"" + std::string(phase) + '"'), std::string::npos) << phase;
    }
    EXPECT_NE(metrics.find("\napp_start_seconds{phase=\"total\""), std::string::npos);
    EXPECT_EQ(text.find("unused"), std::string::npos) << "a lazy module that nobody needed has not started";
    EXPECT_EQ(text.find("database"), std::string::npos) << "nobody asked for it";
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"start phase","phase":"workers","at":)"), std::string::npos) << log();
}

TEST_F(PagesOfAnApp, show_where_the_time_of_requests_goes) {
  const int code = run({"--monitoring.measured_every=1", "--network.http.server_timing=true"}, [&] {
    const std::string answer = ask(service_, get("/point"));
    EXPECT_NE(answer.find("\r\nServer-Timing: parse;dur="), std::string::npos) << answer;
    const std::string page = ask(admin_, get("/admin/stages?format=text"));
    EXPECT_NE(page.find("\r\nContent-Type: text/plain; charset=utf-8\r\n"), std::string::npos) << page;
    EXPECT_NE(page.find("\nGET /point "), std::string::npos) << page;
    const std::string json = ask(admin_, get("/admin/stages"));
    EXPECT_NE(json.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << json;
    EXPECT_NE(json.find(R"({"method":"GET","route":"/point","measured":1,)"), std::string::npos) << json;
    const std::string metrics = ask(admin_, get("/metrics"));
    EXPECT_NE(metrics.find(R"(http_stage_duration_seconds_count{server="http",stage="parse"} 1)"), std::string::npos)
        << metrics;
    EXPECT_EQ(status_of(ask(service_, get("/admin/stages"))), 404) << "and nowhere else";
  });
  EXPECT_EQ(code, 0);
}

TEST_F(PagesOfAnApp, have_those_that_the_service_adds) {
  prepare = [](App& app) { app.admin_page({.path = "/admin/rooms", .json = [](Buffer& out) { out.append("[]"); }}); };
  const int code = run({}, [&] {
    EXPECT_TRUE(ask(admin_, get("/admin/rooms")).ends_with("\r\n\r\n[]"));
    EXPECT_EQ(status_of(ask(service_, get("/admin/rooms"))), 404) << "and nowhere else";
  });
  EXPECT_EQ(code, 0);
}

TEST_F(PagesOfAnApp, measure_no_request_when_told_so) {
  const int code = run({"--monitoring.measured_every=0"}, [&] {
    EXPECT_EQ(ask(service_, get("/point")).find("Server-Timing"), std::string::npos);
    EXPECT_NE(ask(admin_, get("/admin/stages")).find(R"({"routes":[]})"), std::string::npos);
  });
  EXPECT_EQ(code, 0);
}

TEST_F(PagesOfAnApp, show_the_tasks_that_live_and_log_them_on_sigquit) {
  const int code = run({"--network.workers=2", "--network.http.drain_timeout_sec=0.05"}, [&] {
    const Open asking(service_, get("/forever"));
    std::string page;
    for (int i = 0; i < 3000 && page.find("waits_for_sigterm") == std::string::npos; ++i) {
      page = ask(admin_, get("/admin/tasks?format=text"));
    }
    EXPECT_NE(page.find("\r\nContent-Type: text/plain; charset=utf-8\r\n"), std::string::npos) << page;
    EXPECT_NE(page.find("worker 0: "), std::string::npos) << page;
    EXPECT_NE(page.find("\nworker 1: "), std::string::npos) << page;
    std::string json;
    for (int i = 0; i < 3000 && json.find("SleepFor") == std::string::npos; ++i) {
      json = ask(admin_, get("/admin/tasks"));
    }
    EXPECT_NE(json.find("\r\nContent-Type: application/json\r\n"), std::string::npos) << json;
    EXPECT_NE(json.find(R"("state":"waits","operation":"SleepFor","seconds":)"), std::string::npos) << json;
    EXPECT_EQ(status_of(ask(service_, get("/admin/tasks"))), 404) << "and nowhere else";

    for (int i = 0; i < 1000 && log().find("SleepFor for ") == std::string::npos; ++i) {
      if (i % 50 == 0) ::kill(::getpid(), SIGQUIT);
      ::usleep(5000);
    }
  });

  EXPECT_EQ(code, 1) << "one request was cut off";
  EXPECT_NE(log().find(R"(,"message":"task","worker":)"), std::string::npos) << log();
  EXPECT_NE(log().find("waits_for_sigterm"), std::string::npos) << log();
  EXPECT_NE(log().find("SleepFor for "), std::string::npos) << log();
}

TEST_F(PagesOfAnApp, show_the_last_requests_of_each_worker) {
  std::string page;
  const int code = run({}, [&] {
    ask(service_, get("/point"));
    page = ask(admin_, get("/admin/recorder"));
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(page.find(R"({"workers":[{"worker":0,"requests":[)"), std::string::npos) << page;
  EXPECT_NE(page.find(R"({"method":"GET","route":"/point","status":200,"bytes":7,"ago":)"), std::string::npos) << page;
}

TEST_F(PagesOfAnApp, serve_no_admin_pages_without_monitoring) {
  EXPECT_EQ(run({"--monitoring.enabled=false"}, [&] { EXPECT_EQ(status_of(ask(admin_, get("/healthz"))), 0); }), 0);
}

TEST_F(PagesOfAnApp, are_never_kept_by_a_cache) {
  const int code = run({}, [&] {
    for (const char* const path : {"/metrics", "/healthz", "/readyz", "/startupz", "/admin/start", "/admin/config",
                                   "/admin/recorder", "/admin/tasks", "/admin/stages"}) {
      const std::string page = ask(admin_, get(path));
      EXPECT_EQ(status_of(page), 200) << path;
      EXPECT_NE(page.find("\r\nCache-Control: no-store\r\n"), std::string::npos) << path << page;
    }
    EXPECT_EQ(status_of(ask(admin_, get("/admin/graph"))), 404) << "without services";
  });
  EXPECT_EQ(code, 0);
}

TEST_F(PagesOfAnApp, answer_to_no_name_that_they_were_not_told) {
  const auto by = [&](const std::string& host) {
    return ask(admin_, "GET /admin/config HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  };
  const int code = run({"--monitoring.metrics.export_names=[ops.internal]"}, [&] {
    for (const char* const host : {"evil.example", "evil.example:9090", "127.0.0.1.evil.example", "127.1", "[evil]"}) {
      const std::string rejected = by(host);
      EXPECT_TRUE(status_of(rejected) == 421 || status_of(rejected) == 400) << host << rejected;
      EXPECT_EQ(rejected.find("log_level"), std::string::npos);
    }
    EXPECT_EQ(status_of(by("evil.example:9090")), 421);
    for (const char* const host : {"127.0.0.1", "127.0.0.1:9090", "10.2.3.4", "[::1]", "[2001:db8::7]:9090",
                                   "localhost", "LocalHost:9090", "localhost.", "ops.internal:9090", "Ops.Internal"}) {
      const std::string page = by(host);
      EXPECT_EQ(status_of(page), 200) << host;
      EXPECT_NE(page.find("\r\nX-Content-Type-Options: nosniff\r\n"), std::string::npos) << page;
      EXPECT_NE(page.find("\r\nCross-Origin-Resource-Policy: same-origin\r\n"), std::string::npos) << page;
    }
    EXPECT_EQ(status_of(ask(admin_, "GET /readyz HTTP/1.0\r\n\r\n")), 200) << "a prober of HTTP/1.0";
  });
  EXPECT_EQ(code, 0);
}

TEST_F(PagesOfAnApp, are_at_a_unix_socket_when_they_are_told_so) {
  prepare = [this](App&) { admin_ = Address::parse("unix:" + folder_ + "/admin.sock").value(); };
  const int code = run({"--monitoring.metrics.export_address=unix:" + folder_ + "/admin.sock"}, [&] {
    EXPECT_EQ(status_of(ask(admin_, get("/readyz"))), 200);
    EXPECT_EQ(status_of(ask(admin_, get("/admin/config"))), 200);
    EXPECT_EQ(status_of(ask(admin_, "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")), 421);
  });
  EXPECT_EQ(code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/admin.sock"));
}

TEST_F(PagesOfAnApp, for_probes_from_outside_are_metrics_and_health) {
  const Address probes = free_address();
  const int code =
      run({"--monitoring.probes.address=127.0.0.1", "--monitoring.probes.port=" + std::to_string(probes.port())}, [&] {
        for (const char* const path : {"/metrics", "/healthz", "/readyz", "/startupz"}) {
          EXPECT_EQ(status_of(ask(probes, get(path))), 200) << path;
        }
        for (const char* const path : {"/admin/config", "/admin/recorder", "/admin/tasks", "/admin/start"}) {
          EXPECT_EQ(status_of(ask(probes, get(path))), 404) << path;
          EXPECT_EQ(status_of(ask(admin_, get(path))), 200) << path;
        }
        EXPECT_NE(ask(probes, get("/metrics")).find("\nhttp_connections{server=\"probes\"} 1\n"), std::string::npos);
        EXPECT_EQ(status_of(ask(probes, "GET /readyz HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")),
                  421);
      });
  EXPECT_EQ(code, 0);
}

TEST_F(PagesOfAnApp, answer_a_probe_beside_as_many_slow_heads_as_there_are_places) {
  const int code = run({}, [&] {
    std::vector<std::unique_ptr<Open>> slow;
    Duration slowest;
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 64; ++i) slow.push_back(std::make_unique<Open>(admin_, "G"));
      const Instant began = Host::system().now();
      EXPECT_EQ(status_of(ask(admin_, get("/readyz"))), 200);
      slowest = std::max(slowest, Host::system().now() - began);
    }
    EXPECT_LT(slowest, 2_s);
  });
  EXPECT_EQ(code, 0);
}

TEST_F(PagesOfAnApp, take_no_body) {
  const int code = run({}, [&] {
    for (const char* const framing : {"Content-Length: 1", "Transfer-Encoding: chunked"}) {
      EXPECT_EQ(status_of(ask(admin_, get("/readyz", std::string(framing) + "\r\n"))), 413) << framing;
    }
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace keel::app::app_pages_test
