#include "keel/app/internal/exporter.h"

#include <utility>

#include "keel/config/version.h"
#include "keel/exec/call.h"

namespace keel::app::internal {

Exporter::Exporter(const Registrar& registrar, Logging& logging, Workers& workers)
    : registrar_(registrar), workers_(workers) {
  if (!registrar.settings.monitoring.enabled) return;
  registrar.add({.name = "monitoring", .needs = {"logs"}, .start = [this, &registrar, &logging]() -> Result<> {
                   process_ = std::make_unique<telemetry::ProcessMetrics>(registrar.metrics);
                   logging.writer()->expose(registrar.metrics);
                   const Program& program = registrar.program;
                   registrar.metrics
                       .gauge("keel_build_info",
                              "Always 1; the labels name the version of Keel and the compiler that "
                              "built it",
                              {{"version", keel_version()}, {"compiler", keel_compiler()}})
                       .set(1);
                   registrar.metrics
                       .gauge("app_build_info", "Always 1; the labels name the application and its version",
                              {{"name", program.name}, {"version", program.version}})
                       .set(1);
                   prometheus_ = std::make_unique<telemetry::Prometheus>(registrar.metrics);
                   return {};
                 }});
}

// Samples the metrics that each worker measures about itself. The worker that runs this function samples immediately.
// The other workers are only asked to sample, because this function cannot wait for them; so a scrape shows the values
// that those workers sampled at the previous scrape.
void Exporter::sample() {
  registrar_.metrics.sample();
  io::Runtime& runtime = workers_.runtime();
  for (int i = 0; i < runtime.workers(); ++i) {
    io::Loop& loop = runtime.loop(i);
    if (&loop == io::Loop::current()) continue;
    static_cast<void>(execute(loop, [&metrics = registrar_.metrics] { metrics.sample(); }));
  }
}

void Exporter::add_pages(telemetry::AdminPages& pages) {
  pages.add("/metrics", [this](http::Request& request) {
    using telemetry::Prometheus;
    const auto format = Prometheus::format_for(request.header(http::Known::Accept).value_or(""));
    sample();
    Buffer body;
    prometheus_->render(body, format);
    return http::Response::body(http::Status::Ok, std::move(body), Prometheus::content_type(format));
  });
}

}  // namespace keel::app::internal
