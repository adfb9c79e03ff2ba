#include "keel/app/app.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "keel/app/admin_pages.h"
#include "keel/app/checks.h"
#include "keel/app/container.h"
#include "keel/app/crash.h"
#include "keel/app/handover.h"
#include "keel/app/internal/database_metrics.h"
#include "keel/app/internal/options.h"
#include "keel/app/listeners.h"
#include "keel/app/live_tasks.h"
#include "keel/app/log_writer.h"
#include "keel/app/notify.h"
#include "keel/app/pools.h"
#include "keel/app/process.h"
#include "keel/app/prometheus.h"
#include "keel/app/signals.h"
#include "keel/app/stall.h"
#include "keel/app/watchdog.h"
#include "keel/base/pool.h"
#include "keel/db/sqlite/database.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/problem.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric_cells.h"

namespace keel::app {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_configuration = 2;
constexpr std::string_view handover_key = "network.handover.path";

std::string_view name_of(Signal signal) { return signal == Signal::Terminate ? "SIGTERM" : "SIGINT"; }

}  // namespace

namespace internal {

std::vector<const char*> words(int argc, char** argv) { return {argv + std::min(argc, 1), argv + argc}; }

void show_and_exit(std::string_view name, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) std::exit(0);
  const Error error = Error::from_errno("standard output", errno);
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(name.size()), name.data(), error.describe().c_str());
  std::exit(exit_failure);
}

void refuse_and_exit(std::string_view name, const Error& error) {
  // Each mistake is a line of its own.
  const std::string text = error.describe();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(name.size()), name.data(), static_cast<int>(end - begin),
                 text.data() + begin);
    begin = end + 1;
  }
  std::fflush(stderr);
  // Without destructors: workers may be running.
  _exit(exit_configuration);
}

}  // namespace internal

namespace {

// What became of reloads, for metrics.
struct Reloads {
  explicit Reloads(metrics::Registry& registry)
      : good(registry.counter("config_reloads_total", "Reloads of the configuration", {{"result", "ok"}})),
        bad(registry.counter("config_reloads_total", "Reloads of the configuration", {{"result", "failed"}})),
        last_good(registry.gauge("config_last_reload_successful",
                                 "Whether the last reload of the configuration changed what it should; 1 before any")),
        last_good_at(registry.gauge("config_last_reload_success_timestamp_seconds",
                                    "When the configuration was last loaded without an error")) {
    last_good.set(1);
    last_good_at.set(seconds_now());
  }
  void count(bool is_good) {
    (is_good ? good : bad).add();
    last_good.set(is_good ? 1 : 0);
    if (is_good) last_good_at.set(seconds_now());
  }
  static double seconds_now() { return static_cast<double>(Host::system().wall_ns()) * 1e-9; }

  metrics::Counter good, bad;
  metrics::Gauge last_good, last_good_at;
};

}  // namespace

struct App::Parts {
  SignalWaiter signals;
  const pthread_t main_thread = ::pthread_self();
  std::optional<Signal> stop_asked;
  bool reload_asked = false;
  Notify notify;
  std::unique_ptr<Watchdog> watchdog;  // From the start's end on.
  std::unique_ptr<CrashHandler> crash;
  std::unique_ptr<LogWriter> logs;
  std::unique_ptr<Prometheus> exporter;
  std::unique_ptr<ProcessMetrics> process;
  std::unique_ptr<StallWatch> stalls;
  std::optional<LiveTasks> tasks;
  std::optional<Pools> pools;
  const std::uint64_t descriptors_max = raise_descriptor_limit();
  std::unique_ptr<db::Database> database;
  std::vector<metrics::GaugeFunction> database_metrics;
  const Services* services = nullptr;
  Listeners activated;  // By the service manager.
  std::optional<Predecessor> predecessor;
  std::unique_ptr<Handover> handover;
  Handover::State handed = Handover::State::Kept;
  bool is_server_kept = false;  // The service manager listens where the server does.
  bool is_admin_kept = false;
  std::optional<AdminPages> admin_pages;
  std::unique_ptr<http::Router> admin_router;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<http::Server> admin;
  std::vector<Health::Check> worker_checks;
  std::vector<Health::Check> database_checks;
  Health::Check log_check;
  Health::Check disk_check;
  bool is_drained = true;
  bool is_stopped = false;
  Instant wiring_began;
  std::atomic<std::int64_t> ready_ns = 0;  // 0: not yet.
  std::optional<Reloads> reloads;
  std::vector<config::Applier> appliers;
  // Last: the modules refer to everything else.
  Lifecycle lifecycle;

