// keel/app/internal/admin_server.h — the listener of an App for operators: the module "admin".
//
// Threads: made and destroyed on the main thread; pages as telemetry/admin_pages.h says.

#pragma once

#include <memory>

#include "keel/app/internal/registrar.h"
#include "keel/app/internal/succession.h"
#include "keel/app/internal/workers.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class AdminServer {
 public:
  AdminServer(const Registrar& registrar, Workers& workers, Succession& succession)
      : registrar_(registrar), workers_(workers), succession_(succession) {}
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // What it will show; pages are added before add_module().
  telemetry::AdminPages& pages() noexcept { return pages_; }
  // Adds the module. Errors: monitoring.metrics.export_address is none.
  Result<> add_module();
  // Null before add_module().
  http::Server* server() noexcept { return server_.get(); }
  bool is_kept() const noexcept { return is_kept_; }

  // Listens in the predecessor's place, which it has left to the predecessor until everything serves.
  Result<> succeed();

 private:
  Result<> start(const Succession::Inherited& inherited);

  const Registrar& registrar_;
  Workers& workers_;
  Succession& succession_;
  telemetry::AdminPages pages_;
  http::Router router_;
  std::unique_ptr<http::Server> server_;
  bool is_kept_ = false;
};

}  // namespace keel::app::internal
