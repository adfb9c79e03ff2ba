// keel/app/app.h — a service from start to end: configuration, logs, workers, servers, signals, drain.
//
//   class Accounts {                                // the service; it gets what it needs from the App
//    public:
//     explicit Accounts(app::App& app) : users_(app.database()) {
//       users_.mount(router_);
//       app.module({.name = "cache", .needs = {"database"}, .start = [this] { return cache_.load(); }});
//       app.every(30_s, "expire", [this] { return users_.expire(); });
//       app.serve(router_);
//     }
//    …
//   };
//   int main(int argc, char** argv) { return app::run<Accounts>("accounts", argc, argv); }
//
// A test runs the same class in a simulation: app::TestApp<Accounts> (app/testing/test_app.h). Instead of calling
// app::run(), main() can carry out the same steps itself:
//
//   auto config = app::load_or_exit("accounts", argc, argv);
//   app::App app("accounts", config);
//   Accounts accounts(app);
//   return app.run();                               // start in order; on SIGTERM drain, stop in reverse
//
// Every part of the App is a module (lifecycle.h), like the modules that the application adds: "logs", "workers",
// "monitoring", "database", "connections" (of the workers, to the database), "pool NAME", "client NAME", "messages
// NAME", "admin", "background", "messages", "http". The constructor starts the logs and the workers, and does not wait
// for the workers. A call that needs a part (such as database()) waits until that part runs. run() starts the
// application's modules in parallel with the admin listener, and the service last. GET /admin/start shows every phase
// of the start with its times (JSON; ?format=text: a table).
//
// Only the admin listener (monitoring.metrics) serves /metrics, /healthz, /readyz, /startupz and the pages below /admin
// (docs/operations.md). health() contains the checks of app/checks.h; an application adds its own checks before run().
//
// Signals:
//   SIGTERM, SIGINT  Readiness fails, the listeners close, and requests in progress are finished with Connection: close
//                    within network.http.drain_timeout. Then the modules stop in reverse order (the database commits
//                    queued writes) within common.stop_timeout, and logs are flushed. During the start, the modules
//                    that run are stopped, and the exit code is 0. A second signal ends the process immediately, unless
//                    it arrives within 200 ms of the first (signals.h).
//   SIGHUP           The configuration is loaded again (config/reloadable.h): log levels, sinks and the limits of
//                    network.http change; a setting that needs a restart causes a warning; after a mistake, or when an
//                    applier fails, nothing changes, and the log says so. Log files are reopened by their path.
//   SIGQUIT          The log gets the position of every worker, with its stack, last requests and live tasks.
// A service manager that requests notifications (sd_notify(3)) receives a notification at each step, and a watchdog
// notification regularly while every worker's loop runs.
//
// Listening sockets may come from a service manager (listeners.h), or from the process that is already running, which
// hands them over (network.handover.path, handover.h); otherwise the App binds them.
//
// The versions of the program (program.h) and of Keel are in the output of --version, in the log line "ready", in
// /admin/start and in the metrics app_build_info and keel_build_info.
//
// Errors:   an error that prevents the start is written to standard error as one line, and the exit code is 1 (2 for an
//           error of the configuration); each address at which the App cannot listen gets its own line. If parts did
//           not stop within common.stop_timeout, another line names these parts; the process then ends without waiting
//           for them and without running destructors. A call at the wrong time (serve() after run() has begun, or the
//           first pool() in a handler) throws std::logic_error, whose message says what to do instead.
// Threads:  all calls on the main thread; database(), pool(), client(), message_pool() and runtime() may also be called
//           in a module's start, and settings() and messages_address() on any thread.
// Lifetime: make objects that handlers refer to before the call of run(); these objects must outlive run(). The router
//           must outlive run(), and the configuration must outlive the App.

#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

#include "keel/app/background_work.h"
#include "keel/app/health.h"
#include "keel/app/lifecycle.h"
#include "keel/app/program.h"
#include "keel/app/settings.h"
#include "keel/app/signals.h"
#include "keel/base/check.h"
#include "keel/base/result.h"
#include "keel/config/command_line.h"
#include "keel/config/reloadable.h"
#include "keel/db/database.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/client/shared_client.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/observe/metric.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::messages {
class Handlers;
class SharedPool;
struct PoolOptions;
struct ServerOptions;
}  // namespace keel::messages

