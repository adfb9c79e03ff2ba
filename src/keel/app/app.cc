#include "keel/app/app.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "keel/app/log_writer.h"
#include "keel/app/process.h"
#include "keel/app/prometheus.h"
#include "keel/app/signals.h"
#include "keel/db/sqlite/database.h"
#include "keel/http/problem.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric_cells.h"

namespace keel::app {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_configuration = 2;

io::EngineKind engine_of(Engine engine) {
  switch (engine) {
    case Engine::Auto:
      return io::EngineKind::Auto;
    case Engine::Uring:
      return io::EngineKind::Uring;
    case Engine::Epoll:
      return io::EngineKind::Epoll;
  }
  return io::EngineKind::Auto;
}

log::Overflow overflow_of(Overflow overflow) {
  switch (overflow) {
    case Overflow::Block:
      return log::Overflow::Block;
    case Overflow::DropNewest:
      return log::Overflow::DropNewest;
    case Overflow::DropOldest:
      return log::Overflow::DropOldest;
  }
  return log::Overflow::DropNewest;
}

db::sqlite::Synchronous synchronous_of(Synchronous synchronous) {
  switch (synchronous) {
    case Synchronous::Full:
      return db::sqlite::Synchronous::Full;
    case Synchronous::Normal:
      return db::sqlite::Synchronous::Normal;
    case Synchronous::Off:
      return db::sqlite::Synchronous::Off;
  }
  return db::sqlite::Synchronous::Full;
}

LogWriterOptions log_options(const Settings& settings) {
  LogWriterOptions options;
  options.mode = settings.logging.async ? LogWriterOptions::Mode::Background : LogWriterOptions::Mode::Direct;
  for (const SinkSettings& from : settings.logging.sinks) {
    LogSink sink;
    sink.to = from.type == SinkType::File ? LogSink::To::File : LogSink::To::Stderr;
    sink.path = from.path;
    sink.level = Settings::level_of(from);
    sink.format = from.format == SinkFormat::Text ? LineFormat::Text : LineFormat::Json;
    options.sinks.push_back(std::move(sink));
  }
  if (!settings.logging.enabled) {
    // Nobody reads, and nothing is recorded: log_level() is above every level then.
    LogSink nowhere;
    nowhere.to = LogSink::To::Function;
    nowhere.write = [](std::string_view) {};
    options.sinks.clear();
    options.sinks.push_back(std::move(nowhere));
  }
  return options;
}

Result<> make_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return Error::from_errno("mkdir", error.value()).because("creating the folder '" + folder.string() + "'");
}

http::Limits limits_of(const HttpSettings& from) {
  http::Limits limits;
  limits.head.request_line_bytes_max = static_cast<std::uint32_t>(from.max_request_line.bytes);
  limits.head.field_line_bytes_max = static_cast<std::uint32_t>(from.max_header_line.bytes);
  limits.head.head_bytes_max = static_cast<std::uint32_t>(from.max_header.bytes);
  limits.head.fields_max = from.max_header_count;
  limits.body_bytes_max = from.max_body.bytes;
  limits.connections_max = from.max_connections;
  limits.requests_per_connection_max = from.keep_alive ? from.max_requests_per_connection : 1;
  limits.header_timeout = from.header_timeout;
  limits.body_timeout = from.body_timeout;
  limits.idle_timeout = from.idle_timeout;
  limits.send_timeout = from.send_timeout;
  limits.request_timeout = from.request_timeout;
  return limits;
}

}  // namespace