  explicit Parts(Duration stop_timeout) : lifecycle(stop_timeout) {}

  // The sockets for the server `name`, configured to listen at `address`. A service manager chooses the address; what a
  // predecessor has is of use where our configuration agrees with its.
  std::vector<int> inherited(std::string_view name, const Address& address, bool& is_kept) const {
    std::vector<int> found = activated.find(name);
    is_kept = !found.empty();
    if (found.empty() && predecessor) {
      found = predecessor->listeners().find(name, address);
      is_kept = !found.empty() && predecessor->listeners().is_kept(name);
    }
    return found;
  }

  // What becomes of the sockets of a server that stops.
  http::Listening after_stop(bool is_kept) const noexcept {
    const bool goes_on = is_kept || predecessor || handed != Handover::State::Kept;
    return goes_on ? http::Listening::GoesOn : http::Listening::Ends;
  }
};

App::App(std::string name, config::Versions& config, SettingsIn settings_in)
    : name_(std::move(name)),
      config_(config),
      settings_in_(settings_in),
      settings_(settings_in(config.value())),
      began_(Host::system().now()),
      parts_(std::make_unique<Parts>(settings_.common.stop_timeout)),
      registry_({.sample_rate = settings_.monitoring.metrics.sample_rate}),
      log_("app") {
  if (auto activated = Listeners::from_environment(); activated) {
    parts_->activated = *std::move(activated);
  } else {
    fail_start(activated.error());
  }
  const Settings& settings = settings_;
  const config::Origins& origins = config.origins();
  Lifecycle& lifecycle = parts_->lifecycle;
  const Instant began = began_;
  lifecycle.record("signals", began, Host::system().now() - began);
  if (origins.loading_took() > Duration()) {
    lifecycle.record("configuration", origins.loading_began(), origins.loading_took());
    began_ = origins.loading_began();
  }
  log::set_ring_options(internal::ring_options(settings));
  log::set_level(internal::recorded_level(settings));
  http::Response::set_json_options({.pretty_print = settings.container.json.pretty_print});
  watch_config();
  const std::string& crash_file = settings.logging.crash_file;
  if (auto made = internal::make_folder_of(crash_file); !made)
    fail_start(std::move(made).error().because("logging.crash_file"));
  auto crash = CrashHandler::install({.name = name_, .file = crash_file});
  if (!crash) fail_start(std::move(crash).error().because("logging.crash_file"));
  parts_->crash = *std::move(crash);
  add_foundation();
  parts_->pools.emplace(settings, lifecycle, registry_, [this] { return static_cast<unsigned>(runtime().workers()); });
  add_database();
  if (auto begun = lifecycle.begin("workers"); !begun) fail_start(begun.error());
  ensure("logs");
  if (settings.monitoring.enabled) {
    if (auto begun = lifecycle.begin("monitoring"); !begun) fail_start(begun.error());
  }
  parts_->crash->set_logs(parts_->logs.get());
  for (const std::string_view key : Settings::unused(origins)) {
    log_.warn("a setting is accepted and has no effect in this version", log::field("key", key));
  }
  if (auto notify = Notify::from_environment()) {
    parts_->notify = *std::move(notify);
  } else {
    log_.warn("the supervisor will not be told anything", notify.error());
  }
  tell(parts_->notify.extend(settings.common.start_timeout));
  parts_->wiring_began = Host::system().now();
  lifecycle.record("bootstrap", began, parts_->wiring_began - began);
}