namespace keel::sessions {
class Handlers;
class Registry;
struct ServerOptions;
}  // namespace keel::sessions

namespace keel::app {

class AppUnderTest;
class Services;

namespace internal {
class Supervision;
struct Platform;
template <class S>
inline constexpr char type_of_settings = 0;  // The address of this object identifies the type.
}  // namespace internal

// config::load_or_exit() for Settings or a type derived from it.
template <class S = Settings>
config::Reloadable<S> load_or_exit(const Program& program, int argc, char** argv, std::string file = {}) {
  return config::load_or_exit<S>(program.name, argc, argv, std::move(file), program.version);
}

class App {
 public:
  // Starts logging and begins to start the workers, without waiting for them. Construct the App before any other thread
  // starts. `config` holds Settings or a struct that derives from Settings.
  template <class S>
  App(Program program, config::Reloadable<S>& config)
      : App(
            std::move(program), config.versions(),
            [](const void* value) -> const Settings& { return *static_cast<const S*>(value); },
            &internal::type_of_settings<S>) {}
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // The settings that are currently in effect. A reload creates new settings; a reference to the earlier settings stays
  // valid and does not change.
  const Settings& settings() const noexcept { return settings_in_(config_.value()); }
  // The settings, including the application's own sections. Throws a Bug (base/bug.h) unless S is the type that the
  // configuration was loaded as.
  template <class S>
  const S& settings(std::source_location place = std::source_location::current()) const {
    if (type_ != &internal::type_of_settings<S>) [[unlikely]]
      throw_bug("S in App::settings<S>() must be the type into which the configuration was loaded", place);
    return *static_cast<const S*>(config_.value());
  }
  io::Runtime& runtime();
  metrics::Registry& metrics() noexcept { return registry_; }
  Health& health() noexcept { return health_; }

  // The configured database, which the first call opens and migrates.
  db::Database& database();
  // The thread pool `name`, which the first call makes with the settings in thread.pools. A pool that thread.pools does
  // not list has thread.pool_size threads or, with thread.autoscale, as many as its jobs need. Blocking or heavy work
  // moves to a pool with co_await resume_on(images_) (task/resume_on.h). Make the first call in the constructor of the
  // service and keep the reference: on a worker, which cannot wait for the start of the pool, the first call throws
  // std::logic_error. The pool ends after the servers have drained.
  ThreadPool& pool(std::string_view name);
  // An HTTP client for all workers: a handler or background work on any worker calls co_await
  // payments.get("/charges/7") (http/client/shared_client.h). The client may be used immediately, has metrics with
  // client="NAME", and ends after the servers have drained and the background work has ended. network.clients.NAME
  // overrides `options`; an invalid base_url prevents the start. Call client() once for each name; a name consists of
  // lower-case letters, digits and '_'.
  http::SharedClient& client(http::ClientOptions options);
  // A pool of connections for messages, for all workers: a handler or background work on any worker calls co_await
  // rooms.request<Celsius>(average) (net/messages/shared_pool.h). The pool may be used immediately, has metrics with
  // name="NAME", sets the health to "degraded" while it can reach no endpoint, and ends after the servers have drained
  // and the background work has ended. network.pools.NAME overrides `options`; a pool without endpoints prevents the
  // start. Call message_pool() once for each name; the name follows the same rules as the name of a client.
  messages::SharedPool& message_pool(std::string_view name);
  messages::SharedPool& message_pool(std::string_view name, messages::PoolOptions options);
  // Adds a part of the application: run() starts it, with the modules that it needs, before the service listens, and
  // stops it after the last request. A lazy module starts when ensure() is called for it. common.stop_timeout limits
  // the time in which the module must stop.
  void module(Module module);
  // Starts a lazy module if it does not run yet, and waits until the module runs.
  void ensure(std::string_view name);
  // Adds the application's own objects, which a Container made: objects with start() or stop() become modules, and GET
  // /admin/graph shows all of the objects (JSON; ?format=text: a tree). Call services() once, before run(). `services`
  // must outlive run() and must not be moved.
  void services(const Services& services);
  // Adds work that runs on the first worker, independently of requests; background_work.h describes when the work runs,
  // what happens when it fails, and its metrics. The work of at_start ends before the service listens; if this work
  // fails or exceeds common.start_timeout, the service does not start. Repeated and continuous work begins after the
  // at_start work. After the last request, run() asks all background work to end, and waits until it has ended; only
  // then does run() stop the modules that were added before run(). GET /admin/background shows the work. Call these
  // functions before run().
  void at_start(std::string name, BackgroundWork::Work work);
  void every(Duration period, std::string name, BackgroundWork::Work work, EveryOptions options = {});
  void daily(std::string_view time_of_day, std::string name, BackgroundWork::Work work, DailyOptions options = {});
  void background(std::string name, BackgroundWork::Work work, BackgroundOptions options = {});
  // Adds a page to the admin listener; the objects that the page shows must outlive run(). Call admin_page() before
  // run(); a path that another page already has is a bug.
  void admin_page(telemetry::AdminPage page);
  // Serves `router` at the address of network.http, once run() has begun.
  void serve(const http::Router& router);

