// keel/app/internal/reloads.h — reloads the configuration, and reports the result.
//
// Threads: the main thread; the page is served on any thread.

#pragma once

#include "keel/app/internal/checkup.h"
#include "keel/app/internal/logging.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/rounds.h"
#include "keel/observe/metric.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class Reloads {
 public:
  explicit Reloads(const Registrar& registrar);

  // Loads the configuration and applies it, logs each difference or each mistake, and reopens log files by their path.
  // Secrets that were replaced are overwritten in memory later, after every worker of `runtime` has reached its event
  // loop once.
  void reload(Logging& logging, Checkup& checkup, io::Runtime& runtime);
  // /admin/config.
  void add_pages(telemetry::AdminPages& pages);

 private:
  void count(bool is_good);

  const Registrar& registrar_;
  Rounds rounds_;
  metrics::Counter good_, bad_;
  metrics::Gauge last_good_, last_good_at_;
};

}  // namespace keel::app::internal