App::~App() {
  stop_modules(settings_.common.stop_timeout);
  parts_->server.reset();
  parts_->admin.reset();
  parts_->admin_pages.reset();  // A thread of it may still be waking a loop that has gone on.
  parts_->database_metrics.clear();
  parts_->pools.reset();
  parts_->disk_check = {};
  parts_->log_check = {};
  parts_->database.reset();
  if (parts_->logs != nullptr) parts_->logs->flush();
  parts_->appliers.clear();
  // The log writer's and the process's metrics end before the registry that holds them.
  parts_->process.reset();
  parts_->exporter.reset();
  parts_->crash->set_logs(nullptr);
  parts_->logs.reset();
  // Blocks of threads that are gone were given back here, where nobody takes them.
  pool_trim();
}

bool App::is_main_thread() const noexcept { return ::pthread_equal(::pthread_self(), parts_->main_thread) != 0; }

void App::fail_start(const Error& error) {
  // On a module's thread the modules cannot be waited for: that one is starting.
  if (is_main_thread()) parts_->lifecycle.stop(settings_.common.stop_timeout);
  end_start(error);
}

// A mistake in the configuration that is found late.
void App::refuse(const Error& error) {
  parts_->lifecycle.stop(settings_.common.stop_timeout);
  if (parts_->logs != nullptr) parts_->logs->flush();
  internal::refuse_and_exit(name_, error);
}

void App::end_start(const Error& error) {
  tell(parts_->notify.status("not started: " + error.describe()));
  if (parts_->logs != nullptr) parts_->logs->flush();
  std::fprintf(stderr, "%s: %s\n", name_.c_str(), error.describe().c_str());
  std::fflush(stderr);
  // Without destructors: objects of main may still be used by what did not stop.
  _exit(exit_failure);
}

void App::add_foundation() {
  const Duration timeout = settings_.common.start_timeout;
  parts_->lifecycle.add({.name = "logs", .start = [this] { return start_logs(); }, .start_timeout = timeout});
  parts_->lifecycle.add({.name = "workers",
                         .start = [this] { return start_workers(); },
                         .stop =
                             [this] {
                               parts_->worker_checks.clear();
                               runtime_->stop();
                             },
                         .start_timeout = timeout});
  if (settings_.monitoring.stall > Duration()) {
    parts_->lifecycle.add({.name = "stall watch",
                           .needs = {"logs", "workers"},
                           .start = [this]() -> Result<> {
                             parts_->stalls =
                                 std::make_unique<StallWatch>(*runtime_, settings_.monitoring.stall, registry_);
                             return {};
                           },
                           .stop = [this] { parts_->stalls.reset(); },
                           .start_timeout = timeout});
  }
  if (!settings_.monitoring.enabled) return;
  parts_->lifecycle.add({.name = "monitoring",
                         .needs = {"logs"},
                         .start = [this]() -> Result<> {
                           parts_->process = std::make_unique<ProcessMetrics>(registry_);
                           parts_->logs->expose(registry_);
                           parts_->exporter = std::make_unique<Prometheus>(registry_);
                           return {};
                         },
                         .start_timeout = timeout});
}

Result<> App::start_logs() {
  KEEL_TRY_VOID(internal::make_log_folders(settings_));
  KEEL_TRY(parts_->logs, LogWriter::make(internal::log_options(settings_)));
  parts_->log_check = check_log(health_, *parts_->logs);
  return {};
}

Result<> App::start_workers() {
  KEEL_TRY(runtime_, io::Runtime::make(internal::runtime_options(settings_)));
  KEEL_TRY_VOID(runtime_->start());
  runtime_->each([](io::Loop& loop) {
    // For as long as the worker's thread runs.
    thread_local std::optional<log::Ring> ring;
    thread_local std::optional<metrics::ThreadCells> cells;
    thread_local std::optional<FlightRecorder> recorder;
    ring.emplace();
    cells.emplace();
    recorder.emplace(loop.index());
  });
  parts_->tasks.emplace(*runtime_);
  parts_->worker_checks = check_workers(health_, *runtime_, settings_.monitoring.health.worker_timeout);
  return {};
}

