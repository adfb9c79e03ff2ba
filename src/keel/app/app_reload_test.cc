// What SIGHUP changes in an App that serves.

#include <atomic>

#include "keel/app/internal/app_testing.h"
#include "keel/io/loop.h"
#include "keel/net/messages/client.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/task/start.h"

namespace keel::app::app_reload_test {
namespace {

struct ShopSettings : Settings {
  unsigned shelves = 3;
  config::Secret password;
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
          if (now.shelves > 100) return Error::text(Code::OutOfRange, "there is no room for the shelves");
          shelves_ = now.shelves;
          return {};
        });
    App app("test", config);
    // After the App's own: by its turn the server has the new limits and the log its new sinks.
    const config::Applier last =
        config.on_reload("password", [](const ShopSettings& now, const ShopSettings&) -> Result<> {
          if (now.password.reveal() == "wrong-hush") return Error::text(Code::Unavailable, "the store is shut");
          return {};
        });
    http::Router router;
    router.get("/", hello).post("/echo", echo).get("/slow", &slow);
    mount_(app, router);
    app.serve(router);
    std::thread other([&] {
      for (int i = 0; i < 1000 && status_of(ask(admin_, get("/readyz"))) != 200; ++i) ::usleep(1000);
      client();
      ::kill(::getpid(), SIGTERM);
    });
    const int code = app.run();
    other.join();
    after_();
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
  Function<void(App&, http::Router&)> mount_ = [](App&, http::Router&) {};
  Function<void()> after_ = [] {};  // The App has ended, and its configuration has not.
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
    EXPECT_EQ(
        told(
            R"("level":"warn","component":"app","message":"a changed setting needs a restart","key":"thread.pool_size",)"
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

Task<> send(Address at, std::size_t bytes) {
  messages::Client client = co_await messages::Client::connect(at);
  const std::string text(bytes, 'x');
  Result<> sent = client->try_send(messages::Raw{1, text});
  co_await client.close();
  co_await std::move(sent);
}
// Whether the service takes a message of this size; on a loop of this thread.
bool takes(Address at, std::size_t bytes) {
  io::Loop loop(io::make_engine(io::EngineKind::Auto).value(), Host::system());
  const io::Loop::Entered entered(loop);
  Start<void> sending;
  if (!sending.begin(send(at, bytes), [](StartCore&) noexcept {})) {
    while (!sending.has_ended()) loop.turn(Host::system().now() + 10_ms);
  }
  const Result<> sent = sending.take();
  if (!sent) {
    EXPECT_EQ(sent.error().code(), Code::OutOfRange) << sent.error().describe();
  }
  loop.finish();
  return sent.has_value();
}

TEST_F(Reloads, change_the_limits_of_messages_and_say_what_needs_a_restart) {
  messages::Handlers handlers;
  handlers.on_raw(1, [](messages::Peer&, std::string_view) {});
  sessions::Handlers of_sessions;
  Address at = free_address();
  mount_ = [&](App& app, http::Router&) {
    // The application's, where the configuration says nothing.
    app.messages(handlers, {.peer = {.frame_bytes_max = 2000}});
    app.sessions(of_sessions);
  };
  const std::string port = "port: " + std::to_string(at.port());
  const auto section = [&](const std::string& keys) {
    return sinks() + "network: {messages: {" + port + (keys.empty() ? "" : ", ") + keys + "}}\n";
  };
  const int code = run_file(section(""), [&] {
    EXPECT_TRUE(takes(at, 1500));
    EXPECT_FALSE(takes(at, 2500)) << "the application has set 2000";
    reload(section("max_frame: 3KiB, drain_timeout_sec: 0.5, checksums: true, sessions: {max_sessions: 7}"));
    EXPECT_TRUE(takes(at, 2500));
    EXPECT_EQ(told(R"("message":"setting changed","key":"network.messages.max_frame","before":"1MiB","now":"3KiB")"),
              1);
    EXPECT_EQ(told(R"("message":"setting changed","key":"network.messages.drain_timeout_sec")"), 1);
    EXPECT_EQ(told(R"("message":"setting changed","key":"network.messages.sessions.max_sessions")"), 1);
    EXPECT_EQ(told(R"("message":"a changed setting needs a restart","key":"network.messages.checksums")"), 1) << log();
    reload(section(""));
    EXPECT_FALSE(takes(at, 2500)) << "as it was at the start";
  });

  EXPECT_EQ(code, 0) << log();
}

TEST_F(Reloads, of_a_bad_file_change_nothing_and_say_why_with_file_and_line) {
  const int code = run_file(sinks(), [&] {
    const double at = metric("config_last_reload_success_timestamp_seconds");
    EXPECT_GT(at, 1e9);
    reload("shelves: 7\n" + sinks("error") + "network:\n  http:\n    max_body: 99\n    max_bodi: 1KiB\n");

    EXPECT_EQ(status_of(post(100)), 200);
    EXPECT_EQ(shelves_, 3u);
    const std::string failed = R"("message":"the configuration was not reloaded; nothing has changed","problem":")";
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
    EXPECT_EQ(
        told(R"("message":"the configuration was not reloaded; nothing has changed","problem":"the store is shut")"),
        1);
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

    // The service is degraded already while the new check has not run.
    const std::string degraded = R"("name":"disk space","status":"degraded")";
    std::string scarce;
    for (int i = 0; i < 3000 && scarce.find(degraded) == std::string::npos; ++i) {
      ::usleep(1000);
      scarce = ask(admin_, get("/readyz"));
    }
    EXPECT_EQ(status_of(scarce), 200);
    EXPECT_NE(scarce.find(degraded), std::string::npos) << scarce;
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

TEST_F(Reloads, read_the_file_of_a_secret_again) {
  const std::string secret = folder_ + "/password";
  std::ofstream(secret) << "first-hush\n";
  const std::string text = "password_file: " + secret + "\n" + sinks();
  const int code = run_file(text, [&] {
    std::ofstream(secret) << "second-hush\n";
    reload(text);
    EXPECT_EQ(told(R"("key":"password","before":"\"***\"","now":"\"***\"")"), 1) << log();
    EXPECT_NE(ask(admin_, get("/admin/config")).find("\npassword_file: " + secret), std::string::npos);
    std::ofstream(secret) << "wrong-hush\n";
    reload(text);
    EXPECT_EQ(told(R"("problem":"the store is shut")"), 1) << log();
    ::unlink(secret.c_str());
    reload(text);
    EXPECT_EQ(told("password_file: " + secret + " cannot be opened: No such file or directory"), 1) << log();
  });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(log().find("hush"), std::string::npos) << log();
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

TEST_F(Reloads, overwrite_a_replaced_secret_after_each_worker_has_ended_what_it_was_running) {
  std::atomic<bool> is_reading = false, may_end = false;
  std::string_view shown;
  std::string kept;
  mount_ = [&](App& app, http::Router& router) {
    router.get("/read", [&](http::Request&) {
      shown = app.settings<ShopSettings>().password.reveal();
      is_reading = true;
      while (!may_end) ::usleep(100);
      kept = shown;
      return http::Response::text(http::Status::Ok, "read");
    });
    router.get("/now", [&](http::Request&) {
      return http::Response::text(http::Status::Ok, std::string(app.settings<ShopSettings>().password.reveal()));
    });
  };
  after_ = [&] {
    EXPECT_EQ(kept, "first-hush") << "whole until the handler had ended";
    EXPECT_NE(shown, "first-hush") << "overwritten since";
  };

  const int code = run_file("password: first-hush\n" + sinks(), [&] {
    std::thread reader([&] { EXPECT_EQ(status_of(ask(service_, get("/read"))), 200); });
    while (!is_reading) ::usleep(100);
    write("password: second-hush\n" + sinks());
    ::kill(::getpid(), SIGHUP);
    EXPECT_EQ(told(R"("message":"configuration reloaded")"), 1) << "the reload does not wait for the worker";
    ::usleep(20'000);  // Enough for a worker that has nothing to do.
    may_end = true;
    reader.join();
    EXPECT_NE(ask(service_, get("/now")).find("second-hush"), std::string::npos);
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace keel::app::app_reload_test
