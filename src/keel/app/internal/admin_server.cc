#include "keel/app/internal/admin_server.h"

#include <utility>

namespace keel::app::internal {
namespace {

// Clients of this listener send a small request head immediately, and read a small response. Other connections are
// closed soon, to make room for the next probe.
http::Limits limits_of_probes() {
  http::Limits limits;
  limits.connections_max = 64;
  limits.body_bytes_max = 0;
  limits.header_timeout = 1_s;
  limits.send_timeout = 5_s;
  limits.linger_timeout = 1_s;
  limits.linger_time_max = 2_s;
  return limits;
}

}  // namespace

Result<> AdminServer::make(Part& part, Result<Address> address, telemetry::AdminPages::Which pages,
                           TransportLayers* https) {
  if (!address) return std::move(address).error().because(part.section);
  part.address = *address;
  addresses_.add(part.name, part.address, part.section, part.keys);
  part.router.use(guard_);
  pages_.mount(part.router, pages);
  http::ServerOptions options;
  options.address = *address;
  options.name = part.name;
  options.access_log = false;
  options.limits = limits_of_probes();
  options.metrics = &registrar_.metrics;
  options.https = https;
  part.server = std::make_unique<http::Server>(part.router, std::move(options));
  return {};
}

Result<> AdminServer::add_module() {
  const MonitoringSettings& from = registrar_.settings.monitoring;
  if (from.metrics.https || from.probes.https) {
    KEEL_TRY_VOID(certificates_.load(registrar_.settings.network.https).because("network.https"));
  }
  const auto layers = [this](bool is_secure, Certificates::Listener of) {
    return is_secure ? &certificates_.layers(of) : nullptr;
  };
  KEEL_TRY_VOID(make(all_, from.metrics.listen_address(), telemetry::AdminPages::Which::All,
                     layers(from.metrics.https, Certificates::Admin)));
  if (!from.probes.address.empty()) {
    KEEL_TRY_VOID(make(probes_, from.probes.listen_address(), telemetry::AdminPages::Which::ForProbes,
                       layers(from.probes.https, Certificates::Probes)));
  }
  std::vector<std::string> needs = {"workers", "monitoring"};
  if (succession_.has_module()) needs.push_back("handover");
  registrar_.add(
      {.name = "admin",
       .needs = std::move(needs),
       .start = [this]() -> Result<> {
         Result<> result;
         each([&](Part& part) {
           const auto inherited = succession_.find(part.name, part.address);
           part.is_kept = inherited.is_kept;
           // The predecessor continues to respond to health probes until the first health checks of this process
           // finish.
           if (succession_.has_predecessor() && !inherited.sockets.empty()) return;
           if (result) result = start(part, inherited);
         });
         return result;
       },
       .stop =
           [this] {
             each([this](Part& part) { part.server->drain(Duration(), succession_.after_stop(part.is_kept)); });
           }});
  return {};
}

Result<> AdminServer::succeed() {
  Result<> result;
  each([&](Part& part) {
    const auto inherited = succession_.find(part.name, part.server->address());
    part.is_kept = inherited.is_kept;
    if (result && !inherited.sockets.empty()) result = start(part, inherited);
  });
  return result;
}

void AdminServer::share(std::vector<Succession::Shared>& servers) {
  each([&](Part& part) {
    servers.push_back({part.name, [&part] { return part.server->duplicate_listeners(); }, part.is_kept});
  });
}

void AdminServer::begin_drain() {
  each([](Part& part) { part.server->begin_drain(1_s, http::Listening::GoesOn); });
}

void AdminServer::stop() {
  each([](Part& part) { part.server->stop(); });
}

Result<> AdminServer::start(Part& part, const Succession::Inherited& inherited) {
  return addresses_.report(part.name, part.server->start(workers_.runtime(), 0, inherited.sockets));
}

}  // namespace keel::app::internal