io::Runtime& App::runtime() {
  ensure("workers");
  return *runtime_;
}

// --- What a reload of the configuration changes.

void App::watch_config() {
  parts_->reloads.emplace(registry_);
  const auto on_reload = [&](std::string_view path, auto apply) {
    const std::uint64_t id =
        config_.add(path, [this, apply](const void* now, const void*) -> Result<> { return apply(settings_in_(now)); });
    parts_->appliers.emplace_back(config_, id);
  };
  on_reload("logging", [this](const Settings& now) { return apply_logging(now); });
  on_reload("network", [this](const Settings& now) -> Result<> {
    if (parts_->server != nullptr)
      parts_->server->change(internal::limits_of(now.network), now.network.http.access_log);
    return {};
  });
}

Result<> App::apply_logging(const Settings& now) {
  KEEL_TRY_VOID(internal::make_log_folders(now));
  return parts_->logs->set_sinks(internal::sinks_of(now)).because("logging.sinks");
}

void App::reload() {
  const Level before = internal::recorded_level(settings());
  const auto changes = config_.reload();
  // The lines about a reload are told at the more talkative of the old and the new level.
  const Level now = internal::recorded_level(settings());
  if (now < before) log::set_level(now);
  if (changes) {
    for (const config::Change& change : *changes) {
      if (change.is_applied) {
        log_.info("setting changed", log::field("key", change.path), log::field("before", change.before),
                  log::field("now", change.after), log::field("origin", change.origin));
      } else {
        log_.warn("setting needs a restart", log::field("key", change.path), log::field("now", change.before),
                  log::field("after_restart", change.after), log::field("origin", change.origin));
      }
    }
    log_.info("configuration reloaded", log::field("different", changes->size()));
    if (!changes->empty() && settings_.monitoring.enabled) watch_disks();
  } else {
    const std::string problems = changes.error().describe();
    for (std::size_t begin = 0; begin <= problems.size();) {
      const std::size_t end = std::min(problems.find('\n', begin), problems.size());
      log_.error("configuration not reloaded, nothing has changed",
                 log::field("problem", std::string_view(problems).substr(begin, end - begin)));
      begin = end + 1;
    }
  }
  if (now > before) log::set_level(now);
  if (auto opened = parts_->logs->reopen(); !opened) log_.error("log files were not opened again", opened.error());
  parts_->reloads->count(changes.is_ok());
}

// --- The database: opened beside the workers' start, then a connection for each of them.

void App::add_database() {
  parts_->lifecycle.add({.name = "database",
                         .start = [this] { return open_database(); },
                         .stop = [this] { parts_->database->close(); },
                         .start_timeout = settings_.common.start_timeout,
                         .lazy = true});
  parts_->lifecycle.add({.name = "connections",
                         .needs = {"database", "workers"},
                         .start = [this] { return connect_database(); },
                         .stop = [this] { parts_->database_checks.clear(); },
                         .start_timeout = settings_.common.start_timeout,
                         .lazy = true});
}

db::Database& App::database() {
  ensure("connections");
  return *parts_->database;
}

Result<> App::open_database() {
  const std::string& path = settings_.database.path;
  if (auto made = internal::make_folder_of(path); !made) {
    return std::unexpected(std::move(made).error().because("database.path"));
  }
  auto opened = db::Database::open(internal::database_options(settings_));
  if (!opened) return std::unexpected(std::move(opened).error().because("database '" + path + "'"));
  parts_->database = *std::move(opened);
  return {};
}

Result<> App::connect_database() {
  db::Database& database = *parts_->database;
  Result<> attached;
  runtime_->each([&](io::Loop& loop) {
    if (attached) attached = database.attach(loop);
  });
  KEEL_TRY_VOID(std::move(attached));
  parts_->database_metrics = internal::expose(database, settings_.database, registry_);
  parts_->database_checks =
      check_database(health_, database, runtime_->loop(0), settings_.monitoring.health.check_timeout);
  return {};
}

ThreadPool& App::pool(std::string_view name) {
  const std::string module = parts_->pools->add(name);
  ensure(module);
  return parts_->pools->get(name);
}

