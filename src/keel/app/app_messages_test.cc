// Messages and sessions of a whole App: served on every worker, asked through pools, configured, drained and shown.

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "keel/app/internal/app_testing.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/net/messages/shared_pool.h"
#include "keel/net/sessions/client.h"
#include "keel/net/sessions/handlers.h"
#include "keel/net/sessions/registry.h"
#include "keel/net/sessions/server.h"
#include "keel/net/tls/testing/certificates.h"
#include "keel/task/scope.h"

namespace keel::app::app_messages_test {
namespace {

struct Add {
  static constexpr std::uint16_t message_type = 1;
  int a = 0, b = 0;
};
struct Sum {
  int value = 0;
  std::string who;
};
struct Slow {
  static constexpr std::uint16_t message_type = 2;
};
struct Reading {
  static constexpr std::uint16_t message_type = 3;
  double celsius = 0;
};
struct Alarm {
  static constexpr std::uint16_t message_type = 4;
  std::string room;
};

// What the handlers of this file ask.
messages::SharedPool* rooms = nullptr;

Task<http::Response> ask_rooms(http::Request&) {
  const Sum sum = co_await rooms->request<Sum>(Add{2, 3}, messages::Pool::Repeat::Idempotent);
  co_return http::Response::text(http::Status::Ok, std::to_string(sum.value) + " " + sum.who);
}

// Which App the handlers of this file ask.
App* served = nullptr;

http::Response say_where(http::Request&) {
  return http::Response::text(http::Status::Ok, served->messages_address().to_string());
}

class MessageApps : public Apps, public testing::WithParamInterface<const char*> {
 protected:
  MessageApps() {
    handlers_.on<Add>([](messages::Peer& peer, Add add) { return Sum{add.a + add.b, std::string(peer.identity())}; });
    handlers_.on<Slow>([this](messages::Peer&, Slow) -> Task<Sum> {
      slow_has_begun_ = true;
      co_await sleep_for(300_ms);
      co_return Sum{1, "slow"};
    });
    add_routes = [](http::Router& router) { router.get("/ask", &ask_rooms); };
  }
  void SetUp() override {
    if (!io::make_engine(kind())) GTEST_SKIP() << GetParam() << " is not available here";
  }
  io::EngineKind kind() const {
    return std::string_view(GetParam()) == "uring" ? io::EngineKind::Uring : io::EngineKind::Epoll;
  }
  // With two workers, and messages at a free port.
  int run_messages(std::vector<std::string> flags, Function<void()> client) {
    at_ = free_address();
    flags.insert(flags.begin(), {"--network.workers=2", std::string("--network.engine=") + GetParam(),
                                 "--network.messages.port=" + std::to_string(at_.port()),
                                 "--network.pools.rooms.endpoints=[" + at_.to_string() + "]"});
    return run(std::move(flags), std::move(client));
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  std::string write(const std::string& name, const tls::KeyPair& pair) {
    return write(name, pair.certificate_pem + pair.key_pem);
  }
  // Of a service that is `server`, accepts devices with certificates of `root`, and asks itself as `device`.
  std::vector<std::string> flags_of_tls(const tls::testing::Authority& root, const tls::KeyPair& server,
                                        const tls::KeyPair& device) {
    const std::string roots = write("root.pem", root.pem());
    return {"--network.https.certificate=" + write("server.pem", server),
            "--network.https.port=0",
            "--network.messages.tls=true",
            "--network.messages.client_roots=" + roots,
            "--network.pools.rooms.tls=true",
            "--network.pools.rooms.roots=" + roots,
            "--network.pools.rooms.certificate=" + write("device.pem", device)};
  }
  std::string body_of(const std::string& wire) { return wire.substr(wire.find("\r\n\r\n") + 4); }
  std::string admin_page(const std::string& path) { return body_of(ask(admin_, get(path))); }
  template <class Condition>
  bool waits_for(Condition condition) const {
    for (int i = 0; i < 5000 && !condition(); ++i) ::usleep(1000);
    return condition();
  }

  messages::Handlers handlers_;
  std::atomic<bool> slow_has_begun_ = false;
  Address at_;
};
INSTANTIATE_TEST_SUITE_P(, MessageApps, testing::Values("uring", "epoll"),
                         [](const auto& engine) { return std::string(engine.param); });

TEST_P(MessageApps, serve_messages_on_every_worker_and_ask_them_through_a_pool) {
  prepare = [&](App& app) {
    app.messages(handlers_);
    rooms = &app.message_pool("rooms");
  };
  std::vector<std::string> answers;
  std::string metrics, page, pools, ready;

  const int code = run_messages({}, [&] {
    for (int i = 0; i < 20; ++i) answers.push_back(body_of(ask(service_, get("/ask"))));
    ready = admin_page("/readyz");
    page = admin_page("/admin/messages");
    pools = admin_page("/admin/message_pools?format=text");
    // What the other worker measures of itself comes with the next one.
    ASSERT_TRUE(waits_for([&] {
      metrics = admin_page("/metrics");
      return metrics.find("messages_pool_targets{name=\"rooms\"} 2\n") != std::string::npos;
    })) << metrics;
  });

  EXPECT_EQ(code, 0) << log();
  for (const std::string& answer : answers) EXPECT_EQ(answer, "5 ");
  EXPECT_NE(ready.find("{\"name\":\"messages\",\"status\":\"ok\""), std::string::npos) << ready;
  EXPECT_NE(ready.find("{\"name\":\"messages rooms\",\"status\":\"ok\""), std::string::npos) << ready;
  EXPECT_TRUE(page.starts_with("{\"address\":\"" + at_.to_string() + "\",\"tls\":false,\"workers\":[{\"worker\":0,"))
      << page;
  EXPECT_NE(page.find("\"queued_bytes\":0"), std::string::npos) << page;
  EXPECT_NE(pools.find("1 targets, 0 left out, 1 connections"), std::string::npos) << pools;
  EXPECT_NE(metrics.find("messages_requests_total{name=\"messages\"} 20\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("messages_calls_total{name=\"rooms\"} 20\n"), std::string::npos) << metrics;
}

TEST_P(MessageApps, tell_handlers_their_address_while_a_page_asks_all_workers) {
  prepare = [&](App& app) {
    app.messages(handlers_);
    served = &app;
  };
  add_routes = [](http::Router& router) { router.get("/where", &say_where); };
  std::string where;

  const int code = run_messages({}, [&] {
    std::atomic<bool> is_over = false;
    std::thread asking([&] {
      while (!is_over) static_cast<void>(admin_page("/admin/messages"));
    });
    for (int i = 0; i < 300; ++i) where = body_of(ask(service_, get("/where")));
    is_over = true;
    asking.join();
  });

  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(where, at_.to_string());
}

TEST_P(MessageApps, serve_messages_at_a_unix_socket_with_its_mode) {
  const std::string path = folder_ + "/rooms.sock";
  prepare = [&](App& app) {
    app.messages(handlers_);
    rooms = &app.message_pool("rooms");
  };
  std::string answer;
  auto mode = std::filesystem::perms::none;

  const int code = run_messages({"--network.messages.address=unix:" + path, "--network.messages.socket_mode=0600",
                                 "--network.pools.rooms.endpoints=[unix:" + path + "]"},
                                [&] {
                                  answer = body_of(ask(service_, get("/ask")));
                                  mode = std::filesystem::status(path).permissions();
                                });

  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(answer, "5 ");
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_FALSE(std::filesystem::exists(path)) << "it ends with the service";
}

TEST_P(MessageApps, speak_tls_and_know_who_asks) {
  tls::testing::Authority root("Test Root");
  prepare = [&](App& app) {
    app.messages(handlers_);
    rooms = &app.message_pool("rooms");
  };
  std::string answer;

  const tls::KeyPair server = root.issue({.addresses = {"127.0.0.1"}});
  const int code = run_messages(flags_of_tls(root, server, root.issue({.names = {"device-7.test"}})),
                                [&] { answer = body_of(ask(service_, get("/ask"))); });

  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(answer, "5 device-7.test");
}

TEST_P(MessageApps, ask_no_server_whose_certificate_is_revoked) {
  tls::testing::Authority root("Test Root");
  const tls::KeyPair server = root.issue({.addresses = {"127.0.0.1"}});
  std::vector<std::string> flags = flags_of_tls(root, server, root.issue({.names = {"device-7.test"}}));
  flags.push_back("--network.pools.rooms.revoked=" + write("revoked.pem", root.revoke({server})));
  prepare = [&](App& app) {
    app.messages(handlers_);
    rooms = &app.message_pool("rooms");
  };
  std::string answer, pools;

  const int code = run_messages(std::move(flags), [&] {
    for (int i = 0; i < 20 && pools.find("is revoked") == std::string::npos; ++i) {
      answer = body_of(ask(service_, get("/ask")));
      pools = admin_page("/admin/message_pools?format=text");
    }
  });

  EXPECT_EQ(code, 0) << log();
  EXPECT_NE(answer, "5 device-7.test");
  EXPECT_NE(pools.find("the certificate of '127.0.0.1' is revoked"), std::string::npos) << pools;
}

TEST_P(MessageApps, load_the_certificate_of_a_pool_again) {
  tls::testing::Authority root("Test Root");
  tls::testing::Authority another("Another Root");
  prepare = [&](App& app) {
    app.messages(handlers_);
    rooms = &app.message_pool("rooms");
  };
  std::string before, answer;

  const tls::KeyPair server = root.issue({.addresses = {"127.0.0.1"}});
  const int code = run_messages(flags_of_tls(root, server, another.issue({.names = {"device-7.test"}})), [&] {
    before = body_of(ask(service_, get("/ask")));
    write("device.pem", root.issue({.names = {"device-7.test"}}));
    ::kill(::getpid(), SIGHUP);
    static_cast<void>(waits_for([&] {
      answer = body_of(ask(service_, get("/ask")));
      return answer == "5 device-7.test";
    }));
  });

  EXPECT_EQ(code, 0) << log();
  EXPECT_NE(before, "5 device-7.test");
  EXPECT_EQ(answer, "5 device-7.test") << log();
}

TEST_P(MessageApps, keep_sessions_and_tell_all_of_them) {
  sessions::Handlers of_server, of_device;
  sessions::Registry* registry = nullptr;
  std::atomic<int> readings = 0, alarms = 0;
  of_server.on<Reading>([&](sessions::Session&, Reading) -> Task<> {
    ++readings;
    co_return;
  });
  of_device.on<Alarm>([&](sessions::Session&, const Alarm&) { ++alarms; });
  prepare = [&](App& app) {
    registry = &app.sessions(of_server, {.authenticate = [](const sessions::Greeting& device) -> Task<std::string> {
                               if (device.credentials != "key") co_await fail(Code::Unauthenticated, "a wrong key");
                               co_return std::string(device.name);
                             }});
    app.background("device", [&]() -> Task<> {
      sessions::ClientOptions options{.servers = {app.messages_address()}, .name = "kitchen", .credentials = "key"};
      sessions::Client device(of_device, std::move(options));
      Scope running;
      running.spawn(device.run(), OnError::Ignore);
      for (int i = 0; i < 3; ++i) static_cast<void>(device->send(Reading{20.0 + i}));
      static_cast<void>(co_await attempt(running.join()));
    });
  };
  std::string page, config;
  std::uint64_t expiry = 0;

  const int code =
      run_messages({"--network.messages.sessions.max_sessions=5", "--network.messages.heartbeat_sec=1"}, [&] {
        ASSERT_TRUE(waits_for([&] { return readings == 3; }));
        registry->broadcast(Alarm{"kitchen"});
        ASSERT_TRUE(waits_for([&] { return alarms == 1; }));
        expiry = registry->stats().sessions;
        page = admin_page("/admin/sessions");
        config = admin_page("/admin/config");
      });

  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(expiry, 1u);
  EXPECT_NE(page.find("\"name\":\"kitchen\""), std::string::npos) << page;
  EXPECT_NE(config.find("max_sessions: 5"), std::string::npos) << config;
}

TEST_P(MessageApps, send_no_heartbeats_where_the_configuration_says_never) {
  sessions::Handlers of_server, of_device;
  Duration silent;
  std::atomic<bool> is_measured = false;
  prepare = [&](App& app) {
    app.sessions(of_server);
    app.background("device", [&]() -> Task<> {
      sessions::ClientOptions options{.servers = {app.messages_address()}, .name = "kitchen"};
      options.session.heartbeat = Duration();
      sessions::Client device(of_device, std::move(options));
      Scope running;
      running.spawn(device.run(), OnError::Ignore);
      while (!device->is_connected()) co_await sleep_for(5_ms);
      co_await sleep_for(300_ms);
      messages::Peer* const peer = device->peer();
      if (peer != nullptr) silent = Host::current().now() - peer->last_received();
      is_measured = true;
      static_cast<void>(co_await attempt(running.join()));
    });
  };

  const int code = run_messages({"--network.messages.heartbeat_sec=0"},
                                [&] { ASSERT_TRUE(waits_for([&] { return is_measured.load(); })); });

  EXPECT_EQ(code, 0) << log();
  EXPECT_GE(silent, 250_ms) << "the server has sent nothing";
}

TEST_P(MessageApps, finish_what_they_are_asked_before_they_stop) {
  Result<Sum> answer = fail(Code::Internal, "nobody has answered");
  prepare = [&](App& app) {
    app.messages(handlers_);
    rooms = &app.message_pool("rooms");
    app.background("asks", [&]() -> Task<> {
      // It begins before messages are served.
      while (!slow_has_begun_) {
        answer = co_await attempt(rooms->request<Sum>(Slow{}));
        co_await sleep_for(20_ms);
      }
      co_await sleep_for(1_h);
    });
  };

  const int code = run_messages({}, [&] { ASSERT_TRUE(waits_for([&] { return slow_has_begun_.load(); })); });

  EXPECT_EQ(code, 0) << log();
  ASSERT_TRUE(answer) << answer.error().describe();
  EXPECT_EQ(answer->who, "slow");
}

TEST_P(MessageApps, degrade_while_the_endpoints_of_a_pool_cannot_be_reached) {
  prepare = [&](App& app) { rooms = &app.message_pool("rooms", {.endpoints = {"127.0.0.1:1"}}); };
  std::string ready;
  int status = 0;

  // Nobody listens at the port of the configuration either.
  const int code = run_messages({"--monitoring.health.check_interval_sec=0.05", "--network.workers=1"}, [&] {
    status = status_of(ask(service_, get("/ask")));
    ASSERT_TRUE(waits_for([&] {
      ready = admin_page("/readyz");
      return ready.find("no target of the pool can be reached") != std::string::npos;
    }));
  });

  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(status, 503);
  EXPECT_NE(ready.find("\"status\":\"degraded\""), std::string::npos) << ready;
}

TEST_P(MessageApps, take_what_the_configuration_says_where_it_says_anything) {
  messages::PoolOptions effective;
  prepare = [&](App& app) {
    effective = app.message_pool("rooms", {.endpoints = {"own:1"}, .connections = 3, .refresh = 7_s}).options();
  };

  const int code =
      run_messages({"--network.pools.rooms.timeout_sec=0.5", "--network.pools.rooms.max_attempts=1",
                    "--network.pools.rooms.breaker_open_sec=2", "--network.pools.rooms.breaker_window_sec=3",
                    "--network.pools.rooms.backoff_first_sec=0.01", "--network.pools.rooms.backoff_max_sec=0.2",
                    "--network.pools.rooms.budget_ratio=0.5", "--network.pools.rooms.max_budget=4",
                    "--network.pools.rooms.max_frame=4KiB", "--network.pools.other.timeout_sec=1"},
                   [] {});

  EXPECT_EQ(code, 0) << log();
  EXPECT_EQ(effective.endpoints, std::vector<std::string>{at_.to_string()});
  EXPECT_EQ(effective.connections, 3u) << "the application's";
  EXPECT_EQ(effective.refresh, 7_s) << "the application's";
  EXPECT_EQ(effective.timeout, 500_ms);
  EXPECT_EQ(effective.retry.attempts_max, 1);
  EXPECT_EQ(effective.retry.backoff_first, 10_ms);
  EXPECT_EQ(effective.retry.backoff_max, 200_ms);
  EXPECT_EQ(effective.retry.budget_ratio, 0.5);
  EXPECT_EQ(effective.retry.budget_max, 4u);
  EXPECT_EQ(effective.breaker.window, 3_s);
  EXPECT_EQ(effective.breaker.open_time, 2_s);
  EXPECT_EQ(effective.peer.frame_bytes_max, 4096u);
  EXPECT_NE(log().find("\"key\":\"network.pools.other\""), std::string::npos) << log();
}

// One socket for two workers, in a process of its own: the variables and the descriptor are the process's.
TEST_P(MessageApps, continue_with_the_socket_of_a_service_manager) {
  prepare = [&](App& app) {
    app.messages(handlers_);
    rooms = &app.message_pool("rooms");
  };
  const auto serve_inherited = [&] {
    constexpr int first_descriptor = 3;
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const Address chosen_by_manager = free_address();
    if (::bind(fd, chosen_by_manager.system(), chosen_by_manager.system_size()) != 0 || ::listen(fd, 64) != 0) return 2;
    if (fd != first_descriptor && ::dup2(fd, first_descriptor) != first_descriptor) return 3;
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", "1", 1);
    ::setenv("LISTEN_FDNAMES", "messages", 1);
    std::vector<std::string> answers;
    const int code = run_messages({"--network.pools.rooms.endpoints=[" + chosen_by_manager.to_string() + "]"}, [&] {
      for (int i = 0; i < 10; ++i) answers.push_back(body_of(ask(service_, get("/ask"))));
    });
    return code == 0 && answers == std::vector<std::string>(10, "5 ") ? 0 : 4;
  };

  EXPECT_EXIT(std::_Exit(serve_inherited()), testing::ExitedWithCode(0), "");
}

TEST_P(MessageApps, whose_pool_has_no_endpoints_do_not_start) {
  prepare = [&](App& app) { app.message_pool("halls"); };

  EXPECT_EXIT(run_messages({}, {}), testing::ExitedWithCode(2),
              "network.pools.halls: endpoints is empty: expected the addresses to connect to");
}

TEST_P(MessageApps, whose_address_is_taken_do_not_start) {
  const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const Address taken = free_address();
  ASSERT_EQ(::bind(other, taken.system(), taken.system_size()), 0);
  ASSERT_EQ(::listen(other, 1), 0);
  prepare = [&](App& app) { app.messages(handlers_); };

  EXPECT_EXIT(run_messages({"--network.messages.port=" + std::to_string(taken.port())}, {}), testing::ExitedWithCode(1),
              "network.messages: another process listens there: .* or change network.messages.port: ");
  ::close(other);
}

}  // namespace
}  // namespace keel::app::app_messages_test
