// Runs a whole App in the process of the test: a second thread sends requests and signals to it.

#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "keel/app/app.h"
#include "keel/app/internal/supervisor_test.h"
#include "keel/http/server/router.h"
#include "keel/task/timing.h"

namespace keel::app {

struct Point {
  int x;
};
inline void write_json(json::Writer& out, const Point& point) {
  out.begin_object();
  out.key("x").integer(point.x);
  out.end_object();
}

inline http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "hello"); }
inline http::Response point(http::Request&) { return http::Response::json(http::Status::Ok, Point{7}); }
inline http::Response echo(http::Request& request) { return http::Response::text(http::Status::Ok, request.body()); }
inline http::Response hungry(http::Request& request) {
  request.arena().allocate(100'000);
  return http::Response::text(http::Status::Ok, "unexpected");
}
inline Task<http::Response> slow(http::Request&) {
  co_await sleep_for(150_ms);
  co_return http::Response::text(http::Status::Ok, "slow");
}

inline Task<http::Response> waits_for_sigterm(http::Request&) {
  co_await sleep_for(1_h);
  co_return http::Response::text(http::Status::Ok, "unexpected");
}

inline http::Response stall(http::Request&) {
  for (int i = 0; i < 3000; ++i) ::usleep(100);
  return http::Response::text(http::Status::Ok, "at last");
}

// Returns everything that the server sends until it closes the connection; `wire` must ask the server to close it.
inline std::string ask(const Address& to, const std::string& wire) {
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
// A connection that stays open after `wire` has been sent on it.
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
// An address on which no process listens, a new one at each call.
// The port of the address is below the ports that the system gives to clients, so that no client can take the port
// before the test listens on it. Each process begins at a random port, so that tests that run together seldom meet.
inline Address free_address() {
  static std::atomic<std::uint64_t> next = Host::system().random() % 20'000;
  while (true) {
    const auto port = static_cast<std::uint16_t>(10'000 + next++ % 20'000);
    const Address address = Address::ip("127.0.0.1", port).value();
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_free = ::bind(fd, address.system(), address.system_size()) == 0;
    ::close(fd);
    if (is_free) return address;
  }
}
inline std::string get(const std::string& target, const std::string& fields = "Connection: close\r\n") {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}
inline int status_of(const std::string& wire) {
  return wire.starts_with("HTTP/1.1 ") ? std::stoi(wire.substr(9, 3)) : 0;
}
inline int occurrences(const std::string& text, const std::string& what) {
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

  // Runs an App that `prepare` interrupts before it serves. Returns the exit code of the App.
  int run_interrupted() { return run({}, {}); }

  // Runs an App with `flags`, calls `client` on another thread, and then sends SIGTERM. Returns the exit code of the
  // App.
  int run(std::vector<std::string> flags, Function<void()> client) {
    service_ = told != nullptr ? Address() : chosen.value_or(free_address());
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
    App app({"test", "1.4.2"}, *config);
    http::Router router;
    router.get("/", hello).get("/point", point).post("/echo", echo).get("/slow", &slow);
    router.get("/hungry", hungry).get("/stall", stall).get("/forever", &waits_for_sigterm);
    if (add_routes) add_routes(router);
    app.serve(router);
    if (prepare) prepare(app);
    if (!client) return app.run();
    std::thread other([&] {
      if (told != nullptr) service_ = said_address();
      // Readiness is the last condition that is met, so this function waits for readiness.
      const MonitoringSettings& monitoring = (*config)->monitoring;
      const bool has_admin = told == nullptr && monitoring.enabled && !monitoring.metrics.https;
      const std::string probe = get(has_admin ? "/readyz" : "/");
      for (int i = 0; i < 1000 && status_of(ask(has_admin ? admin_ : service_, probe)) != 200; ++i) ::usleep(1000);
      client();
      ::kill(::getpid(), SIGTERM);
    });
    const int code = app.run();
    other.join();
    return code;
  }
  // Waits until the supervisor is notified that the App serves.
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
  Function<void(App&)> prepare;              // The part of main() between serve() and run().
  Function<void(http::Router&)> add_routes;  // Adds routes in addition to the usual ones.
  std::optional<Address> chosen;             // The address at which the App serves; absent: any free port.
  // If set, the system chooses the ports instead of the test: over many runs, another process sometimes takes a port
  // that the test has found free shortly before.
  Supervisor* told = nullptr;
};

}  // namespace keel::app
