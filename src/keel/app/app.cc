#include "keel/app/app.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "keel/app/internal/options.h"
#include "keel/app/internal/systems.h"
#include "keel/base/pool.h"
#include "keel/base/printable.h"
#include "keel/config/version.h"

namespace keel::app {
namespace {

const internal::Platform& the_system() {
  static const internal::Platform system;
  return system;
}

std::string_view name_of(Signal signal) { return signal == Signal::Terminate ? "SIGTERM" : "SIGINT"; }

}  // namespace

App::App(Program program, config::Versions& config, SettingsIn settings_in, const void* type,
         const internal::Platform* platform)
    : program_(std::move(program)),
      config_(config),
      settings_in_(settings_in),
      type_(type),
      platform_(platform != nullptr ? *platform : the_system()),
      supervision_(std::make_unique<internal::Supervision>(platform_.is_test ? internal::Supervision::Signals::Left
                                                                             : internal::Supervision::Signals::Taken)),
      registry_(settings().monitoring.metrics.registry),
      log_("app") {
  const Instant began = Host::current().now();
  systems_ = std::make_unique<Systems>(*this, began);
  Systems& systems = *systems_;
  Lifecycle& lifecycle = systems.lifecycle;
  const Settings& settings = systems.settings;
  if (auto adopted = systems.succession.adopt(); !adopted) fail_start(adopted.error());
  systems.start.begin();
  if (auto handled = systems.logging.handle_crashes(); !handled) fail_start(handled.error());
  if (auto begun = lifecycle.begin("workers"); !begun) fail_start(begun.error());
  ensure("logs");
  for (const std::string& warning : config_.origins().warnings()) {
    log_.warn("the configuration discloses a secret", log::field("warning", warning));
  }
  if (settings.monitoring.enabled) {
    if (auto begun = lifecycle.begin("monitoring"); !begun) fail_start(begun.error());
  }
  supervision_->connect();
  supervision_->tell(supervision_->supervisor().extend(settings.common.start_timeout));
  systems.start.begin_wiring();
}

App::~App() {
  stop_modules(systems_->settings.common.stop_timeout);
  systems_.reset();
  // The threads that have ended returned their memory blocks to this thread, which does not need them.
  pool_trim();
}

// --- Calls of the application.

io::Runtime& App::runtime() {
  ensure("workers");
  return systems_->workers.runtime();
}

db::Database& App::database() {
  ensure("connections");
  return systems_->storage.database();
}

ThreadPool& App::pool(std::string_view name) {
  ensure(systems_->pools.add(name));
  return systems_->pools.get(name);
}

void App::module(Module module) {
  comes_before_run("module()");
  systems_->lifecycle.add(std::move(module));
}

void App::services(const Services& services) {
  comes_before_run("services()");
  KEEL_CHECK(systems_->services == nullptr, "App::services() can be called only once");
  systems_->services = &services;
  services.add_to(systems_->lifecycle);
}

void App::admin_page(telemetry::AdminPage page) {
  comes_before_run("admin_page()");
  systems_->own_pages.push_back(std::move(page));
}

http::SharedClient& App::client(http::ClientOptions options) {
  const std::string name = options.name;
  const auto module = systems_->clients.add(std::move(options));
  if (!module) refuse(module.error());
  ensure(*module);
  return systems_->clients.get(name);
}

void App::at_start(std::string name, BackgroundWork::Work work) {
  comes_before_run("at_start()");
  systems_->background.work().at_start(std::move(name), std::move(work));
}

void App::every(Duration period, std::string name, BackgroundWork::Work work, EveryOptions options) {
  comes_before_run("every()");
  systems_->background.work().every(period, std::move(name), std::move(work), options);
}

void App::daily(std::string_view time_of_day, std::string name, BackgroundWork::Work work, DailyOptions options) {
  comes_before_run("daily()");
  systems_->background.work().daily(time_of_day, std::move(name), std::move(work), options);
}

void App::background(std::string name, BackgroundWork::Work work, BackgroundOptions options) {
  comes_before_run("background()");
  systems_->background.work().background(std::move(name), std::move(work), options);
}

void App::serve(const http::Router& router) {
  comes_before_run("serve()");
  if (http::Recorder::active != nullptr) http::Recorder::active->serves(router);
  if (auto made = systems_->service.serve(router); !made) refuse(made.error());
}

messages::SharedPool& App::message_pool(std::string_view name) { return message_pool(name, {}); }
messages::SharedPool& App::message_pool(std::string_view name, messages::PoolOptions options) {
  const auto module = systems_->message_pools.add(name, std::move(options));
  if (!module) refuse(module.error());
  ensure(*module);
  return systems_->message_pools.get(name);
}

void App::messages(const messages::Handlers& handlers) { messages(handlers, {}); }
void App::messages(const messages::Handlers& handlers, messages::ServerOptions options) {
  comes_before_run("messages()");
  if (auto made = systems_->messages.serve(handlers, std::move(options)); !made) refuse(made.error());
}

sessions::Registry& App::sessions(const sessions::Handlers& handlers) { return sessions(handlers, {}); }
sessions::Registry& App::sessions(const sessions::Handlers& handlers, sessions::ServerOptions options) {
  comes_before_run("sessions()");
  auto registry = systems_->messages.serve(handlers, std::move(options));
  if (!registry) refuse(registry.error());
  return **registry;
}

Address App::messages_address() const { return systems_->messages.address(); }

// A late call throws a Bug instead of ending the process: in a handler, only the request fails.
void App::comes_before_run(const char* call) const {
  if (!is_wired_) return;
  throw std::logic_error(std::string("App::") + call +
                         " was called while the application runs: call it before run(), " +
                         "in the code that sets up the service");
}

void App::ensure(std::string_view name) {
  if (io::Loop::current() != nullptr && !systems_->lifecycle.runs(name)) {
    throw std::logic_error("\"" + std::string(name) +
                           "\" was requested on a worker, which cannot wait for its start: request it in the "
                           "constructor of the service, and keep the reference");
  }
  internal::Supervision& supervision = *supervision_;
  const bool is_main = supervision.is_main_thread();  // The main thread handles the signals.
  auto ensured = systems_->lifecycle.ensure(name, [&] { return is_main && supervision.is_stop_asked(); });
  if (ensured) return;
  if (!is_main || !supervision.stop_asked()) fail_start(ensured.error());
  const int code = stop_modules(systems_->settings.common.stop_timeout);  // main() cannot continue after a stop.
  systems_->logging.flush();
  _exit(code);
}

// --- Failed start.

void App::fail_start(const Error& error) {
  // A starting module cannot wait until all modules have stopped: run() stops the modules after this start has ended.
  systems_->lifecycle.leave_start(error);
  if (supervision_->is_main_thread()) systems_->lifecycle.stop(systems_->settings.common.stop_timeout);
  end_start(error);
}

// Ends the start because the configuration has a mistake that was not found when the configuration was loaded.
void App::refuse(const Error& error) {
  if (error.errno_value() == EMFILE || error.errno_value() == ENFILE) fail_start(error);
  systems_->is_refused = true;
  systems_->lifecycle.leave_start(error);
  systems_->lifecycle.stop(systems_->settings.common.stop_timeout);
  end_start(error);
}

void App::end_start(const Error& met) {
  const Error error = internal::with_remedy(met.clone());
  if (platform_.is_test) throw std::runtime_error(program_.name + ": " + error.describe());
  supervision_->tell(supervision_->supervisor().status("not started: " + error.describe()));
  systems_->logging.flush();
  if (systems_->is_refused) config::exit_refused(program_.name, error);
  const auto print = [this](const std::string& line) {
    std::fprintf(stderr, "%s: %s\n", program_.name.c_str(), printable(line).c_str());
  };
  print(error.describe());
  for (const std::string& line : systems_->addresses.further()) print(line);
  std::fflush(stderr);
  // Ends the process without running destructors, because modules that did not stop may still use objects of main().
  _exit(EXIT_FAILURE);
}

// --- From the first module to the last.

int App::run() {
  Systems& systems = *systems_;
  internal::Supervision& supervision = *supervision_;
  if (auto started = start(); !started) {
    if (!supervision.stop_asked()) end_start(started.error());
    log_.info("stopped during the start", log::field("signal", name_of(*supervision.stop_asked())));
    return stop_modules(Duration());
  }
  relieve_predecessor();
  const io::EngineChoice& engine = systems.workers.runtime().engine();
  const http::Server* const server = systems.service.server();
  log_.info("ready", log::field("version", program_.version), log::field("keel", keel_version()),
            log::field("engine", systems.engine()), log::field("reason", engine.reason),
            log::field("workers", systems.workers.runtime().workers()),
            log::field("address", server != nullptr ? server->address().to_string() : std::string("none")),
            log::field("took", systems.start.took()));
  systems.print_ready();
  const Signal signal = serve_until_signal();
  log_.info("stopping", log::field("signal", name_of(signal)));
  return drain();
}

// Starts all modules; after that, requests are served. After an error, all modules have been stopped again.
Result<> App::start() {
  Systems& systems = *systems_;
  internal::Supervision& supervision = *supervision_;
  systems.start.end_wiring();
  is_wired_ = true;
  add_listeners();
  supervision.tell(supervision.supervisor().extend(systems.settings.common.start_timeout));
  const auto is_interrupted = [&] {
    if (!supervision.is_stop_asked()) return false;
    systems.background.interrupt();
    return true;
  };
  KEEL_TRY_VOID(systems.lifecycle.start(is_interrupted));
  const Instant checking = Host::current().now();
  systems.checkup.start();
  systems.service.check_limits(systems.messages.connections_max());
  systems.clients.warn_of_unknown();
  systems.message_pools.warn_of_unknown();
  systems.start.complete(checking);
  health_.start_complete();
  return {};
}

// Modules that listen are started last, after the module that looks for an already running process.
void App::add_listeners() {
  Systems& systems = *systems_;
  systems.succession.add_module();
  if (systems.settings.monitoring.enabled) {
    telemetry::AdminPages& pages = systems.admin.pages();
    systems.exporter.add_pages(pages);
    systems.checkup.add_pages(pages);
    systems.start.add_pages(pages);
    systems.reloads.add_pages(pages);
    systems.workers.add_pages(pages);
    systems.background.add_pages(pages);
    systems.service.add_pages(pages);
    systems.messages.add_pages(pages);
    systems.message_pools.add_pages(pages);
    if (systems.services != nullptr) systems.services->add_pages(pages);
    for (telemetry::AdminPage& page : systems.own_pages) pages.add(std::move(page));
    if (auto added = systems.admin.add_module(); !added) refuse(added.error());
  }
  systems.background.add_module();
  systems.certificates.add_module();
  systems.messages.add_module();
  systems.service.add_module();
}

// All modules serve now, so the predecessor may end, and a successor may connect.
void App::relieve_predecessor() {
  Systems& systems = *systems_;
  if (systems.succession.has_predecessor()) {
    if (auto started = systems.admin.succeed(); !started) fail_start(started.error());
  }
  systems.succession.relieve();
  std::vector<internal::Succession::Shared> servers;
  systems.service.share(servers);
  systems.messages.share(servers);
  systems.admin.share(servers);
  systems.succession.publish(servers);
}

// Waits for the signal that ends the service.
Signal App::serve_until_signal() {
  Systems& systems = *systems_;
  internal::Supervision& supervision = *supervision_;
  supervision.watch(systems.workers.runtime());
  const http::Server* const server = systems.service.server();
  const std::string where = server != nullptr ? "serving on " + server->address().to_string() : std::string("running");
  supervision.tell(supervision.supervisor().ready(where));
  while (true) {
    const Signal signal = supervision.wait();
    if (signal == Signal::Report) {
      systems.workers.report();
    } else if (signal == Signal::Reload) {
      supervision.tell(supervision.supervisor().reloading());
      systems.reloads.reload(systems.logging, systems.checkup, systems.workers.runtime());
      systems.certificates.reload();
      supervision.tell(supervision.supervisor().ready(where));
    } else {
      return signal;
    }
  }
}

int App::drain() {
  Systems& systems = *systems_;
  internal::Supervision& supervision = *supervision_;
  const Handover::State handed = systems.succession.end();
  const bool is_taken = handed == Handover::State::Taken;
  if (is_taken) {
    log_.info("a successor has taken over",
              log::field("process", static_cast<std::int64_t>(systems.succession.successor())));
  }
  // A signal that arrives at the same moment as the message of a ready successor does not count as a second signal.
  supervision.begin_stop(/*forget=*/is_taken);
  const HttpSettings& http = settings().network.http;
  const Duration most = http.drain_timeout + systems.messages.drain_timeout() + systems.settings.common.stop_timeout;
  if (is_taken) {
    supervision.tell(supervision.supervisor().main_pid(systems.succession.successor()));
  } else {
    supervision.tell(supervision.supervisor().stopping("draining"));
    supervision.tell(supervision.supervisor().extend(http.drain_delay + most + 5_s));
  }
  // Readiness fails, so that load balancers send no requests; not if a successor serves the same address.
  if (handed != Handover::State::Kept) {
    systems.admin.begin_drain();
  } else {
    health_.drain("draining");
    const Instant close_at = Host::current().now() + http.drain_delay;
    for (Duration left = http.drain_delay; left > Duration(); left = close_at - Host::current().now()) {
      Host::current().sleep(std::min(left, Duration(50_ms)));
      supervision.beat();
    }
  }
  const int code = stop_modules(most);
  return systems.service.is_drained() ? code : EXIT_FAILURE;
}

void App::stop(Stop how) {
  Systems& systems = *systems_;
  if (how == Stop::Abrupt) {
    systems.service.stop();
    systems.admin.stop();
  }
  health_.drain("draining");
  stop_modules(settings().network.http.drain_timeout + systems.messages.drain_timeout() +
               systems.settings.common.stop_timeout);
}

const http::Server* App::server() const noexcept { return systems_->service.server(); }
const http::Server* App::admin() const noexcept { return systems_->admin.server(); }

// The exit code.
int App::stop_modules(Duration deadline) {
  Systems& systems = *systems_;
  if (systems.is_stopped) return 0;
  const StopReport report = systems.lifecycle.stop(deadline, [this] { supervision_->beat(); });
  systems.is_stopped = true;
  if (!systems.service.is_drained()) log_.warn("requests were aborted at the drain deadline");
  report.log(log_);
  for (const StopReport::Part& part : report.parts) {
    if (!part.is_stuck) continue;
    std::fprintf(stderr,
                 "%s: module \"%s\" was still stopping after %.1f s; the process exits without waiting for it\n",
                 program_.name.c_str(), part.name.c_str(), part.took.count_seconds());
  }
  log_.info("stopped", log::field("took", report.took));
  if (report.is_complete()) return 0;
  // Ends the process without running destructors, because modules that hang may use any object.
  systems.logging.flush();
  std::fflush(stderr);
  _exit(EXIT_FAILURE);
}

}  // namespace keel::app
