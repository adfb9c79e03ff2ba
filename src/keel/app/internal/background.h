// keel/app/internal/background.h — the background work of an App: the module "background", on the first worker.
//
// Threads: make and destroy the Background on the main thread, and call interrupt() on the main thread.

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
  // Adds the module if there is work: this module needs all modules that were added before it, and the service needs
  // this module. So at_start work ends before the service listens, and all work ends after the last request and before
  // the modules that the work uses are stopped.
  void add_module();
  // Asks the work to stop, so that the start does not wait for at_start work.
  void interrupt();
  // /admin/background.
  void add_pages(telemetry::AdminPages& pages);

 private:
  Result<> start();
  void stop();

  const Registrar& registrar_;
  Workers& workers_;
  BackgroundWork work_;
  std::atomic<bool> has_begun_ = false;  // Whether the module has begun to start; if it has, the workers exist.
};

}  // namespace keel::app::internal
