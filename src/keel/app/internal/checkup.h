// keel/app/internal/checkup.h — starts the health checks of an App once everything has started, and adds the pages that
// show its health.
//
// Threads: the main thread.

#pragma once

#include "keel/app/health.h"
#include "keel/app/internal/registrar.h"
#include "keel/app/internal/storage.h"
#include "keel/app/internal/workers.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class Checkup {
 public:
  Checkup(const Registrar& registrar, Workers& workers, const Storage& storage)
      : registrar_(registrar), workers_(workers), storage_(storage) {}

  // Starts the checks and waits for the first results, so that the service does not report that it is ready before
  // these results are known. No checks are started if monitoring.enabled is false.
  void start();
  // Applies a changed configuration: the check of the disks uses the folders and the limit of the new settings from
  // then on.
  void update();
  // Adds the pages /healthz, /readyz and /startupz.
  void add_pages(telemetry::AdminPages& pages);

 private:
  void watch_disks();

  const Registrar& registrar_;
  Workers& workers_;
  const Storage& storage_;
  Health::Check disks_;
};

}  // namespace keel::app::internal
