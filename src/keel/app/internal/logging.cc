#include "keel/app/internal/logging.h"

#include <utility>

#include "keel/app/checks.h"
#include "keel/app/internal/options.h"
#include "keel/observe/log.h"
#include "keel/observe/log_ring.h"

namespace keel::app::internal {

Logging::Logging(const Registrar& registrar) : registrar_(registrar) {
  log::set_ring_options(registrar.settings.logging.ring);
  log::set_level(recorded_level(registrar.settings));
  applier_ = registrar.on_reload("logging", [this](const Settings& now) { return apply(now); });
  registrar.add({.name = "logs", .start = [this] { return start(); }});
}

Logging::~Logging() {
  check_ = {};
  if (crash_ != nullptr) crash_->set_logs(nullptr);
}

Result<> Logging::handle_crashes() {
  if (registrar_.platform.is_test) return {};
  const LoggingSettings& settings = registrar_.settings.logging;
  const std::string& file = settings.crash_file;
  KEEL_TRY_VOID(make_folder_of(file).because("logging.crash_file"));
  auto installed =
      CrashHandler::install({.name = registrar_.program.title(), .file = file, .core_memory = settings.core_memory});
  if (!installed) return std::move(installed).error().because("logging.crash_file");
  crash_ = *std::move(installed);
  return {};
}

void Logging::flush() {
  if (writer_ != nullptr) writer_->flush();
}

Result<> Logging::start() {
  telemetry::LogWriterOptions options = log_options(registrar_.settings);
  if (const auto& log = registrar_.platform.log) {
    options.mode = telemetry::LogWriterOptions::Mode::Direct;
    options.sinks.clear();
    telemetry::LogSink& sink = options.sinks.emplace_back();
    sink.to = telemetry::LogSink::To::Function;
    sink.write = [&log](std::string_view lines) { log(lines); };
    sink.format = telemetry::LineFormat::Text;
  } else {
    KEEL_TRY_VOID(make_log_folders(registrar_.settings));
  }
  KEEL_TRY(writer_, telemetry::LogWriter::make(std::move(options)));
  check_ = check_log(registrar_.health, *writer_);
  if (crash_ != nullptr) crash_->set_logs(writer_.get());
  return {};
}

Result<> Logging::apply(const Settings& now) {
  if (registrar_.platform.log) return {};
  KEEL_TRY_VOID(make_log_folders(now));
  return writer_->set_sinks(sinks_of(now)).because("logging.sinks");
}

}  // namespace keel::app::internal
