// keel/app/internal/logging.h — the log of an App and its reports of crashes: the module "logs".
//
// Threads: make and destroy the Logging on the main thread; call writer() and flush() on any thread once the module
//          runs.

#pragma once

#include <memory>

#include "keel/app/crash.h"
#include "keel/app/health.h"
#include "keel/app/internal/registrar.h"
#include "keel/telemetry/log_writer.h"

namespace keel::app::internal {

class Logging {
 public:
  // Sets the properties of the log rings that are created from now on, and the level from which lines are recorded.
  explicit Logging(const Registrar& registrar);
  ~Logging();
  Logging(const Logging&) = delete;
  Logging& operator=(const Logging&) = delete;

  // From this call on, crashes are reported. Errors: logging.crash_file cannot be opened.
  Result<> handle_crashes();
  // Null before the module has started.
  telemetry::LogWriter* writer() noexcept { return writer_.get(); }
  // Writes everything that was recorded before this call; does nothing before the module has started.
  void flush();

 private:
  Result<> start();
  Result<> apply(const Settings& now);

  const Registrar& registrar_;
  std::unique_ptr<CrashHandler> crash_;
  std::unique_ptr<telemetry::LogWriter> writer_;
  Health::Check check_;
  config::Applier applier_;
};

}  // namespace keel::app::internal
