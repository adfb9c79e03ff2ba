// A whole App in this process: its requests come from a second thread, and its signals from there too.

#include "keel/app/app.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "keel/app/internal/supervisor_test.h"
#include "keel/app/process.h"
#include "keel/base/sanitizers.h"
#include "keel/db/sqlite/database.h"
#include "keel/http/router.h"
#include "keel/task/timing.h"

namespace keel::app {
namespace {

struct Point {
  int x;
};
void write_json(json::Writer& out, const Point& point) {
  out.begin_object();
  out.key("x").integer(point.x);
  out.end_object();
}

http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "hello"); }
http::Response point(http::Request&) { return http::Response::json(http::Status::Ok, Point{7}); }
http::Response echo(http::Request& request) { return http::Response::text(http::Status::Ok, request.body()); }
http::Response hungry(http::Request& request) {
  request.arena().allocate(100'000);
  return http::Response::text(http::Status::Ok, "unexpected");
}
Task<http::Response> slow(http::Request&) {
  co_await sleep_for(150_ms);
  co_return http::Response::text(http::Status::Ok, "slow");
}

Task<http::Response> waits_for_sigterm(http::Request&) {
  co_await sleep_for(1_h);
  co_return http::Response::text(http::Status::Ok, "unexpected");
}

http::Response stall(http::Request&) {
  for (int i = 0; i < 3000; ++i) ::usleep(100);
  return http::Response::text(http::Status::Ok, "at last");
}

// What comes back until the server closes; `wire` asks it to.
std::string ask(const Address& to, const std::string& wire) {
  const int fd = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string text;
  if (::connect(fd, to.system(), to.system_size()) == 0 &&
      ::send(fd, wire.data(), wire.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(wire.size())) {
    char bytes[4096];
    for (ssize_t got; (got = ::recv(fd, bytes, sizeof bytes, 0)) > 0;)
      text.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}
// A connection that has sent `wire` and stays open.
class Open {
 public:
  Open(const Address& to, const std::string& wire) : fd_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_EQ(::connect(fd_, to.system(), to.system_size()), 0);
    EXPECT_EQ(::send(fd_, wire.data(), wire.size(), MSG_NOSIGNAL), static_cast<ssize_t>(wire.size()));
  }
  Open(const Open&) = delete;
  ~Open() { ::close(fd_); }

 private:
  int fd_;
};
// An address that nobody listens on.
// Below the ports that the system gives to clients, one of which could take it before it is listened on.
Address free_address() {
  while (true) {
    const auto port = static_cast<std::uint16_t>(10'000 + Host::system().random() % 20'000);
    const Address address = Address::ip("127.0.0.1", port).value();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_free = ::bind(fd, address.system(), address.system_size()) == 0;
    ::close(fd);
    if (is_free) return address;
  }
}
std::string get(const std::string& target, const std::string& fields = "Connection: close\r\n") {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
}
int status_of(const std::string& wire) { return wire.starts_with("HTTP/1.1 ") ? std::stoi(wire.substr(9, 3)) : 0; }
int occurrences(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

class Apps : public testing::Test {
 protected:
  Apps() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-app-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Apps() override { std::filesystem::remove_all(folder_); }

  // Runs an App that `prepare` interrupts. The exit code.
  int run_interrupted() { return run({}, {}); }

  // Runs an App with `flags` and calls `client` on another thread; then SIGTERM. The exit code.
  int run(std::vector<std::string> flags, Function<void()> client) {
    service_ = told != nullptr ? Address() : free_address();
    admin_ = told != nullptr ? Address() : free_address();
    flags.insert(flags.begin(), {"--network.http.port=" + std::to_string(service_.port()), "--network.workers=1",
                                 "--monitoring.metrics.export_port=" + std::to_string(admin_.port()),
                                 "--logging.sinks=[{type: file, path: '" + folder_ + "/logs/app.log'}]"});
    std::vector<const char*> args;
    for (const std::string& flag : flags) args.push_back(flag.c_str());
    const char* const environment[] = {nullptr};
    auto config = config::Reloadable<Settings>::load({.args = args, .environment = environment});
    if (!config) {
      ADD_FAILURE() << config.error().describe();
      return -1;
    }
    App app("test", *config);
    http::Router router;
    router.get("/", hello).get("/point", point).post("/echo", echo).get("/slow", &slow);
    router.get("/hungry", hungry).get("/stall", stall).get("/forever", &waits_for_sigterm);
    app.serve(router);
    if (prepare) prepare(app);
    if (!client) return app.run();
    std::thread other([&] {
      if (told != nullptr) service_ = said_address();
      // Readiness is the last thing to come.
      const bool has_admin = told == nullptr && (*config)->monitoring.enabled;
      const std::string probe = get(has_admin ? "/readyz" : "/");
      for (int i = 0; i < 1000 && status_of(ask(has_admin ? admin_ : service_, probe)) != 200; ++i) ::usleep(1000);
      client();
      ::kill(::getpid(), SIGTERM);
    });
    const int code = app.run();
    other.join();
    return code;
  }
  // Where the supervisor is told that we serve.
  Address said_address() {
    const std::string said = "READY=1\nSTATUS=serving on ";
    std::string one;
    do {
      one = told->next();
    } while (!one.empty() && !one.starts_with(said));
    return one.empty() ? Address() : Address::parse(one.substr(said.size())).value();
  }
  std::string log(const std::string& name = "app.log") {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/logs/" + name).rdbuf();
    return std::move(text).str();
  }

  std::string folder_;
  Address service_;
  Address admin_;
  Function<void(App&)> prepare;  // What main does beside serve().
  // Then ports are the system's choice: over many runs somebody else takes what was free a moment ago.
  Supervisor* told = nullptr;
};

TEST_F(Apps, serve_until_a_signal_and_give_0) {
  const int code = run({}, [&] {
    EXPECT_TRUE(ask(service_, get("/")).ends_with("\r\n\r\nhello"));
    EXPECT_EQ(status_of(ask(admin_, get("/healthz"))), 200);
    EXPECT_EQ(status_of(ask(admin_, get("/readyz"))), 200);
    EXPECT_EQ(status_of(ask(admin_, get("/startupz"))), 200);
    EXPECT_NE(ask(admin_, get("/metrics")).find("\nhealth_check_up{check=\"worker 0\"} 1\n"), std::string::npos);
    EXPECT_NE(ask(admin_, get("/metrics")).find("\nhttp_requests_total{"), std::string::npos);
    EXPECT_EQ(status_of(ask(service_, get("/metrics"))), 404);
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"ready")"), std::string::npos);
  EXPECT_NE(log().find(R"("message":"stopping","signal":"SIGTERM")"), std::string::npos);
  EXPECT_NE(log().find(R"("message":"stopped")"), std::string::npos);
}

TEST_F(Apps, run_one_after_the_other_in_one_process) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run({}, [&] { EXPECT_EQ(status_of(ask(service_, get("/"))), 200); }), 0);
  }
  EXPECT_EQ(occurrences(log(), R"("message":"stopped")"), 3);
}

TEST_F(Apps, complete_a_request_that_is_in_progress) {
  std::string answer;
  std::thread asking;
  const int code = run({}, [&] {
    asking = std::thread([&] { answer = ask(service_, get("/slow", "")); });
    ::usleep(50'000);
  });
  asking.join();

  EXPECT_EQ(code, 0);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nslow")) << answer;
  EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
}

TEST_F(Apps, give_1_when_the_drain_deadline_cuts_a_request_off) {
  std::string answer = "none yet";
  std::thread asking;
  const int code = run({"--network.http.drain_timeout_sec=0.02"}, [&] {
    asking = std::thread([&] { answer = ask(service_, get("/slow", "")); });
    ::usleep(50'000);
  });
  asking.join();

  EXPECT_EQ(code, 1);
  EXPECT_EQ(answer, "");
  EXPECT_NE(log().find("requests were cut off at the drain deadline"), std::string::npos);
}

TEST_F(Apps, fail_readiness_and_go_on_serving_for_the_delay_of_the_drain) {
  int ready = 0;
  int served = 0;
  std::thread watching;
  const int code = run({"--network.http.drain_delay_sec=0.4"}, [&] {
    watching = std::thread([&] {
      for (int i = 0; i < 1000 && (ready = status_of(ask(admin_, get("/readyz")))) == 200; ++i) ::usleep(1000);
      served = status_of(ask(service_, get("/")));
    });
  });
  watching.join();

  EXPECT_EQ(code, 0);
  EXPECT_EQ(ready, 503);
  EXPECT_EQ(served, 200) << "the listener was open after readiness had failed";
}

TEST_F(Apps, run_their_checks_as_often_as_the_settings_say) {
  // The age is that of the oldest result: with the default of 10 s it would pass 0.3 s.
  EXPECT_EQ(run({"--monitoring.health.check_interval_sec=0.01", "--monitoring.health.disk_free_min=1000000MiB"},
                [&] {
                  ::usleep(300'000);
                  const std::string answer = ask(admin_, get("/readyz"));
                  EXPECT_EQ(status_of(answer), 200);
                  EXPECT_NE(answer.find(R"({"status":"degraded")"), std::string::npos) << answer;
                  const std::size_t at = answer.find(R"("age_sec":)");
                  ASSERT_NE(at, std::string::npos) << answer;
                  EXPECT_LT(std::stod(answer.substr(at + 10)), 0.3) << answer;
                }),
            0);
}

TEST_F(Apps, open_log_files_again_on_sighup) {
  const std::string before = folder_ + "/logs/app.log";
  const int code = run({}, [&] {
    std::filesystem::rename(before, folder_ + "/logs/old.log");
    ::kill(::getpid(), SIGHUP);
    for (int i = 0; i < 1000 && !std::filesystem::exists(before); ++i) ::usleep(1000);
    EXPECT_EQ(status_of(ask(service_, get("/point"))), 200);
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log("old.log").find(R"("message":"ready")"), std::string::npos);
  EXPECT_EQ(log("old.log").find(R"("path":"/point")"), std::string::npos);
  EXPECT_NE(log().find(R"("path":"/point")"), std::string::npos);
}

// --- Modules and the start.

TEST_F(Apps, start_modules_before_the_service_listens_and_stop_them_after_the_last_answer) {
  std::atomic<int> answered_in_start = -1;
  std::atomic<int> answered_in_stop = -1;
  std::atomic<bool> stopped = false;
  prepare = [&](App& app) {
    app.module({.name = "cache",
                .needs = {"workers"},
                .start = [&]() -> Result<> {
                  answered_in_start = status_of(ask(service_, get("/")));
                  return {};
                },
                .stop =
                    [&] {
                      answered_in_stop = status_of(ask(service_, get("/")));
                      stopped = true;
                    }});
  };

  const int code = run({}, [&] {
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);
    EXPECT_FALSE(stopped);
  });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(answered_in_start, 0) << "nobody listens yet";
  EXPECT_EQ(answered_in_stop, 0) << "nobody listens any more";
  EXPECT_TRUE(stopped);
}

TEST_F(Apps, tell_what_the_start_was_made_of) {
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

TEST_F(Apps, tell_the_supervisor_each_step) {
  Supervisor supervisor(true);
  ::setenv("WATCHDOG_USEC", "300000", 1);
  std::vector<std::string> in_start;
  std::atomic<int> beats = 0;
  prepare = [&](App& app) {
    app.module({.name = "cache", .start = [&]() -> Result<> {
                  for (std::string one; !(one = supervisor.next(50)).empty();) in_start.push_back(one);
                  return {};
                }});
  };

  const int code = run({}, [&] {
    std::string one;
    for (int i = 0; i < 10 && !(one = supervisor.next()).starts_with("READY=1\n"); ++i) beats += one == "WATCHDOG=1";
    EXPECT_EQ(beats, 0) << "before it is ready nobody counts";
    EXPECT_EQ(one, "READY=1\nSTATUS=serving on " + service_.to_string());
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);
    EXPECT_EQ(supervisor.next(), "WATCHDOG=1");
    EXPECT_EQ(supervisor.next(), "WATCHDOG=1");
    ::kill(::getpid(), SIGHUP);
    while ((one = supervisor.next()) == "WATCHDOG=1") {
    }
    EXPECT_TRUE(one.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << one;
    EXPECT_EQ(supervisor.next(), "READY=1\nSTATUS=serving on " + service_.to_string());
  });
  ::unsetenv("WATCHDOG_USEC");

  EXPECT_EQ(code, 0);
  ASSERT_FALSE(in_start.empty());
  for (const std::string& one : in_start) EXPECT_EQ(one, "EXTEND_TIMEOUT_USEC=60000000");
  std::string one;
  while ((one = supervisor.next(100)) == "WATCHDOG=1") {
  }
  EXPECT_EQ(one, "STOPPING=1\nSTATUS=draining");
  EXPECT_EQ(supervisor.next(100), "EXTEND_TIMEOUT_USEC=45000000");
}

TEST_F(Apps, end_with_0_when_a_signal_comes_while_a_module_starts) {
  std::vector<std::string> events;
  prepare = [&](App& app) {
    app.module({.name = "first",
                .start = [&]() -> Result<> {
                  events.push_back("+first");
                  return {};
                },
                .stop = [&] { events.push_back("-first"); }});
    app.module({.name = "slow",
                .needs = {"first"},
                .start = [&]() -> Result<> {
                  events.push_back("+slow");
                  ::kill(::getpid(), SIGTERM);
                  Host::system().sleep(50_ms);
                  return {};
                },
                .stop = [&] { events.push_back("-slow"); }});
    app.module({.name = "never", .needs = {"slow"}, .start = [&]() -> Result<> {
                  events.push_back("+never");
                  return {};
                }});
  };

  EXPECT_EQ(run_interrupted(), 0);

  EXPECT_EQ(events, (std::vector<std::string>{"+first", "+slow", "-slow", "-first"}));
  EXPECT_NE(log().find(R"("message":"stopped during the start","signal":"SIGTERM")"), std::string::npos) << log();
  EXPECT_EQ(log().find(R"("message":"ready")"), std::string::npos);
}

TEST_F(Apps, start_nothing_more_when_a_signal_has_come_before_run) {
  prepare = [&](App& app) {
    app.module({.name = "late", .start = []() -> Result<> {
                  ADD_FAILURE() << "a signal has come";
                  return {};
                }});
    ::kill(::getpid(), SIGINT);
  };

  EXPECT_EQ(run_interrupted(), 0);

  EXPECT_NE(log().find(R"("signal":"SIGINT")"), std::string::npos) << log();
}

#if defined(__clang__)
constexpr bool is_clang = true;
#else
constexpr bool is_clang = false;
#endif

// What a leak would raise.
struct Held {
  double descriptors = process_open_descriptors();
  double resident = process_resident_bytes();
  double heap = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  }();
};

TEST_F(Apps, start_and_stop_a_thousand_times_without_holding_more) {
  // Freed memory is kept aside under sanitizers; LeakSanitizer looks at the end instead. GCC's goes the whole way.
  constexpr int cycles = KEEL_THREAD_SANITIZER || is_clang ? 100 : 1000;
  constexpr int warm = cycles / 5;
  Supervisor supervisor(true);
  told = &supervisor;
  prepare = [](App& app) {
    app.database();
    app.pool("images");
    app.module({.name = "cache", .needs = {"database"}, .start = [] { return Result<>(); }, .stop = [] {}});
  };
  // A Unix socket: stopping does not wait for those whose connections are on their way.
  const std::vector<std::string> flags = {"--network.http.address=unix:" + folder_ + "/app.sock",
                                          "--database.path=" + folder_ + "/app.db",
                                          "--database.migrations=", "--database.synchronous=off"};
  Held before;

  for (int i = 0; i < cycles && !HasFailure(); ++i) {
    if (i == warm) before = Held();
    ASSERT_EQ(run(flags, [&] { EXPECT_EQ(status_of(ask(service_, get("/"))), 200); }), 0) << i;
  }
  const Held after;

  EXPECT_EQ(after.descriptors, before.descriptors);
  std::printf("after %d cycles: %.3f MB of heap, %.1f MB resident; after %d: %.3f MB, %.1f MB\n", warm,
              before.heap / 1e6, before.resident / 1e6, cycles, after.heap / 1e6, after.resident / 1e6);
  if (!KEEL_SANITIZED) {
    EXPECT_LT(after.heap - before.heap, 50e3);
    EXPECT_LT(after.resident - before.resident, 2e6) << "the heap's arenas differ from one time to the other";
  }
}

// --- Reloads.

struct ShopSettings : Settings {
  unsigned shelves = 3;
  Secret password;
  void fields(config::Schema& v) {
    Settings::fields(v);
    config::field(v, "shelves", shelves, "how many there are").reloadable();
    config::field(v, "password", password, "of the store").reloadable();
  }
};

// An App whose configuration is a file that a test writes again.
class Reloads : public Apps {
 protected:
  // `text` is the file; ports, one worker and a log file are given by flags, so that they stay.
  template <class Client>
  int run_file(const std::string& text, Client client) {
    service_ = free_address();
    admin_ = free_address();
    file_ = folder_ + "/shop.yaml";
    write(text);
    const std::string flags[] = {"--network.http.port=" + std::to_string(service_.port()), "--network.workers=2",
                                 "--monitoring.metrics.export_port=" + std::to_string(admin_.port())};
    std::vector<const char*> args;
    for (const std::string& flag : flags) args.push_back(flag.c_str());
    const char* const environment[] = {nullptr};
    auto config =
        config::Reloadable<ShopSettings>::load({.file = file_, .args = args, .environment = environment}).value();
    const config::Applier applier =
        config.on_reload("shelves", [this](const ShopSettings& now, const ShopSettings&) -> Result<> {
          if (now.shelves > 100) return fail_text(Code::OutOfRange, "there is no room for the shelves");
          shelves_ = now.shelves;
          return {};
        });
    App app("test", config);
    // After the App's own: by its turn the server has the new limits and the log its new sinks.
    const config::Applier last =
        config.on_reload("password", [](const ShopSettings& now, const ShopSettings&) -> Result<> {
          if (now.password.reveal() == "wrong-hush") return fail_text(Code::Unavailable, "the store is shut");
          return {};
        });
    http::Router router;
    router.get("/", hello).post("/echo", echo).get("/slow", &slow);
    app.serve(router);
    std::thread other([&] {
      for (int i = 0; i < 1000 && status_of(ask(admin_, get("/readyz"))) != 200; ++i) ::usleep(1000);
      client();
      ::kill(::getpid(), SIGTERM);
    });
    const int code = app.run();
    other.join();
    return code;
  }
  void write(const std::string& text) const { std::ofstream(file_) << text; }
  std::string sinks(const std::string& level = "inherit", const std::string& name = "app.log") const {
    return "logging: {sinks: [{type: file, path: '" + folder_ + "/logs/" + name + "', level: " + level + "}]}\n";
  }
  // Of a line of /metrics, or -1.
  double metric(const std::string& name) const {
    const std::string text = ask(admin_, get("/metrics"));
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }
  // Writes the file and says so; waits for the reload's end.
  void reload(const std::string& text) {
    const auto done = [&] {
      return metric("config_reloads_total{result=\"ok\"}") + metric("config_reloads_total{result=\"failed\"}");
    };
    const double before = done();
    write(text);
    ::kill(::getpid(), SIGHUP);
    for (int i = 0; i < 5000 && done() == before; ++i) ::usleep(1000);
  }
  std::string post(std::size_t bytes) const {
    return ask(service_, "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
                             std::to_string(bytes) + "\r\n\r\n" + std::string(bytes, 'b'));
  }
  // The lines of the log that have `what`, waited for until there is one.
  int told(const std::string& what) {
    int found = 0;
    for (int i = 0; i < 3000 && (found = occurrences(log(), what)) == 0; ++i) ::usleep(1000);
    return found;
  }

  std::string file_;
  std::atomic<unsigned> shelves_ = 3;
};

TEST_F(Reloads, apply_what_may_change_and_say_each_change) {
  const int code = run_file(sinks(), [&] {
    EXPECT_EQ(status_of(post(100)), 200);
    reload("shelves: 7\nthread: {pool_size: 3}\n" + sinks() + "network: {http: {max_body: 99B, access_log: false}}\n");

    EXPECT_EQ(status_of(post(100)), 413);
    EXPECT_EQ(status_of(post(99)), 200);
    EXPECT_EQ(shelves_, 7u);
    const std::string where = folder_ + "/shop.yaml:";
    EXPECT_EQ(told(R"("message":"setting changed","key":"shelves","before":"3","now":"7","origin":")" + where + "1\""),
              1);
    EXPECT_EQ(
        told(R"("message":"setting changed","key":"network.http.max_body","before":"1MiB","now":"99B","origin":")" +
             where + "4\""),
        1);
    EXPECT_EQ(told(R"("level":"warn","component":"app","message":"setting needs a restart","key":"thread.pool_size",)"
                   R"("now":"0","after_restart":"3","origin":")" +
                   where + "2\""),
              1)
        << log();
    EXPECT_EQ(told(R"("message":"configuration reloaded","different":4)"), 1);
    EXPECT_EQ(metric("config_reloads_total{result=\"ok\"}"), 1);
    EXPECT_EQ(metric("config_reloads_total{result=\"failed\"}"), 0);
    EXPECT_EQ(metric("config_last_reload_successful"), 1);
  });

  EXPECT_EQ(code, 0);
}

TEST_F(Reloads, of_a_bad_file_change_nothing_and_say_why_with_file_and_line) {
  const int code = run_file(sinks(), [&] {
    const double at = metric("config_last_reload_success_timestamp_seconds");
    EXPECT_GT(at, 1e9);
    reload("shelves: 7\n" + sinks("error") + "network:\n  http:\n    max_body: 99\n    max_bodi: 1KiB\n");

    EXPECT_EQ(status_of(post(100)), 200);
    EXPECT_EQ(shelves_, 3u);
    const std::string failed = R"("message":"configuration not reloaded, nothing has changed","problem":")";
    EXPECT_EQ(told(failed + folder_ + R"(/shop.yaml:5: network.http.max_body: 99 has no unit: expected a size)"), 1);
    EXPECT_EQ(told(failed + folder_ +
                   R"(/shop.yaml:6: network.http.max_bodi: unknown key; did you mean network.http.max_body?")"),
              1);
    EXPECT_EQ(metric("config_reloads_total{result=\"failed\"}"), 1);
    EXPECT_EQ(metric("config_last_reload_successful"), 0);
    EXPECT_EQ(metric("config_last_reload_success_timestamp_seconds"), at);

    reload(sinks());
    EXPECT_EQ(metric("config_last_reload_successful"), 1);
    EXPECT_GE(metric("config_last_reload_success_timestamp_seconds"), at);
  });

  EXPECT_EQ(code, 0);
}

