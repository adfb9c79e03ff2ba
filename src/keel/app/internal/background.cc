#include "keel/app/internal/background.h"

#include <fmt/core.h>

#include "keel/app/internal/on_worker.h"
#include "keel/data/json_writer.h"
#include "keel/data/timestamp.h"
#include "keel/exec/call.h"
#include "keel/observe/log.h"
#include "keel/task/timing.h"

namespace keel::app::internal {
namespace {

const log::Logger& background_logger() {
  static const log::Logger log("app.background");
  return log;
}

Task<> start_within(BackgroundWork& work, Duration limit) { co_await with_timeout(limit, work.start()); }

// Halfway through the time limit, logs the names of the work that is still running, because this work may be aborted.
Task<> stop_all(BackgroundWork& work, Duration time) {
  const Result<> stopped = co_await attempt(with_timeout(time / 2, work.stop()));
  if (stopped) co_return;
  background_logger().warn("background work has not stopped yet", log::field("work", work.running()),
                           log::field("waited", time / 2));
  co_await work.stop();
}

void write_json(Buffer& out, const std::vector<WorkStatus>& all) {
  json::Writer json(out);
  json.begin_object().key("work").begin_array();
  for (const WorkStatus& work : all) {
    json.begin_object().key("name").string(work.name).key("kind").string(to_string(work.kind));
    json.key("state").string(to_string(work.state));
    if (work.kind == WorkStatus::Kind::Every) json.key("period_seconds").number(work.period.count_seconds());
    if (work.kind == WorkStatus::Kind::Daily) {
      json.key("time_of_day").string((Timestamp() + work.time_of_day).text().view().substr(11));
    }
    json.key("runs").unsigned_integer(work.runs).key("failures").unsigned_integer(work.failures);
    json.key("skipped").unsigned_integer(work.skipped).key("last_seconds").number(work.last_took.count_seconds());
    json.key("last_success_unix_ms").integer(work.last_success_wall_ns / 1'000'000);
    json.key("last_error").string(work.last_error).end_object();
  }
  json.end_array().end_object();
}

void write_text(Buffer& out, const std::vector<WorkStatus>& all) {
  out.append(fmt::format("{:<24} {:<10} {:<9} {:>9} {:>9} {:>9} {:>10}  {}\n", "work", "kind", "state", "runs",
                         "failures", "skipped", "last s", "last error"));
  for (const WorkStatus& work : all) {
    out.append(fmt::format("{:<24} {:<10} {:<9} {:>9} {:>9} {:>9} {:>10.3f}  {}\n", work.name, to_string(work.kind),
                           to_string(work.state), work.runs, work.failures, work.skipped,
                           work.last_took.count_seconds(), work.last_error));
  }
}

}  // namespace

void Background::add_module() {
  if (work_.empty()) return;
  std::vector<std::string> needs = registrar_.lifecycle.wanted();
  registrar_.add({.name = "background",
                  .needs = std::move(needs),
                  .start = [this] { return start(); },
                  .stop = [this] { stop(); }});
}

Result<> Background::start() {
  has_begun_ = true;
  const Duration limit = registrar_.settings.common.start_timeout;
  Result<> started = run_on_first(workers_.runtime(), [&] { return start_within(work_, limit); });
  if (!started) stop();
  return started;
}

void Background::stop() {
  const Duration time = registrar_.settings.common.stop_timeout;
  // The wait fails only when it is cancelled, and nothing cancels it.
  (void)run_on_first(workers_.runtime(), [&] { return stop_all(work_, time); });
}

void Background::interrupt() {
  if (!has_begun_) return;
  (void)execute(workers_.runtime().loop(0), [this] { work_.request_stop(); });
}

void Background::add_pages(telemetry::AdminPages& pages) {
  if (work_.empty()) return;
  pages.add({.path = "/admin/background",
             .json = [this](Buffer& out) { write_json(out, work_.status()); },
             .text = [this](Buffer& out) { write_text(out, work_.status()); }});
}

}  // namespace keel::app::internal
