#include "keel/app/internal/reloads.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "keel/app/internal/options.h"
#include "keel/base/host.h"
#include "keel/observe/log.h"

namespace keel::app::internal {
namespace {

const log::Logger& reloads_logger() {
  static const log::Logger log("app");
  return log;
}

double seconds_now() { return static_cast<double>(Host::system().wall_ns()) * 1e-9; }

void log_change(const config::Change& change) {
  if (change.is_applied) {
    reloads_logger().info("setting changed", log::field("key", change.path), log::field("before", change.before),
                          log::field("now", change.after), log::field("origin", change.origin));
  } else {
    reloads_logger().warn("a changed setting needs a restart", log::field("key", change.path),
                          log::field("now", change.before), log::field("after_restart", change.after),
                          log::field("origin", change.origin));
  }
}

// Logs a line for each problem.
void log_problems(const std::string& problems) {
  for (std::size_t begin = 0; begin <= problems.size();) {
    const std::size_t end = std::min(problems.find('\n', begin), problems.size());
    reloads_logger().error("the configuration was not reloaded; nothing has changed",
                           log::field("problem", std::string_view(problems).substr(begin, end - begin)));
    begin = end + 1;
  }
}

}  // namespace

Reloads::Reloads(const Registrar& registrar)
    : registrar_(registrar),
      good_(registrar.metrics.counter("config_reloads_total", "Reloads of the configuration", {{"result", "ok"}})),
      bad_(registrar.metrics.counter("config_reloads_total", "Reloads of the configuration", {{"result", "failed"}})),
      last_good_(
          registrar.metrics.gauge("config_last_reload_successful",
                                  "Whether the last reload of the configuration succeeded; 1 before the first reload")),
      last_good_at_(registrar.metrics.gauge("config_last_reload_success_timestamp_seconds",
                                            "Time of the last load of the configuration without an error")) {
  last_good_.set(1);
  last_good_at_.set(seconds_now());
}

void Reloads::reload(Logging& logging, Checkup& checkup, io::Runtime& runtime) {
  const Level before = recorded_level(registrar_.now());
  const auto changes =
      registrar_.config.reload([&](Function<void()> overwrite) { rounds_.begin(runtime, std::move(overwrite)); });
  // The lines about a reload are recorded at the more verbose of the old and the new level.
  const Level now = recorded_level(registrar_.now());
  if (now < before) log::set_level(now);
  if (changes) {
    for (const config::Change& change : *changes) log_change(change);
    reloads_logger().info("configuration reloaded", log::field("different", changes->size()));
    if (!changes->empty()) checkup.update();
  } else {
    log_problems(changes.error().describe());
  }
  if (now > before) log::set_level(now);
  if (auto opened = logging.writer()->reopen(); !opened) {
    reloads_logger().error("log files could not be reopened", opened.error());
  }
  count(changes.is_ok());
}

void Reloads::count(bool is_good) {
  (is_good ? good_ : bad_).add();
  last_good_.set(is_good ? 1 : 0);
  if (is_good) last_good_at_.set(seconds_now());
}

void Reloads::add_pages(telemetry::AdminPages& pages) {
  // The page shows what --print-config prints. The page may be read while a reload prepares the next configuration.
  pages.add("/admin/config", [&config = registrar_.config](http::Request&) {
    return http::Response::text(http::Status::Ok, config.describe(), "application/yaml");
  });
}

}  // namespace keel::app::internal