TEST_F(Reloads, roll_everything_back_when_an_applier_fails) {
  const int code = run_file(sinks(), [&] {
    reload("shelves: 7\npassword: wrong-hush\n" + sinks("inherit", "other.log") + "network: {http: {max_body: 99B}}\n");

    EXPECT_EQ(status_of(post(100)), 200);
    EXPECT_EQ(shelves_, 3u);
    EXPECT_EQ(told(R"("message":"configuration not reloaded, nothing has changed","problem":"the store is shut")"), 1);
    EXPECT_EQ(log("other.log"), "") << "opened and left again";

    reload("network: {http: {max_body: 99B}}\n" + sinks("inherit", "app.log/x"));
    EXPECT_EQ(status_of(post(100)), 200);
    EXPECT_EQ(metric("config_reloads_total{result=\"failed\"}"), 2);
    EXPECT_EQ(told(R"("problem":"logging.sinks: creating the folder )"), 1) << log();
  });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(occurrences(log(), R"("message":"stopped")"), 1) << "the log goes on";
}

TEST_F(Reloads, change_the_log_level_and_the_sinks) {
  const int code = run_file("common: {log_level: warn}\n" + sinks(), [&] {
    reload("common: {log_level: info}\n" + sinks());
    EXPECT_EQ(told(R"("key":"common.log_level","before":"warn","now":"info")"), 1) << "at the new level";
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);
    EXPECT_EQ(told(R"("message":"request")"), 1);

    reload("common: {log_level: error}\n" + sinks());
    EXPECT_EQ(told(R"("key":"common.log_level","before":"info","now":"error")"), 1) << "at the old level";
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);

    reload("common: {log_level: info}\n" + sinks("inherit", "second.log"));
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);
    for (int i = 0; i < 3000 && occurrences(log("second.log"), R"("message":"request")") == 0; ++i) ::usleep(1000);
    EXPECT_EQ(occurrences(log("second.log"), R"("message":"request")"), 1);
    EXPECT_EQ(occurrences(log(), R"("message":"request")"), 1);

    reload("logging: {enabled: false}\n");
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);
  });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(occurrences(log("second.log"), R"("message":"request")"), 1);
  EXPECT_EQ(occurrences(log("second.log"), R"("message":"stopped")"), 0);
}

