// keel/app/app.h — a service from start to end: configuration, logs, workers, servers, signals, drain.
//
//   int main(int argc, char** argv) {
//     auto config = app::load_or_exit("accounts", argc, argv);
//     app::App app("accounts", config);
//     Users users(app.database());                  // ordinary constructors: the wiring is readable
//     http::Router router;
//     users.mount(router);
//     app.module({.name = "cache", .needs = {"database"}, .start = [&] { return cache.load(); }});
//     app.serve(router);
//     return app.run();                             // start in order; on SIGTERM drain, stop in reverse
//   }
//
// The parts are modules (lifecycle.h) and so are the application's own: "logs", "workers", "monitoring", "database",
// "connections" (the workers' own, to the database), "pool NAME", "admin", "http". Logs and workers start in the
// constructor, and the constructor does not wait for the workers; what is asked for here waits for what it needs.
// run() starts the application's modules, the admin listener beside them and the service last. GET /admin/start has
// every phase with its times (JSON; ?format=text: a table).
//
// The admin listener (monitoring.metrics) serves the pages of admin_pages.h, and nothing else does. health() has the
// checks of app/checks.h; an application adds its own before run().
// SIGTERM and SIGINT: readiness fails, listeners close, requests in progress are answered with Connection: close within
// network.http.drain_timeout; then the modules stop in reverse (the database commits what it was given) within
// common.stop_timeout, and logs are flushed. During the start: what has started is stopped, and the exit code is 0. A
// second one ends the process at once.
// SIGHUP loads the configuration again (reloadable.h): log levels and sinks and the limits of network.http change; what
// needs a restart is a warning; a mistake or an applier that fails changes nothing and is logged. Then log files are
// opened again by their path. SIGQUIT logs where every worker is, with its stack, its last requests and
// its live tasks.
// A supervisor that asked for it (sd_notify(3)) is told of each step, and its watchdog is fed while every worker turns.
//
// Listening sockets may come from a service manager (listeners.h), or from the process that runs already and hands over
// (network.handover.path, handover.h); otherwise they are bound.
//
// Errors:   what prevents the start is one line on standard error, and the exit code 1 (2 for the configuration). So is
//           what still stops when the time is up: the process ends without it, and without destructors.
// Threads:  all calls on the main thread; database(), pool(), runtime() and settings() also in a module's start.
// Lifetime: what handlers refer to is made before run() and outlives it; the router outlives the App's run(), the
//           configuration the App.

#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/config.h"
#include "keel/app/health.h"
#include "keel/app/lifecycle.h"
#include "keel/app/reloadable.h"
#include "keel/app/settings.h"
#include "keel/app/signals.h"
#include "keel/base/result.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/observe/metric.h"

namespace keel::db {
class Database;
}

namespace keel::app {

class Services;

namespace internal {
std::vector<const char*> words(int argc, char** argv);
[[noreturn]] void show_and_exit(std::string_view name, const std::string& text);
[[noreturn]] void refuse_and_exit(std::string_view name, const Error& error);
}  // namespace internal

// Loads the configuration: `file` unless --config names another (empty: none), the environment (KEEL_…), the command
// line. Answers --help, --print-config and --check-config, and ends the process: with 0, with 1 where the answer cannot
// be written, and with 2 for a mistake.
template <class S = Settings>
config::Reloadable<S> load_or_exit(std::string_view name, int argc, char** argv, std::string file = {}) {
  const auto args = internal::words(argc, argv);
  const config::Action action = config::action(args);
  if (action == config::Action::Help) internal::show_and_exit(name, config::help<S>());
  auto loaded = config::Reloadable<S>::load({.file = std::move(file), .args = args});
  if (!loaded) internal::refuse_and_exit(name, loaded.error());
  if (action == config::Action::PrintConfig) internal::show_and_exit(name, loaded->describe());
  if (action == config::Action::CheckConfig) internal::show_and_exit(name, "the configuration is good\n");
  return *std::move(loaded);
}

class App {
 public:
  // Starts logging, and begins with the workers. Make it before any other thread. `config` is of Settings or what
  // derives from it.
  template <class S>
  App(std::string name, config::Reloadable<S>& config)
      : App(std::move(name), config.versions(),
            [](const void* value) -> const Settings& { return *static_cast<const S*>(value); }) {}
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // What is in force. A reload makes new ones; a reference to these stays as it is.
  const Settings& settings() const noexcept { return settings_in_(config_.value()); }
  io::Runtime& runtime();
  metrics::Registry& metrics() noexcept { return registry_; }
  Health& health() noexcept { return health_; }

  // The configured database, opened and migrated at the first call.
  db::Database& database();
  // The pool `name` of thread.pools, made at the first call; a name that is not listed there has thread.pool_size
  // threads, or with thread.autoscale as many as it takes. For blocking or heavy work: co_await
  // resume_on(app.pool("images")). Ends after the servers have drained.
  ThreadPool& pool(std::string_view name);
  // A part of the application: run() starts it, with what it needs, before the service listens (a lazy one: when it is
  // ensured), and stops it when the last request is answered. Its stop, and common.stop_timeout, bound the end.
  void module(Module module);
  // Waits for a lazy module.
  void ensure(std::string_view name);
  // The application's own objects, made by a Container: those with start() or stop() become modules, and GET
  // /admin/graph shows all of them (JSON; ?format=text: a tree). Once, before run(), which they outlive where they are.
  void services(const Services& services);
  // Serves `router` at network.http's address from run() on.
  void serve(const http::Router& router);

  // Starts what was asked for, says where it is, waits for a signal, drains and stops everything. The exit code: 0 when
  // every accepted request was answered and everything has stopped.
  int run();

  // Why the process cannot go on: what runs is stopped (when called on the main thread), logs are flushed, one line on
  // standard error, exit code 1.
  [[noreturn]] void fail_start(const Error& error);

 private:
  struct Parts;
  using SettingsIn = const Settings& (*)(const void* value);
  App(std::string name, config::Versions& config, SettingsIn settings_in);
  void watch_config();
  Result<> apply_logging(const Settings& now);
  void reload();
  void add_foundation();
  void add_database();
  void add_handover();
  Result<> start_admin(const std::vector<int>& inherited);
  void relieve_predecessor();
  void add_admin();
  void start_health();
  void watch_disks();
  void check_limits();
  void add_service();
  Result<> start_logs();
  Result<> start_workers();
  Result<> open_database();
  Result<> connect_database();
  void report_start();
  void print_ready() const;
  void tell(const Result<>& sent);
  Signal wait_for_signal();
  bool is_stop_asked();
  void report_workers();
  bool is_main_thread() const noexcept;
  [[noreturn]] void refuse(const Error& error);
  [[noreturn]] void end_start(const Error& error);
  int drain();
  int stop_modules(Duration deadline);

  const std::string name_;
  config::Versions& config_;
  const SettingsIn settings_in_;
  const Settings& settings_;  // At the start.
  Instant began_;
  std::unique_ptr<Parts> parts_;  // Signals and logs: first to come, last to go.
  metrics::Registry registry_;
  Health health_{&registry_};
  std::unique_ptr<io::Runtime> runtime_;
  log::Logger log_;
};

}  // namespace keel::app