  // Serves messages at the address of network.messages on every worker, once run() has begun (net/messages/server.h):
  // the handlers, and on_open and on_closed of the options, are called on all workers and must outlive run().
  // network.messages overrides the other options. The message server starts before http and stops after it. Requests in
  // progress are finished within network.messages.drain_timeout_sec. The metrics of the server have name="messages".
  // Once; before run().
  void messages(const messages::Handlers& handlers);
  void messages(const messages::Handlers& handlers, messages::ServerOptions options);
  // Serves sessions over the connections for messages, whether or not messages() is called (net/sessions/server.h): the
  // handlers and `authenticate` are called on all workers and must outlive run(). network.messages.sessions overrides
  // the other options. The registry has the sessions of all workers, lives as long as the App, and is shown at
  // /admin/sessions. Once; before run().
  sessions::Registry& sessions(const sessions::Handlers& handlers);
  sessions::Registry& sessions(const sessions::Handlers& handlers, sessions::ServerOptions options);
  // The address at which messages are served; once the service runs, port 0 is replaced by the port that the system
  // chose.
  Address messages_address() const;

  // Starts the modules that were added, logs the addresses, waits for a signal, drains the servers and stops all
  // modules. The exit code: 0 when every accepted request got its response and everything has stopped.
  int run();

  // Ends a process that cannot continue: running modules are stopped (if the call is made on the main thread), logs are
  // flushed, `reason` is written to standard error as one line, and the exit code is 1. Within a module's start, this
  // function throws an exception that ends that start with `reason`; run() then stops the other modules.
  [[noreturn]] void fail_start(const Error& error);

 private:
  friend class AppUnderTest;
  struct Systems;
  using SettingsIn = const Settings& (*)(const void* value);
  // `platform` is used instead of the system; null: the App uses the system.
  App(Program program, config::Versions& config, SettingsIn settings_in, const void* type,
      const internal::Platform* platform = nullptr);
  // For AppUnderTest, which calls start() and stop() instead of run(). With Abrupt, connections are reset instead of
  // drained.
  enum class Stop : std::uint8_t { Drained, Abrupt };
  Result<> start();
  void stop(Stop how);
  const http::Server* server() const noexcept;  // Null without serve().
  const http::Server* admin() const noexcept;   // Null without monitoring.enabled.
  void comes_before_run(const char* call) const;
  void add_listeners();
  void relieve_predecessor();
  Signal serve_until_signal();
  [[noreturn]] void refuse(const Error& error);
  [[noreturn]] void end_start(const Error& error);
  int drain();
  int stop_modules(Duration deadline);

  const Program program_;
  config::Versions& config_;
  const SettingsIn settings_in_;
  const void* const type_;
  const internal::Platform& platform_;
  // This member is declared first, so that signals are blocked before any other thread exists.
  std::unique_ptr<internal::Supervision> supervision_;
  metrics::Registry registry_;
  Health health_{&registry_};
  std::unique_ptr<Systems> systems_;
  log::Logger log_;
  bool is_wired_ = false;  // run() has begun.
};

// The main() of a service whose class is constructed with an App: loads the configuration as S, makes the App and the
// service, and calls App::run().
template <class Service, class S = Settings>
int run(Program program, int argc, char** argv) {
  config::Reloadable<S> config = load_or_exit<S>(program, argc, argv);
  App app(std::move(program), config);
  const Service service(app);
  return app.run();
}

}  // namespace keel::app