TEST_F(Reloads, watch_the_disks_of_what_is_in_force) {
  const int code = run_file(sinks(), [&] {
    const std::string enough = ask(admin_, get("/readyz"));
    EXPECT_EQ(enough.find(R"("status":"degraded")"), std::string::npos) << enough;

    reload(sinks("inherit", "second.log") + "monitoring: {health: {disk_free_min: 900000GiB}}\n");

    std::string scarce;
    for (int i = 0; i < 3000 && scarce.find(R"("status":"degraded")") == std::string::npos; ++i) {
      ::usleep(1000);
      scarce = ask(admin_, get("/readyz"));
    }
    EXPECT_EQ(status_of(scarce), 200);
    EXPECT_NE(scarce.find(R"("name":"disk space","status":"degraded")"), std::string::npos) << scarce;
  });

  EXPECT_EQ(code, 0);
}

TEST_F(Reloads, change_how_long_a_drain_may_take) {
  std::string answer = "none yet";
  std::thread asking;
  const int code = run_file(sinks(), [&] {
    reload("network: {http: {drain_timeout_sec: 0.02}}\n" + sinks());
    asking = std::thread([&] { answer = ask(service_, get("/slow", "")); });
    ::usleep(50'000);
  });
  asking.join();

  EXPECT_EQ(code, 1);
  EXPECT_EQ(answer, "");
}

TEST_F(Reloads, never_show_a_secret) {
  const int code = run_file("password: first-hush\n" + sinks(), [&] {
    reload("password: second-hush\n" + sinks());
    EXPECT_EQ(told(R"("key":"password","before":"\"***\"","now":"\"***\"")"), 1) << log();
    const std::string page = ask(admin_, get("/admin/config"));
    EXPECT_NE(page.find("\npassword: \"***\" "), std::string::npos) << page;
    EXPECT_EQ(page.find("hush"), std::string::npos);
    reload("password: [third-hush]\n" + sinks());
    EXPECT_EQ(told(R"(shop.yaml:1: password: is a list: expected text)"), 1);
    EXPECT_EQ(ask(admin_, get("/metrics")).find("hush"), std::string::npos);
  });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(log().find("hush"), std::string::npos) << log();
}

TEST_F(Reloads, are_seen_on_the_admin_listener) {
  const int code = run_file("network: {http: {max_body: 2KiB}}\n" + sinks(), [&] {
    const std::string page = ask(admin_, get("/admin/config"));
    EXPECT_EQ(status_of(page), 200);
    EXPECT_NE(page.find("\r\nContent-Type: application/yaml\r\n"), std::string::npos);
    EXPECT_NE(page.find("\r\nCache-Control: no-store\r\n"), std::string::npos);
    EXPECT_NE(page.find("    max_body: 2KiB                        # " + file_ + ":1, reloadable\n"), std::string::npos)
        << page;
    EXPECT_NE(page.find("    port: " + std::to_string(service_.port()) +
                        "                           # --network.http.port\n"),
              std::string::npos)
        << page;

    reload("\nnetwork: {http: {max_body: 3KiB, address: 127.0.0.2}}\n" + sinks());
    const std::string later = ask(admin_, get("/admin/config"));
    EXPECT_NE(later.find("# network.http.address waits for a restart: 127.0.0.2 (" + file_ + ":2)\n"),
              std::string::npos)
        << later;
    EXPECT_NE(later.find("    max_body: 3KiB                        # " + file_ + ":2, reloadable\n"),
              std::string::npos);
    EXPECT_EQ(status_of(ask(service_, get("/admin/config"))), 404) << "and nowhere else";
  });

  EXPECT_EQ(code, 0);
}

TEST_F(Reloads, under_load_fail_no_request) {
  std::atomic<bool> enough = false;
  std::atomic<int> answered = 0;
  std::atomic<int> failed = 0;
  const int code = run_file(sinks(), [&] {
    std::vector<std::thread> clients;
    for (int i = 0; i < 2; ++i) {
      clients.emplace_back([&] {
        while (!enough) {
          if (status_of(post(64)) == 200) ++answered;
          else ++failed;
        }
      });
    }
    for (int i = 0; i < 10; ++i) {
      const bool even = i % 2 == 0;
      reload((even ? "common: {log_level: warn}\n" : "common: {log_level: debug}\n") + sinks() +
             (even ? "network: {http: {max_body: 64B, max_connections: 1}}\n"
                   : "network: {http: {max_body: 1KiB, max_connections: 100}}\n"));
    }
    enough = true;
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(metric("config_reloads_total{result=\"ok\"}"), 10);
  });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 0);
}

TEST_F(Apps, log_a_handler_that_stalls_its_worker) {
  const int code = run({"--monitoring.stall_ms=20"}, [&] { EXPECT_EQ(status_of(ask(service_, get("/stall"))), 200); });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"worker stalled","worker":0,)"), std::string::npos) << log();
  EXPECT_NE(log().find(R"("method":"GET","path":"/stall","stack":")"), std::string::npos) << log();
  EXPECT_NE(log().find("::stall(keel::http::Request&)"), std::string::npos) << log();
}

TEST_F(Apps, log_where_every_worker_is_on_sigquit) {
  const int code = run({"--network.workers=2"}, [&] {
    // Again on a machine so busy that a worker has not answered in time.
    for (int i = 0; i < 1000 && log().find(R"("message":"tasks","worker":1,"answers":true,)") == std::string::npos;
         ++i) {
      if (i % 50 == 0) ::kill(::getpid(), SIGQUIT);
      ::usleep(5000);
    }
    EXPECT_EQ(status_of(ask(service_, get("/point"))), 200);
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"worker","worker":0,)"), std::string::npos) << log();
#if !KEEL_THREAD_SANITIZER  // Which holds signals back, and gives another stack.
  EXPECT_NE(log().find("keel::io::Loop::turn"), std::string::npos) << log();
#endif
  EXPECT_NE(log().find(R"("message":"tasks","worker":1,"answers":true,"live":)"), std::string::npos) << log();
}

TEST_F(Apps, show_where_the_time_of_requests_goes) {
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

TEST_F(Apps, measure_no_request_when_told_so) {
  const int code = run({"--monitoring.measured_every=0"}, [&] {
    EXPECT_EQ(ask(service_, get("/point")).find("Server-Timing"), std::string::npos);
    EXPECT_NE(ask(admin_, get("/admin/stages")).find(R"({"routes":[]})"), std::string::npos);
  });
  EXPECT_EQ(code, 0);
}

TEST_F(Apps, show_the_tasks_that_live_and_log_them_on_sigquit) {
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

TEST_F(Apps, do_not_watch_for_stalls_when_told_so) {
  const int code = run({"--monitoring.stall_ms=0"}, [&] { EXPECT_EQ(status_of(ask(service_, get("/stall"))), 200); });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(log().find("worker stalled"), std::string::npos) << log();
}

TEST_F(Apps, show_the_last_requests_of_each_worker) {
  std::string page;
  const int code = run({}, [&] {
    ask(service_, get("/point"));
    page = ask(admin_, get("/admin/recorder"));
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(page.find(R"({"workers":[{"worker":0,"requests":[)"), std::string::npos) << page;
  EXPECT_NE(page.find(R"({"method":"GET","route":"/point","status":200,"bytes":7,"ago":)"), std::string::npos) << page;
}

// --- Each setting of network.http, seen from outside.

TEST_F(Apps, limit_what_the_settings_say) {
  const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ";
  const int code =
      run({"--network.http.max_body=16B", "--network.http.max_request_line=128B", "--network.http.max_header=512B",
           "--network.http.max_header_line=128B", "--network.http.max_header_count=8",
           "--network.http.header_timeout_sec=0.05", "--network.http.body_timeout_sec=0.06",
           "--network.http.idle_timeout_sec=0.07", "--network.http.request_timeout_sec=0.04"},
          [&] {
            EXPECT_EQ(status_of(ask(service_, post + "16\r\n\r\n0123456789abcdef")), 200);
            EXPECT_EQ(status_of(ask(service_, post + "17\r\n\r\n0123456789abcdefg")), 413);
            EXPECT_EQ(status_of(ask(service_, get("/" + std::string(40, 'x')))), 404);
            EXPECT_EQ(status_of(ask(service_, get("/" + std::string(128, 'x')))), 414);
            EXPECT_EQ(status_of(ask(service_, get("/", "X: " + std::string(128, 'x') + "\r\n"))), 431);
            std::string many = "Connection: close\r\n";
            for (int i = 0; i < 6; ++i) many += "X: y\r\n";
            EXPECT_EQ(status_of(ask(service_, get("/", many))), 200) << "eight with Host";
            EXPECT_EQ(status_of(ask(service_, get("/", many + "X: y\r\n"))), 431);
            std::string long_ones;
            for (int i = 0; i < 5; ++i) long_ones += "X: " + std::string(100, 'x') + "\r\n";
            EXPECT_EQ(status_of(ask(service_, get("/", long_ones))), 431);
            EXPECT_EQ(status_of(ask(service_, "GET / HT")), 408);
            EXPECT_EQ(status_of(ask(service_, post + "2\r\n\r\n{")), 408);
            EXPECT_EQ(status_of(ask(service_, get("/slow"))), 504);
            EXPECT_EQ(occurrences(ask(service_, get("/", "")), "HTTP/1.1 200"), 1) << "idle, then closed";
          });

  EXPECT_EQ(code, 0);
}

TEST_F(Apps, bound_memory_as_the_settings_say_and_show_each_bound) {
  prepare = [](App& app) {
    app.database();
    app.pool("images");
  };
  const int code = run(
      {"--network.http.max_body=48KiB", "--network.http.max_body_memory=64KiB",
       "--network.http.max_request_memory=64KiB", "--network.http.max_connections=77", "--database.queue_max=55",
       "--database.migrations=", "--database.path=" + folder_ + "/app.db"},
      [&] {
        const std::string body(40'000, 'b');
        const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 40000\r\n\r\n";
        const Open half(service_, post + body.substr(1));
        std::string refused;
        for (int i = 0; i < 1000 && status_of(refused = ask(service_, post + body)) == 200; ++i) ::usleep(1000);
        EXPECT_EQ(status_of(refused), 503) << "another body is held";
        EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos) << refused;
        EXPECT_EQ(status_of(ask(service_, get("/hungry"))), 503);
        const std::string metrics = ask(admin_, get("/metrics"));
        for (const char* line :
             {"http_connections_max{server=\"http\"} 77", "http_body_bytes_max{server=\"http\"} 65536",
              "http_bodies_refused_total{server=\"http\"} 1", "http_requests_too_big_total{server=\"http\"} 1",
              "http_accept_pauses_total{server=\"http\",reason=\"limit\"} 0",
              "http_accept_pauses_total{server=\"http\",reason=\"descriptors\"} 0", "db_writes_queued_max 55",
              "db_reads_queued_max 1024", "pool_queued_max{pool=\"images\"} 10000",
              "pool_refused_total{pool=\"images\"} 0"}) {
          EXPECT_NE(metrics.find(std::string("\n") + line + "\n"), std::string::npos) << line << "\n" << metrics;
        }
      });

  EXPECT_EQ(code, 0);
}

TEST_F(Apps, warn_when_there_are_fewer_descriptors_than_connections_may_need) {
  EXPECT_EQ(run({"--network.http.max_connections=10000000"}, [] {}), 0);
  EXPECT_NE(log().find(R"("message":"there are fewer descriptors than network.http.max_connections needs)"),
            std::string::npos)
      << log();

  std::filesystem::remove(folder_ + "/logs/app.log");
  EXPECT_EQ(run({"--network.http.max_connections=10"}, [] {}), 0);
  EXPECT_EQ(log().find("there are fewer descriptors"), std::string::npos);
}

TEST_F(Apps, close_after_as_many_requests_as_the_settings_say) {
  const std::string three = get("/", "") + get("/", "") + get("/", "");
  EXPECT_EQ(run({"--network.http.max_requests_per_connection=2"},
                [&] { EXPECT_EQ(occurrences(ask(service_, three), "HTTP/1.1 200"), 2); }),
            0);
  EXPECT_EQ(run({"--network.http.keep_alive=false"},
                [&] { EXPECT_EQ(occurrences(ask(service_, three), "HTTP/1.1 200"), 1); }),
            0);
}

TEST_F(Apps, log_requests_only_when_asked_to) {
  const auto one = [&] { EXPECT_EQ(status_of(ask(service_, get("/"))), 200); };

  EXPECT_EQ(run({"--network.http.access_log=false"}, one), 0);
  EXPECT_EQ(occurrences(log(), R"("message":"request")"), 0);
  EXPECT_EQ(occurrences(log(), R"("message":"stopped")"), 1);

  EXPECT_EQ(run({}, one), 0);
  EXPECT_EQ(occurrences(log(), R"("message":"request")"), 1);

  std::filesystem::remove(folder_ + "/logs/app.log");
  EXPECT_EQ(run({"--logging.enabled=false"}, one), 0);
  EXPECT_EQ(log(), "");
}

TEST_F(Apps, say_which_settings_have_no_effect) {
  EXPECT_EQ(run({"--thread.autoscale.min_threads=2"}, [] {}), 0);

  EXPECT_NE(log().find(R"("message":"a setting is accepted and has no effect in this version",)"
                       R"("key":"thread.autoscale.min_threads")"),
            std::string::npos)
      << log();
}

TEST_F(Apps, write_json_for_people_when_asked_to) {
  EXPECT_EQ(run({"--container.json.pretty_print=true"},
                [&] { EXPECT_TRUE(ask(service_, get("/point")).ends_with("{\n  \"x\": 7\n}")); }),
            0);
  EXPECT_EQ(run({}, [&] { EXPECT_TRUE(ask(service_, get("/point")).ends_with("{\"x\":7}")); }), 0);
}

TEST_F(Apps, serve_no_admin_pages_without_monitoring) {
  EXPECT_EQ(run({"--monitoring.enabled=false"}, [&] { EXPECT_EQ(status_of(ask(admin_, get("/healthz"))), 0); }), 0);
}

// --- Ends of the process.

class AppDeathTest : public testing::Test {
 protected:
  AppDeathTest() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  static void load(std::vector<std::string> words) {
    ::clearenv();
    std::fflush(stdout);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // Death tests look at standard error.
    words.insert(words.begin(), "test");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const auto loaded = load_or_exit("test", static_cast<int>(words.size()), argv.data());
    std::fprintf(stderr, "loaded: %d from %s\n", loaded->network.http.port,
                 std::string(loaded.origins().of("network.http.port")).c_str());
    ::_exit(7);
  }
  static Settings quiet() {
    Settings settings;
    settings.network.workers = 1;
    settings.logging.enabled = false;
    return settings;
  }
};

TEST_F(AppDeathTest, load_or_exit_goes_on_with_what_is_right) {
  EXPECT_EXIT(load({"--network.http.port=81"}), testing::ExitedWithCode(7), "^loaded: 81 from --network.http.port\n$");
}

TEST_F(AppDeathTest, load_or_exit_answers_questions_with_0) {
  EXPECT_EXIT(load({"--help"}), testing::ExitedWithCode(0), "network.http.port");
  EXPECT_EXIT(load({"-h", "--network.http.prot=1"}), testing::ExitedWithCode(0), "network.http.port");
  EXPECT_EXIT(load({"--print-config", "--network.http.port=81"}), testing::ExitedWithCode(0),
              "port: 81 +# --network.http.port");
  EXPECT_EXIT(load({"--check-config"}), testing::ExitedWithCode(0), "^the configuration is good\n$");
}

TEST_F(AppDeathTest, load_or_exit_ends_with_2_and_a_line_for_each_mistake) {
  EXPECT_EXIT(load({"--network.http.prot=1", "--thread.pool_size=many"}), testing::ExitedWithCode(2),
              "^test: --network.http.prot: unknown key; did you mean --network.http.port\\?\n"
              "test: --thread.pool_size: \"many\" is not an integer: [^\n]*\n$");
  EXPECT_EXIT(load({"--check-config", "--frob"}), testing::ExitedWithCode(2), "^test: --frob: needs a value[^\n]*\n$");
}

TEST_F(AppDeathTest, what_prevents_the_start_is_one_line_and_1) {
  const auto fail = [] {
    config::Reloadable<Settings> config(quiet());
    App app("test", config);
    app.fail_start(Error(Code::Unavailable, "the moon is down").because("starting"));
  };
  const auto no_database = [] {
    Settings settings = quiet();
    settings.database.path = "/dev/null/app.db";
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.database();
  };
  const auto no_log = [] {
    Settings settings = quiet();
    settings.logging.enabled = true;
    settings.logging.sinks[0].type = SinkType::File;
    settings.logging.sinks[0].path = "/dev/null/app.log";
    config::Reloadable<Settings> config(settings);
    App app("test", config);
  };

  EXPECT_EXIT(fail(), testing::ExitedWithCode(1), "^test: starting: the moon is down\n$");
  EXPECT_EXIT(no_database(), testing::ExitedWithCode(1),
              "^test: database.path: creating the folder '/dev/null'[^\n]*\n$");
  EXPECT_EXIT(no_log(), testing::ExitedWithCode(1), "^test: logging.sinks: creating the folder '/dev/null'[^\n]*\n$");
}

TEST_F(AppDeathTest, a_module_that_does_not_start_is_one_line_and_1) {
  const auto failing = [] {
    Settings settings = quiet();
    settings.network.http.port = 0;
    settings.monitoring.enabled = false;
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    http::Router router;
    app.serve(router);
    app.module({.name = "store",
                .start = [] { return Result<>(); },
                .stop = [] { std::fprintf(stderr, "the store is closed\n"); }});
    app.module({.name = "mail", .needs = {"store"}, .start = []() -> Result<> {
                  return fail(Code::Unavailable, "no mail today");
                }});
    app.run();
  };
  const auto slow = [] {
    Settings settings = quiet();
    settings.common.stop_timeout = 20_ms;
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "mail",
                .start = []() -> Result<> {
                  Host::system().sleep(60_s);
                  return {};
                },
                .start_timeout = 30_ms});
    app.run();
  };
  const auto circle = [] {
    const Settings settings = quiet();
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "a", .needs = {"b"}, .start = [] { return Result<>(); }});
    app.module({.name = "b", .needs = {"a"}, .start = [] { return Result<>(); }});
    app.run();
  };

  EXPECT_EXIT(
      failing(), testing::ExitedWithCode(1),
      "^the store is closed\ntest: no mail today \\(module \"mail\" failed after [0-9.]+ ms; \"http\" waited for "
      "it\\)\n$");
  EXPECT_EXIT(slow(), testing::ExitedWithCode(1), "^test: module \"mail\" did not start within 30 ms[^\n]*\n$");
  EXPECT_EXIT(circle(), testing::ExitedWithCode(1),
              "^test: modules need each other in a circle: \"a\" needs \"b\" needs \"a\"\n$");
}

TEST_F(AppDeathTest, a_module_that_does_not_stop_does_not_hold_the_end_up) {
  const auto stuck = [] {
    Settings settings = quiet();
    settings.monitoring.enabled = false;
    settings.common.stop_timeout = 50_ms;
    settings.network.http.drain_timeout = Duration();
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "mail", .start = [] { return Result<>(); }, .stop = [] { Host::system().sleep(60_s); }});
    std::thread([&app] {
      for (Buffer body; !app.health().ready(body);) Host::system().sleep(1_ms);
      ::kill(::getpid(), SIGTERM);
    }).detach();
    app.run();
  };

  EXPECT_EXIT(stuck(), testing::ExitedWithCode(1),
              "test: module \"mail\" was still stopping after 0\\.[0-9] s; the process ends without it\n$");
}

TEST_F(AppDeathTest, a_signal_while_main_waits_for_a_part_ends_it_with_0) {
  const auto interrupted = [] {
    const Settings settings = quiet();
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "slow",
                .start = []() -> Result<> {
                  ::kill(::getpid(), SIGTERM);
                  Host::system().sleep(50_ms);
                  return {};
                },
                .stop = [] { std::fprintf(stderr, "stopped what was slow\n"); },
                .lazy = true});
    app.ensure("slow");
    std::fprintf(stderr, "never said\n");
    ::_exit(3);
  };

  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(0), "^stopped what was slow\n$");
}

TEST_F(AppDeathTest, an_address_that_is_not_one_is_a_mistake_in_the_configuration) {
  const auto serve = [] {
    Settings settings = quiet();
    settings.network.http.address = "nowhere";
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    http::Router router;
    app.serve(router);
  };

  EXPECT_EXIT(serve(), testing::ExitedWithCode(2), "^test: network.http.address: [^\n]*\n$");
}

}  // namespace
}  // namespace keel::app
