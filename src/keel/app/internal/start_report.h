// keel/app/internal/start_report.h — the phases of the start of an App, for logs, metrics and people.
//
// Threads: the main thread; the page is served on any thread.

#pragma once

#include <atomic>
#include <cstdint>

#include "keel/app/internal/registrar.h"
#include "keel/base/time.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class StartReport {
 public:
  StartReport(const Registrar& registrar, Instant began) : registrar_(registrar), began_(began) {}
  StartReport(const StartReport&) = delete;
  StartReport& operator=(const StartReport&) = delete;

  // Records the phase "configuration", which precedes the App's constructor, and "signals", the first phase of the
  // constructor.
  void begin();
  // Call begin_wiring() at the end of the App's constructor. The call ends the phase "bootstrap", and begins the phase
  // "wiring", which is the application's own part of main().
  void begin_wiring();
  void end_wiring();
  // Call this function when the start is complete; the last phase is "health", which began at `checking`. All phases
  // are logged, exposed as app_start_seconds, and printed if common.start_report is set.
  void complete(Instant checking);
  // The time between the construction and complete().
  Duration took() const noexcept { return Instant::from_ns(ready_ns_) - began_; }
  // /admin/start.
  void add_pages(telemetry::AdminPages& pages);

 private:
  Instant end() const noexcept;

  const Registrar& registrar_;
  Instant began_;
  Instant bootstrap_began_ = began_;
  Instant wiring_began_;
  std::atomic<std::int64_t> ready_ns_ = 0;  // 0: not yet.
};

}  // namespace keel::app::internal