// What the settings ask for and the system does not give.
void App::check_limits() {
  if (parts_->server == nullptr) return;
  const HttpSettings& http = settings_.network.http;
  const std::uint64_t workers = static_cast<std::uint64_t>(runtime_->workers());
  // A worker's engine, listener and database connection; files, admin and what the application opens.
  const std::uint64_t others = 128 + 16 * workers;
  if (parts_->descriptors_max < http.max_connections + others) {
    log_.warn("there are fewer descriptors than network.http.max_connections needs: accepting will pause without them",
              log::field("limit", parts_->descriptors_max), log::field("max_connections", http.max_connections),
              log::field("others", others), log::field("remedy", "raise RLIMIT_NOFILE or lower max_connections"));
  }
  if (http.max_body_memory.bytes / workers < http.max_body.bytes) {
    log_.warn("a worker's share of network.http.max_body_memory is below network.http.max_body: such bodies get 503",
              log::field("share", http.max_body_memory.bytes / workers), log::field("max_body", http.max_body.bytes));
  }
}

void App::module(Module module) { parts_->lifecycle.add(std::move(module)); }

void App::services(const Services& services) {
  KEEL_CHECK(parts_->services == nullptr, "an App is given its services once");
  parts_->services = &services;
  services.add_to(parts_->lifecycle);
}

void App::ensure(std::string_view name) {
  Lifecycle& lifecycle = parts_->lifecycle;
  // Signals are the main thread's.
  const bool is_main = is_main_thread();
  auto ensured = lifecycle.ensure(name, [&] { return is_main && is_stop_asked(); });
  if (ensured) return;
  if (!is_main || !parts_->stop_asked) fail_start(ensured.error());
  // There is no way back through main.
  const int code = stop_modules(settings_.common.stop_timeout);
  if (parts_->logs != nullptr) parts_->logs->flush();
  _exit(code);
}

void App::serve(const http::Router& router) {
  const HttpSettings& from = settings_.network.http;
  auto address = from.listen_address();
  if (!address) {
    refuse(std::move(address).error().because("network.http.address"));
  }
  http::ServerOptions options = internal::server_options(settings_, *address);
  if (settings_.monitoring.enabled) options.metrics = &registry_;
  parts_->server = std::make_unique<http::Server>(router, std::move(options));
}

// Before anybody listens: the process that runs already, and a place for our own successor.
void App::add_handover() {
  const std::string& path = settings_.network.handover.path;
  if (path.empty()) return;
  parts_->lifecycle.add({.name = "handover",
                         .start = [this, &path]() -> Result<> {
                           auto found = Predecessor::find(path, name_);
                           if (!found) return std::unexpected(std::move(found).error().because(handover_key));
                           if (found->has_value()) parts_->predecessor.emplace(**std::move(found));
                           auto made = Handover::make(path, name_, [this] { parts_->signals.request_stop(); });
                           if (!made) return std::unexpected(std::move(made).error().because(handover_key));
                           parts_->handover = *std::move(made);
                           return {};
                         },
                         .start_timeout = settings_.common.start_timeout});
}

Result<> App::start_admin(const std::vector<int>& inherited) {
  auto started = parts_->admin->start(*runtime_, 0, inherited);
  if (started) return {};
  return std::unexpected(std::move(started).error().because("admin listener (monitoring.metrics)"));
}

