// Metrics as text and a log in a program without an App.

#include <cstdio>

#include "keel/observe/log.h"
#include "keel/telemetry/log_writer.h"
#include "keel/telemetry/prometheus.h"

using namespace keel;

int main() {
  auto logs = telemetry::LogWriter::make({.sinks = {}, .mode = telemetry::LogWriterOptions::Mode::Manual});
  if (!logs) return 1;
  log::Logger("telemetry").info("begun");
  (*logs)->flush();

  metrics::Registry registry;
  registry.counter("jobs_total", "Jobs that were run").add();
  Buffer text;
  telemetry::Prometheus(registry).render(text);
  std::printf("%.*s", static_cast<int>(text.view().size()), text.view().data());
  return text.view().find("\njobs_total 1\n") != std::string_view::npos ? 0 : 1;
}
