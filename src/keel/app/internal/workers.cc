#include "keel/app/internal/workers.h"

#include "keel/app/checks.h"
#include "keel/app/internal/options.h"
#include "keel/base/host.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/log.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric_cells.h"
#include "keel/telemetry/recorder.h"

namespace keel::app::internal {

namespace {

// Creates the thread-local objects of a worker's thread, which live as long as the thread.
void equip(io::Loop& loop) {
  thread_local std::optional<log::Ring> ring;
  thread_local std::optional<metrics::ThreadCells> cells;
  thread_local std::optional<FlightRecorder> recorder;
  ring.emplace();
  cells.emplace();
  recorder.emplace(loop.index());
}

}  // namespace

Workers::Workers(const Registrar& registrar) : registrar_(registrar) {
  registrar.add({.name = "workers",
                 .start = [this] { return start(); },
                 .stop =
                     [this] {
                       checks_.clear();
                       runtime_->stop();
                     }});
  const Duration stall = registrar.settings.monitoring.stall;
  if (stall == Duration() || registrar.platform.is_simulated()) return;
  registrar.add({.name = "stall watch",
                 .needs = {"logs", "workers"},
                 .start = [this, stall]() -> Result<> {
                   stalls_ = std::make_unique<StallLog>(*runtime_, stall, registrar_.metrics);
                   return {};
                 },
                 .stop = [this] { stalls_.reset(); }});
}

Result<> Workers::start() {
  if (registrar_.platform.is_simulated()) {
    runtime_ = registrar_.platform.loops();
  } else {
    KEEL_TRY(runtime_, io::Runtime::make(runtime_options(registrar_.settings)));
    KEEL_TRY_VOID(runtime_->start());
    runtime_->each(&equip);
  }
  tasks_.emplace(*runtime_, !registrar_.platform.is_simulated());
  checks_ = check_workers(registrar_.health, *runtime_, registrar_.settings.monitoring.health.worker_timeout);
  return {};
}

void Workers::report() {
  static const log::Logger log("app");
  if (stalls_ != nullptr) {
    stalls_->report_all();
  } else {
    log.warn("the stacks of workers are not recorded: monitoring.stall_ms is 0");
  }
  tasks_->log();
}

void Workers::add_pages(telemetry::AdminPages& pages) {
  pages.add(
      {.path = "/admin/recorder", .json = [](Buffer& out) { telemetry::write_recorders(out, Host::system().now()); }});
  pages.add({.path = "/admin/tasks",
             .json = [this](Buffer& out) { tasks_->write_json(out); },
             .text = [this](Buffer& out) { tasks_->write_text(out); },
             .waits = !registrar_.platform.is_simulated()});
}

}  // namespace keel::app::internal