// Everything serves: the predecessor may go, and a successor come.
void App::relieve_predecessor() {
  if (parts_->predecessor) {
    if (parts_->admin != nullptr) {
      const auto inherited = parts_->inherited("admin", parts_->admin->address(), parts_->is_admin_kept);
      if (!inherited.empty()) {
        if (auto started = start_admin(inherited); !started) end_start(started.error());
      }
    }
    const bool told = parts_->predecessor->leave();
    log_.info("the listening sockets of a running process were taken over",
              log::field("process", static_cast<std::int64_t>(parts_->predecessor->process())),
              log::field("sockets", parts_->predecessor->listeners().entries().size()), log::field("it_leaves", told));
    parts_->predecessor.reset();
  }
  parts_->activated.clear();
  if (parts_->handover == nullptr) return;
  Listeners ours;
  Result<> ready;
  const auto add = [&](const char* name, http::Server* server, bool kept) {
    if (server == nullptr) return;
    for (const int fd : server->duplicate_listeners()) {
      if (auto added = ours.add(name, fd, kept); !added) ready = std::move(added);
    }
  };
  add("http", parts_->server.get(), parts_->is_server_kept);
  add("admin", parts_->admin.get(), parts_->is_admin_kept);
  if (ready) ready = parts_->handover->publish(std::move(ours));
  // The predecessor has gone; this one can serve without being relieved itself.
  if (!ready) log_.error("no successor can take over", ready.error());
}

void App::add_admin() {
  if (!settings_.monitoring.enabled) return;
  const MetricsSettings& from = settings_.monitoring.metrics;
  auto address = Address::ip(from.export_address, from.export_port);
  if (!address) {
    refuse(std::move(address).error().because("monitoring.metrics.export_address"));
  }
  parts_->admin_router = std::make_unique<http::Router>();
  parts_->admin_pages.emplace(AdminSources{.name = name_,
                                           .began = began_,
                                           .ready_ns = parts_->ready_ns,
                                           .config = config_,
                                           .health = health_,
                                           .lifecycle = parts_->lifecycle,
                                           .exporter = parts_->exporter,
                                           .tasks = parts_->tasks,
                                           .server = parts_->server.get(),
                                           .services = parts_->services});
  parts_->admin_pages->mount(*parts_->admin_router);
  http::ServerOptions options;
  options.address = *address;
  options.name = "admin";
  options.access_log = false;
  options.limits.connections_max = 64;
  options.metrics = &registry_;
  parts_->admin = std::make_unique<http::Server>(*parts_->admin_router, std::move(options));
  std::vector<std::string> needs = {"workers", "monitoring"};
  if (!settings_.network.handover.path.empty()) needs.push_back("handover");
  parts_->lifecycle.add({.name = "admin",
                         .needs = std::move(needs),
                         .start = [this, at = *address]() -> Result<> {
                           const auto inherited = parts_->inherited("admin", at, parts_->is_admin_kept);
                           // Who asks there about health is told of the predecessor's until ours is known.
                           if (parts_->predecessor && !inherited.empty()) return {};
                           return start_admin(inherited);
                         },
                         .stop = [this] { parts_->admin->stop(); },
                         .start_timeout = settings_.common.start_timeout});
}

// Last to start, for what it accepts is lost when another cannot start; and the first to stop.
void App::add_service() {
  if (parts_->server == nullptr) return;
  parts_->lifecycle.add(
      {.name = "http",
       .needs = parts_->lifecycle.wanted(),
       .start =
           [this] {
             const Address& at = parts_->server->address();
             return parts_->server->start(*runtime_, parts_->inherited("http", at, parts_->is_server_kept));
           },
       .stop =
           [this] {
             const http::Listening listening = parts_->after_stop(parts_->is_server_kept);
             parts_->is_drained = parts_->server->drain(settings().network.http.drain_timeout, listening);
           },
       .start_timeout = settings_.common.start_timeout});
}

// Once everything has started; waits for the first results, so that what is said to be ready is.
void App::start_health() {
  if (!settings_.monitoring.enabled) return;
  watch_disks();
  const HealthSettings& from = settings_.monitoring.health;
  health_.start(from.check_interval);
  health_.wait_checked(from.check_timeout);
}

void App::watch_disks() {
  const Settings& now = settings();
  std::vector<std::string> folders;
  const auto add_folder_of = [&folders](const std::string& file) {
    folders.push_back(std::filesystem::absolute(file).parent_path().string());
  };
  if (parts_->database != nullptr) add_folder_of(now.database.path);
  for (const SinkSettings& sink : now.logging.sinks) {
    if (sink.type == SinkType::File && now.logging.enabled) add_folder_of(sink.path);
  }
  const HealthSettings& from = now.monitoring.health;
  parts_->disk_check = {};  // Its name is used once.
  parts_->disk_check = check_disk_space(health_, std::move(folders), from.disk_free_min, from.check_timeout);
}