namespace internal {

std::vector<const char*> words(int argc, char** argv) { return {argv + std::min(argc, 1), argv + argc}; }

void show_and_exit(std::string_view, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::exit(0);
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

struct App::Parts {
  SignalWaiter signals;
  std::unique_ptr<LogWriter> logs;
  std::unique_ptr<Prometheus> exporter;
  std::unique_ptr<ProcessMetrics> process;
  std::vector<std::pair<std::string, std::unique_ptr<ThreadPool>>> pools;
  std::unique_ptr<db::Database> database;
  std::vector<metrics::GaugeFunction> database_metrics;
  std::unique_ptr<http::Router> admin_router;
  std::unique_ptr<http::Server> server;
  std::unique_ptr<http::Server> admin;
  Health::Check database_check;
};

App::App(std::string name, const Settings& settings, const config::Origins& origins)
    : name_(std::move(name)),
      settings_(settings),
      began_(Host::system().now()),
      parts_(std::make_unique<Parts>()),
      registry_({.sample_rate = settings.monitoring.metrics.sample_rate}),
      log_("app") {
  log::set_ring_options({settings.logging.ring_buffer_size.bytes, overflow_of(settings.logging.overflow)});
  log::set_level(settings.logging.enabled ? settings.log_level() : Level::Fatal);
  for (const SinkSettings& sink : settings.logging.sinks) {
    if (sink.type != SinkType::File || !settings.logging.enabled) continue;
    if (auto made = make_folder_of(sink.path); !made) fail_start(std::move(made).error().because("logging.sinks"));
  }
  auto logs = LogWriter::make(log_options(settings));
  if (!logs) fail_start(logs.error());
  parts_->logs = *std::move(logs);
  for (const std::string_view key : Settings::unused(origins)) {
    log_.warn("a setting is accepted and has no effect in this version", log::field("key", key));
  }
  http::Response::set_json_options({.pretty_print = settings.container.json.pretty_print});

  const unsigned workers = settings.network.workers != 0 ? settings.network.workers : pool_size("network", 0);
  auto runtime = io::Runtime::make({.workers = static_cast<int>(workers),
                                    .engine = engine_of(settings.network.engine),
                                    .pin = settings.thread.affinity});
  if (!runtime) fail_start(runtime.error());
  runtime_ = *std::move(runtime);
  if (auto started = runtime_->start(); !started) fail_start(started.error());
  runtime_->each([](io::Loop&) {
    // For as long as the worker's thread runs.
    thread_local std::optional<log::Ring> ring;
    thread_local std::optional<metrics::ThreadCells> cells;
    ring.emplace();
    cells.emplace();
  });
  if (settings.monitoring.enabled) {
    parts_->process = std::make_unique<ProcessMetrics>(registry_);
    parts_->logs->expose(registry_);
  }
}

App::~App() {
  parts_->server.reset();
  parts_->admin.reset();
  for (auto& [name, pool] : parts_->pools) pool->stop();
  if (parts_->database != nullptr) parts_->database->close();
  if (runtime_ != nullptr) runtime_->stop();
  parts_->database_metrics.clear();
  parts_->database_check = {};
  parts_->database.reset();
  if (parts_->logs != nullptr) parts_->logs->flush();
  // The log writer's and the process's metrics end before the registry that holds them.
  parts_->process.reset();
  parts_->exporter.reset();
  parts_->logs.reset();
}

void App::fail_start(const Error& error) {
  if (parts_->logs != nullptr) parts_->logs->flush();
  std::fprintf(stderr, "%s: %s\n", name_.c_str(), error.describe().c_str());
  std::fflush(stderr);
  // Workers may be running: their world is not taken apart under them.
  _exit(exit_failure);
}

db::Database& App::database() {
  if (parts_->database != nullptr) return *parts_->database;
  const DatabaseSettings& from = settings_.database;
  if (auto made = make_folder_of(from.path); !made) fail_start(std::move(made).error().because("database.path"));
  db::DatabaseOptions options;
  options.path = from.path;
  options.migrations = from.migrations;
  options.synchronous = synchronous_of(from.synchronous);
  options.busy_timeout = from.timeout;
  options.cache_kib = static_cast<int>(from.cache_size.bytes / 1024);
  options.pool_size = static_cast<int>(pool_size("database", from.pool_size));
  options.writer.group_max = static_cast<int>(from.group_max);
  auto opened = db::Database::open(options);
  if (!opened) fail_start(std::move(opened).error().because("database '" + from.path + "'"));
  parts_->database = *std::move(opened);
  db::Database& database = *parts_->database;
  runtime_->each([&](io::Loop& loop) {
    if (auto attached = database.attach(loop); !attached) fail_start(attached.error());
  });
  const auto total = [&](std::string_view name, std::string_view help, auto read) {
    parts_->database_metrics.push_back(
        registry_.counter(name, help, {}, [&database, read] { return static_cast<double>(read(database.stats())); }));
  };
  total("db_writes_total", "Writes committed", [](const db::DatabaseStats& s) { return s.writer.writes; });
  total("db_write_groups_total", "Commits: groups of writes with one fsync",
        [](const db::DatabaseStats& s) { return s.writer.groups; });
  total("db_write_failures_total", "Writes that ended with an error",
        [](const db::DatabaseStats& s) { return s.writer.failed; });
  total("db_writes_refused_total", "Writes not queued because the queue was full",
        [](const db::DatabaseStats& s) { return s.writer.refused; });
  total("db_disk_errors_total", "I/O errors and full disks",
        [](const db::DatabaseStats& s) { return s.writer.disk_errors; });
  total("db_loop_reads_total", "Reads completed on the worker that asked",
        [](const db::DatabaseStats& s) { return s.loop_reads; });
  total("db_pool_reads_total", "Reads completed on the database pool",
        [](const db::DatabaseStats& s) { return s.pool_reads; });
  total("db_read_budget_exceeded_total", "Reads interrupted on a worker and run again on the pool",
        [](const db::DatabaseStats& s) { return s.budget_exceeded; });
  total("db_snapshots_total", "Read snapshots begun", [](const db::DatabaseStats& s) { return s.snapshots; });
  parts_->database_metrics.push_back(registry_.gauge("db_writes_queued", "Writes waiting now", {}, [&database] {
    return static_cast<double>(database.stats().writer.queued);
  }));
  return database;
}

unsigned App::pool_size(std::string_view name, unsigned otherwise) const {
  for (const PoolSettings& pool : settings_.thread.pools) {
    if (pool.name == name) return pool.size;
  }
  return otherwise;
}

ThreadPool& App::pool(std::string_view name) {
  for (auto& [known, pool] : parts_->pools) {
    if (known == name) return *pool;
  }
  const unsigned otherwise =
      settings_.thread.pool_size != 0 ? settings_.thread.pool_size : static_cast<unsigned>(runtime_->workers());
  auto made = std::make_unique<ThreadPool>(ThreadPoolOptions{.name = std::string(name),
                                                             .threads = static_cast<int>(pool_size(name, otherwise)),
                                                             .queue_max = settings_.thread.queue_capacity});
  parts_->pools.emplace_back(name, std::move(made));
  return *parts_->pools.back().second;
}

void App::serve(const http::Router& router) {
  const HttpSettings& from = settings_.network.http;
  auto address = Address::ip(from.address, from.port);
  if (!address) {
    internal::refuse_and_exit(name_, std::move(address).error().because("network.http.address"));
  }
  http::ServerOptions options;
  options.address = *address;
  options.limits = limits_of(from);
  options.access_log = from.access_log;
  options.listen.no_delay = settings_.network.tcp_nodelay;
  options.listen.send_buffer_bytes = static_cast<int>(settings_.network.send_buffer.bytes);
  options.listen.receive_buffer_bytes = static_cast<int>(settings_.network.recv_buffer.bytes);
  if (settings_.monitoring.enabled) options.metrics = &registry_;
  parts_->server = std::make_unique<http::Server>(router, std::move(options));
}

void App::start_admin() {
  if (!settings_.monitoring.enabled) return;
  const MetricsSettings& from = settings_.monitoring.metrics;
  auto address = Address::ip(from.export_address, from.export_port);
  if (!address) {
    internal::refuse_and_exit(name_, std::move(address).error().because("monitoring.metrics.export_address"));
  }
  parts_->exporter = std::make_unique<Prometheus>(registry_);
  parts_->admin_router = std::make_unique<http::Router>();
  const auto health = [this](bool (Health::*ask)(Buffer&)) {
    Buffer body;
    const bool good = (health_.*ask)(body);
    return http::Response::body(good ? http::Status::Ok : http::Status::ServiceUnavailable, std::move(body),
                                "application/json")
        .header("Cache-Control", "no-store");
  };
  parts_->admin_router->get("/metrics", [this](http::Request&) {
    Buffer body;
    parts_->exporter->render(body);
    return http::Response::body(http::Status::Ok, std::move(body), Prometheus::content_type);
  });
  parts_->admin_router->get("/healthz", [health](http::Request&) { return health(&Health::live); });
  parts_->admin_router->get("/readyz", [health](http::Request&) { return health(&Health::ready); });
  http::ServerOptions options;
  options.address = *address;
  options.name = "admin";
  options.access_log = false;
  options.limits.connections_max = 64;
  options.metrics = &registry_;
  parts_->admin = std::make_unique<http::Server>(*parts_->admin_router, std::move(options));
  if (auto started = parts_->admin->start(*runtime_, 0); !started) {
    fail_start(std::move(started).error().because("admin listener (monitoring.metrics)"));
  }
}

void App::print_ready() const {
  const Duration took = Host::system().now() - began_;
  std::printf("%s is ready (%.1f ms)\n", name_.c_str(), took.count_seconds() * 1e3);
  if (parts_->server != nullptr) std::printf("  service  http://%s\n", parts_->server->address().to_string().c_str());
  if (parts_->admin != nullptr) {
    std::printf("  admin    http://%s  /metrics /healthz /readyz\n", parts_->admin->address().to_string().c_str());
  }
  std::printf("  engine   %s, %d workers: %s\n", runtime_->engine().kind == io::EngineKind::Uring ? "uring" : "epoll",
              runtime_->workers(), runtime_->engine().reason.c_str());
  if (parts_->database != nullptr) {
    std::printf("  data     %s\n", std::filesystem::absolute(settings_.database.path).c_str());
  }
  std::fflush(stdout);
}

int App::run() {
  if (parts_->server != nullptr) {
    if (auto started = parts_->server->start(*runtime_); !started) fail_start(started.error());
  }
  start_admin();
  health_.start_complete();
  log_.info(
      "ready", log::field("engine", runtime_->engine().kind == io::EngineKind::Uring ? "uring" : "epoll"),
      log::field("reason", runtime_->engine().reason), log::field("workers", runtime_->workers()),
      log::field("address", parts_->server != nullptr ? parts_->server->address().to_string() : std::string("none")),
      log::field("took", Host::system().now() - began_));
  print_ready();
  for (;;) {
    const Signal signal = parts_->signals.wait();
    if (signal != Signal::Reload) {
      log_.info("stopping", log::field("signal", signal == Signal::Terminate ? "SIGTERM" : "SIGINT"));
      break;
    }
    if (auto opened = parts_->logs->reopen(); !opened) log_.error("log files were not opened again", opened.error());
  }
  return drain();
}

int App::drain() {
  parts_->signals.end_on_next();
  health_.drain("draining");
  const Instant began = Host::system().now();
  bool all = true;
  if (parts_->server != nullptr) {
    all = parts_->server->drain(settings_.network.http.drain_timeout);
  }
  if (parts_->database != nullptr) parts_->database->close();
  if (!all) log_.warn("requests were cut off at the drain deadline");
  log_.info("stopped", log::field("took", Host::system().now() - began));
  return all ? 0 : exit_failure;
}

}  // namespace keel::app
