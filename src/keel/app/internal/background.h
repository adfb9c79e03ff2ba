// keel/app/internal/background.h — the background work of an App: the module "background", on the first worker.
//
// Threads: made and destroyed on the main thread, which also calls interrupt().

#pragma once

#include <atomic>

#include "keel/app/background_work.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/workers.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class Background {
 public:
  Background(const Registrar& registrar, Workers& workers)
      : registrar_(registrar), workers_(workers), work_(&registrar.metrics) {}
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  BackgroundWork& work() noexcept { return work_; }
  // Adds the module if there is work: it needs all modules that were added before, and the service needs it. So
  // at_start ends before the service listens, and all work ends after the last request and before the modules that it
  // uses are stopped.
  void add_module();
  // Stops waiting for the start.
  void interrupt();
  // /admin/background.
  void add_pages(telemetry::AdminPages& pages);

 private:
  Result<> start();
  void stop();

  const Registrar& registrar_;
  Workers& workers_;
  BackgroundWork work_;
  std::atomic<bool> has_begun_ = false;  // The module has begun to start, so the workers exist.
};

}  // namespace keel::app::internal