// Says what the start was made of, to whom it may concern.
void App::report_start() {
  const Instant end = Instant::from_ns(parts_->ready_ns);
  const std::vector<Phase> phases = parts_->lifecycle.phases();
  const auto expose = [&](std::string_view phase, Duration took) {
    registry_.gauge("app_start_seconds", "How long a phase of the start took", {{"phase", phase}})
        .set(took.count_seconds());
  };
  for (const Phase& phase : phases) {
    if (settings_.monitoring.enabled) expose(phase.name, phase.took);
    log_.debug("start phase", log::field("phase", phase.name), log::field("at", phase.began - began_),
               log::field("took", phase.took), log::field("thread", phase.thread), log::field("waited", phase.waited),
               log::field("waited_for", phase.waited_for));
  }
  if (settings_.monitoring.enabled) expose("total", end - began_);
  if (settings_.common.start_report) std::fputs(phase_table(name_, phases, began_, end).c_str(), stdout);
}

void App::print_ready() const {
  const Duration took = Instant::from_ns(parts_->ready_ns) - began_;
  std::printf("%s is ready (%.1f ms)\n", name_.c_str(), took.count_seconds() * 1e3);
  if (parts_->server != nullptr) {
    const Address& address = parts_->server->address();
    std::printf("  service  %s%s\n", address.is_unix() ? "" : "http://", address.to_string().c_str());
  }
  if (parts_->admin != nullptr) {
    std::printf("  admin    http://%s  %s\n", parts_->admin->address().to_string().c_str(),
                parts_->admin_pages->paths().c_str());
  }
  std::printf("  engine   %s, %d workers: %s\n", runtime_->engine().kind == io::EngineKind::Uring ? "uring" : "epoll",
              runtime_->workers(), runtime_->engine().reason.c_str());
  if (parts_->database != nullptr) {
    std::printf("  data     %s\n", std::filesystem::absolute(settings_.database.path).c_str());
  }
  std::fflush(stdout);
}

// The supervisor; nothing depends on whether it hears.
void App::tell(const Result<>& sent) {
  if (!sent) log_.warn("the supervisor was not told", sent.error());
}

Signal App::wait_for_signal() {
  if (std::exchange(parts_->reload_asked, false)) return Signal::Reload;
  while (true) {
    tell(parts_->watchdog->tick());
    const Duration interval = parts_->watchdog->interval();
    if (interval == Duration::forever()) return parts_->signals.wait();
    if (const auto signal = parts_->signals.wait_for(interval)) return *signal;
  }
}

bool App::is_stop_asked() {
  while (!parts_->stop_asked) {
    const std::optional<Signal> signal = parts_->signals.wait_for(Duration());
    if (!signal) return false;
    if (*signal == Signal::Reload) {
      parts_->reload_asked = true;
    } else if (*signal != Signal::Report) {  // Too early: nobody watches yet.
      parts_->stop_asked = signal;
    }
  }
  parts_->signals.end_on_next();
  return true;
}

void App::report_workers() {
  if (parts_->stalls != nullptr) {
    parts_->stalls->report_all();
  } else {
    log_.warn("where the workers are is not known: monitoring.stall_ms is 0");
  }
  parts_->tasks->log();
}

