#include "keel/app/internal/start_report.h"

#include <cstdio>
#include <string_view>
#include <vector>

#include "keel/base/host.h"
#include "keel/observe/log.h"

namespace keel::app::internal {

void StartReport::begin() {
  registrar_.lifecycle.record("signals", began_, Host::current().now() - began_);
  const config::Origins& origins = registrar_.config.origins();
  if (origins.loading_took() == Duration()) return;
  registrar_.lifecycle.record("configuration", origins.loading_began(), origins.loading_took());
  began_ = origins.loading_began();
}

void StartReport::begin_wiring() {
  wiring_began_ = Host::current().now();
  registrar_.lifecycle.record("bootstrap", bootstrap_began_, wiring_began_ - bootstrap_began_);
}

void StartReport::end_wiring() {
  registrar_.lifecycle.record("wiring", wiring_began_, Host::current().now() - wiring_began_);
}

void StartReport::complete(Instant checking) {
  static const log::Logger log("app");
  const Instant end = Host::current().now();
  registrar_.lifecycle.record("health", checking, end - checking);
  ready_ns_ = end.ns();
  const std::vector<Phase> phases = registrar_.lifecycle.phases();
  const Settings& settings = registrar_.settings;
  const auto expose = [&](std::string_view phase, Duration took) {
    if (!settings.monitoring.enabled) return;
    registrar_.metrics.gauge("app_start_seconds", "Duration of a startup phase", {{"phase", phase}})
        .set(took.count_seconds());
  };
  for (const Phase& phase : phases) {
    expose(phase.name, phase.took);
    log.debug("start phase", log::field("phase", phase.name), log::field("at", phase.began - began_),
              log::field("took", phase.took), log::field("thread", phase.thread), log::field("waited", phase.waited),
              log::field("waited_for", phase.waited_for));
  }
  expose("total", end - began_);
  if (settings.common.start_report) {
    std::fputs(phase_table(registrar_.program.title(), phases, began_, end).c_str(), stdout);
  }
}

Instant StartReport::end() const noexcept {
  const std::int64_t ready = ready_ns_;
  return ready != 0 ? Instant::from_ns(ready) : Host::current().now();
}

void StartReport::add_pages(telemetry::AdminPages& pages) {
  pages.add(
      {.path = "/admin/start",
       .json =
           [this](Buffer& out) { write_phases(out, registrar_.program, registrar_.lifecycle.phases(), began_, end()); },
       .text =
           [this](Buffer& out) {
             out.append(phase_table(registrar_.program.title(), registrar_.lifecycle.phases(), began_, end()));
           }});
}

}  // namespace keel::app::internal
