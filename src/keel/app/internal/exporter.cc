#include "keel/app/internal/exporter.h"

#include <utility>

namespace keel::app::internal {

Exporter::Exporter(const Registrar& registrar, Logging& logging) {
  if (!registrar.settings.monitoring.enabled) return;
  registrar.add({.name = "monitoring", .needs = {"logs"}, .start = [this, &registrar, &logging]() -> Result<> {
                   process_ = std::make_unique<telemetry::ProcessMetrics>(registrar.metrics);
                   logging.writer()->expose(registrar.metrics);
                   prometheus_ = std::make_unique<telemetry::Prometheus>(registrar.metrics);
                   return {};
                 }});
}

void Exporter::add_pages(telemetry::AdminPages& pages) {
  pages.add("/metrics", [this](http::Request& request) {
    using telemetry::Prometheus;
    const auto format = Prometheus::format_for(request.header(http::Known::Accept).value_or(""));
    Buffer body;
    prometheus_->render(body, format);
    return http::Response::body(http::Status::Ok, std::move(body), Prometheus::content_type(format));
  });
}

}  // namespace keel::app::internal
