#include "keel/app/internal/service.h"

#include <utility>

#include "keel/app/internal/options.h"
#include "keel/observe/log.h"
#include "keel/telemetry/process.h"
#include "keel/telemetry/stage_times.h"

namespace keel::app::internal {

Service::Service(const Registrar& registrar, Workers& workers, Succession& succession)
    : registrar_(registrar),
      workers_(workers),
      succession_(succession),
      descriptors_max_(telemetry::raise_descriptor_limit()),
      applier_(registrar.on_reload("network", [this](const Settings& now) -> Result<> {
        if (server_ != nullptr) server_->change(limits_of(now.network), now.network.http.server.access_log);
        return {};
      })) {}

Result<> Service::serve(const http::Router& router) {
  const Settings& settings = registrar_.settings;
  auto address = settings.network.http.listen_address();
  if (!address) return std::move(address).error().because("network.http.address");
  http::ServerOptions options = server_options(settings, *address);
  if (settings.monitoring.enabled) options.metrics = &registrar_.metrics;
  server_ = std::make_unique<http::Server>(router, std::move(options));
  return {};
}

void Service::add_module() {
  if (server_ == nullptr) return;
  registrar_.add({.name = "http",
                  .needs = registrar_.lifecycle.wanted(),
                  .start =
                      [this] {
                        const auto inherited = succession_.find("http", server_->address());
                        is_kept_ = inherited.is_kept;
                        return server_->start(workers_.runtime(), inherited.sockets);
                      },
                  .stop =
                      [this] {
                        is_drained_ = server_->drain(registrar_.now().network.http.drain_timeout,
                                                     succession_.after_stop(is_kept_));
                      }});
}

void Service::check_limits() {
  if (server_ == nullptr) return;
  static const log::Logger log("app");
  const http::Limits& limits = registrar_.settings.network.http.server.limits;
  const std::uint64_t workers = static_cast<std::uint64_t>(workers_.runtime().workers());
  // A worker's engine, listener and database connection; files, admin and what the application opens.
  const std::uint64_t others = 128 + 16 * workers;
  if (descriptors_max_ < limits.connections_max + others) {
    log.warn("there are fewer descriptors than network.http.max_connections needs: accepting will pause without them",
             log::field("limit", descriptors_max_), log::field("max_connections", limits.connections_max),
             log::field("others", others), log::field("remedy", "raise RLIMIT_NOFILE or lower max_connections"));
  }
  if (limits.bodies_bytes_max / workers < limits.body_bytes_max) {
    log.warn("a worker's share of network.http.max_body_memory is below network.http.max_body: such bodies get 503",
             log::field("share", limits.bodies_bytes_max / workers), log::field("max_body", limits.body_bytes_max));
  }
}

void Service::add_pages(telemetry::AdminPages& pages) {
  if (server_ == nullptr) return;
  pages.add({.path = "/admin/stages",
             .json = [this](Buffer& out) { telemetry::write_stage_times_json(out, server_->stage_times()); },
             .text = [this](Buffer& out) { telemetry::write_stage_times_text(out, server_->stage_times()); }});
}

}  // namespace keel::app::internal
