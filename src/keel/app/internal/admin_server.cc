#include "keel/app/internal/admin_server.h"

#include <string>
#include <utility>
#include <vector>

namespace keel::app::internal {

Result<> AdminServer::add_module() {
  const MetricsSettings& from = registrar_.settings.monitoring.metrics;
  auto address = Address::ip(from.export_address, from.export_port);
  if (!address) return std::move(address).error().because("monitoring.metrics.export_address");
  pages_.mount(router_);
  http::ServerOptions options;
  options.address = *address;
  options.name = "admin";
  options.access_log = false;
  options.limits.connections_max = 64;
  options.metrics = &registrar_.metrics;
  server_ = std::make_unique<http::Server>(router_, std::move(options));
  std::vector<std::string> needs = {"workers", "monitoring"};
  if (succession_.has_module()) needs.push_back("handover");
  registrar_.add({.name = "admin",
                  .needs = std::move(needs),
                  .start = [this, at = *address]() -> Result<> {
                    const auto inherited = succession_.find("admin", at);
                    is_kept_ = inherited.is_kept;
                    // A client that asks there about health is told of the predecessor's until ours is known.
                    if (succession_.has_predecessor() && !inherited.sockets.empty()) return {};
                    return start(inherited);
                  },
                  .stop = [this] { server_->stop(); }});
  return {};
}

Result<> AdminServer::succeed() {
  if (server_ == nullptr) return {};
  const auto inherited = succession_.find("admin", server_->address());
  is_kept_ = inherited.is_kept;
  return inherited.sockets.empty() ? Result<>() : start(inherited);
}

Result<> AdminServer::start(const Succession::Inherited& inherited) {
  return server_->start(workers_.runtime(), 0, inherited.sockets).because("admin listener (monitoring.metrics)");
}

}  // namespace keel::app::internal