int App::run() {
  Lifecycle& lifecycle = parts_->lifecycle;
  lifecycle.record("wiring", parts_->wiring_began, Host::system().now() - parts_->wiring_began);
  add_handover();
  add_admin();
  add_service();
  tell(parts_->notify.extend(settings_.common.start_timeout));
  if (auto started = lifecycle.start([this] { return is_stop_asked(); }); !started) {
    if (!parts_->stop_asked) end_start(started.error());
    log_.info("stopped during the start", log::field("signal", name_of(*parts_->stop_asked)));
    return stop_modules(Duration());
  }
  const Instant checking = Host::system().now();
  start_health();
  check_limits();
  const Instant ready = Host::system().now();
  lifecycle.record("health", checking, ready - checking);
  parts_->ready_ns = ready.ns();
  report_start();
  health_.start_complete();
  relieve_predecessor();
  log_.info(
      "ready", log::field("engine", runtime_->engine().kind == io::EngineKind::Uring ? "uring" : "epoll"),
      log::field("reason", runtime_->engine().reason), log::field("workers", runtime_->workers()),
      log::field("address", parts_->server != nullptr ? parts_->server->address().to_string() : std::string("none")),
      log::field("took", ready - began_));
  print_ready();
  parts_->watchdog = std::make_unique<Watchdog>(parts_->notify, *runtime_);
  const std::string where =
      parts_->server != nullptr ? "serving on " + parts_->server->address().to_string() : std::string("running");
  tell(parts_->notify.ready(where));
  for (;;) {
    const Signal signal = wait_for_signal();
    if (signal == Signal::Report) {
      report_workers();
      continue;
    }
    if (signal != Signal::Reload) {
      log_.info("stopping", log::field("signal", name_of(signal)));
      break;
    }
    tell(parts_->notify.reloading());
    reload();
    tell(parts_->notify.ready(where));
  }
  return drain();
}

int App::drain() {
  Handover::State& handed = parts_->handed;
  if (parts_->handover != nullptr) handed = parts_->handover->end();
  if (handed == Handover::State::Taken) {
    log_.info("a successor has taken over",
              log::field("process", static_cast<std::int64_t>(parts_->handover->successor())));
    // Its being ready, and a signal from elsewhere at the same moment, are not two signals.
    while (parts_->signals.wait_for(Duration())) {
    }
  }
  parts_->signals.end_on_next();
  const HttpSettings& http = settings().network.http;
  const Duration most = http.drain_timeout + settings_.common.stop_timeout;
  if (handed == Handover::State::Taken) {
    tell(parts_->notify.main_pid(parts_->handover->successor()));
  } else {
    tell(parts_->notify.stopping("draining"));
    tell(parts_->notify.extend(http.drain_delay + most + 5_s));
  }
  // Whoever asks is told to go elsewhere, unless a successor is there where it asked.
  if (handed != Handover::State::Kept) {
    if (parts_->admin != nullptr) parts_->admin->begin_drain(1_s, keel::http::Listening::GoesOn);
  } else {
    health_.drain("draining");
    const Instant close_at = Host::system().now() + http.drain_delay;
    for (Duration left = http.drain_delay; left > Duration(); left = close_at - Host::system().now()) {
      Host::system().sleep(std::min(left, Duration(50_ms)));
      tell(parts_->watchdog->tick());
    }
  }
  const int code = stop_modules(most);
  return parts_->is_drained ? code : exit_failure;
}

// The exit code.
int App::stop_modules(Duration deadline) {
  if (parts_->is_stopped) return 0;
  const StopReport report = parts_->lifecycle.stop(deadline, [this] {
    if (parts_->watchdog != nullptr) tell(parts_->watchdog->tick());
  });
  parts_->is_stopped = true;
  if (!parts_->is_drained) log_.warn("requests were cut off at the drain deadline");
  for (const StopReport::Part& part : report.parts) {
    if (!part.problem.empty()) {
      log_.error("a module did not stop as it should", log::field("module", part.name),
                 log::field("problem", part.problem));
    }
    log_.debug("stop phase", log::field("phase", part.name), log::field("took", part.took),
               log::field("stuck", part.is_stuck));
    if (!part.is_stuck) continue;
    log_.error("still stopping when the time was up", log::field("module", part.name), log::field("took", part.took));
    std::fprintf(stderr, "%s: module \"%s\" was still stopping after %.1f s; the process ends without it\n",
                 name_.c_str(), part.name.c_str(), part.took.count_seconds());
  }
  log_.info("stopped", log::field("took", report.took));
  if (report.is_complete()) return 0;
  // Without destructors: what is stuck may use anything.
  if (parts_->logs != nullptr) parts_->logs->flush();
  std::fflush(stderr);
  _exit(exit_failure);
}

}  // namespace keel::app
