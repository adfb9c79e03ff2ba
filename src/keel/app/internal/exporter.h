// keel/app/internal/exporter.h — the metrics of an App as its admin listener shows them: the module "monitoring".
//
// Threads: make and destroy the Exporter on the main thread.

#pragma once

#include <memory>

#include "keel/app/internal/logging.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/workers.h"
#include "keel/telemetry/admin_pages.h"
#include "keel/telemetry/process.h"
#include "keel/telemetry/prometheus.h"

namespace keel::app::internal {

class Exporter {
 public:
  // The module is not added if monitoring.enabled is false.
  Exporter(const Registrar& registrar, Logging& logging, Workers& workers);
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // /metrics.
  void add_pages(telemetry::AdminPages& pages);

 private:
  void sample();

  const Registrar& registrar_;
  Workers& workers_;
  std::unique_ptr<telemetry::ProcessMetrics> process_;
  std::unique_ptr<telemetry::Prometheus> prometheus_;
};

}  // namespace keel::app::internal
