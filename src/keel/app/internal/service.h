// keel/app/internal/service.h — the HTTP server of an App's own router: the module "http".
//
// Threads: made, given its router and destroyed on the main thread.

#pragma once

#include <cstdint>
#include <memory>

#include "keel/app/internal/registrar.h"
#include "keel/app/internal/succession.h"
#include "keel/app/internal/workers.h"
#include "keel/http/server/server.h"
#include "keel/telemetry/admin_pages.h"

namespace keel::app::internal {

class Service {
 public:
  Service(const Registrar& registrar, Workers& workers, Succession& succession);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // There is a server from here on. Errors: network.http.address is none.
  Result<> serve(const http::Router& router);
  // Null without serve().
  http::Server* server() noexcept { return server_.get(); }

  // Adds the module: the last to start, for what it accepts is lost when another cannot start, and the first to stop.
  void add_module();
  // Logs what the settings ask for and the system does not give.
  void check_limits();
  // Where the sockets came from, for a successor.
  bool is_kept() const noexcept { return is_kept_; }
  // False when requests were cut off at network.http.drain_timeout.
  bool is_drained() const noexcept { return is_drained_; }
  // /admin/stages, with a server.
  void add_pages(telemetry::AdminPages& pages);

 private:
  const Registrar& registrar_;
  Workers& workers_;
  Succession& succession_;
  const std::uint64_t descriptors_max_;
  std::unique_ptr<http::Server> server_;
  bool is_kept_ = false;
  bool is_drained_ = true;
  config::Applier applier_;
};

}  // namespace keel::app::internal
