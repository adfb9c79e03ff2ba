// keel/app/internal/workers.h — the event loops of an App: the modules "workers" and "stall watch".
//
// Threads: make and destroy the Workers on the main thread; call runtime() on any thread once the module "workers"
//          runs.

#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "keel/app/health.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/stall.h"
#include "keel/io/runtime.h"
#include "keel/telemetry/admin_pages.h"
#include "keel/telemetry/live_tasks.h"

namespace keel::app::internal {

class Workers {
 public:
  explicit Workers(const Registrar& registrar);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Call this function only after the module "workers" has started.
  io::Runtime& runtime() noexcept { return *runtime_; }
  // Logs what every worker is executing, and its live tasks.
  void report();
  // /admin/recorder and /admin/tasks.
  void add_pages(telemetry::AdminPages& pages);

 private:
  Result<> start();

  const Registrar& registrar_;
  std::unique_ptr<io::Runtime> runtime_;
  std::optional<telemetry::LiveTasks> tasks_;
  std::unique_ptr<StallLog> stalls_;
  std::vector<Health::Check> checks_;
};

}  // namespace keel::app::internal
