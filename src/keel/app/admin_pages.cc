#include "keel/app/admin_pages.h"

#include <string_view>
#include <vector>

#include "keel/app/recorder.h"
#include "keel/app/stage_times.h"
#include "keel/task/resume_on.h"

namespace keel::app {
namespace {

bool wants_text(http::Request& request) {
  const auto format = request.query_param<std::string_view>("format");
  return format && *format == "text";
}

// `body` is a text for people, or JSON.
http::Response page(Buffer body, bool is_text, http::Status status = http::Status::Ok) {
  return http::Response::body(status, std::move(body), is_text ? "text/plain; charset=utf-8" : "application/json")
      .header("Cache-Control", "no-store");
}

http::Response verdict(bool is_good, Buffer body) {
  return page(std::move(body), false, is_good ? http::Status::Ok : http::Status::ServiceUnavailable);
}

}  // namespace

void AdminPages::mount(http::Router& router) {
  router.get("/metrics", *this, &AdminPages::metrics);
  router.get("/healthz", *this, &AdminPages::healthz);
  router.get("/readyz", *this, &AdminPages::readyz);
  router.get("/startupz", *this, &AdminPages::startupz);
  router.get("/admin/start", *this, &AdminPages::start);
  router.get("/admin/config", *this, &AdminPages::config);
  router.get("/admin/recorder", *this, &AdminPages::recorder);
  router.get("/admin/tasks", *this, &AdminPages::tasks);
  if (sources_.server != nullptr) router.get("/admin/stages", *this, &AdminPages::stages);
  if (sources_.services != nullptr) router.get("/admin/graph", *this, &AdminPages::graph);
}

std::string AdminPages::paths() const {
  std::string all = "/metrics /healthz /readyz /startupz /admin/start /admin/config /admin/recorder /admin/tasks";
  if (sources_.server != nullptr) all += " /admin/stages";
  if (sources_.services != nullptr) all += " /admin/graph";
  return all;
}

http::Response AdminPages::metrics(http::Request& request) {
  Buffer body;
  const auto format = Prometheus::format_for(request.header(http::Known::Accept).value_or(""));
  sources_.exporter->render(body, format);
  return http::Response::body(http::Status::Ok, std::move(body), Prometheus::content_type(format))
      .header("Cache-Control", "no-store");
}

http::Response AdminPages::healthz(http::Request&) {
  Buffer body;
  const bool is_good = sources_.health.live(body);
  return verdict(is_good, std::move(body));
}

http::Response AdminPages::readyz(http::Request&) {
  Buffer body;
  const bool is_good = sources_.health.ready(body);
  return verdict(is_good, std::move(body));
}

http::Response AdminPages::startupz(http::Request&) {
  Buffer body;
  const bool is_good = sources_.health.started(body);
  return verdict(is_good, std::move(body));
}

http::Response AdminPages::start(http::Request& request) {
  const std::int64_t ready = sources_.ready_ns;
  const Instant end = ready != 0 ? Instant::from_ns(ready) : Host::system().now();
  const std::vector<Phase> phases = sources_.lifecycle.phases();
  const bool is_text = wants_text(request);
  Buffer body;
  if (is_text) {
    body.append(phase_table(sources_.name, phases, sources_.began, end));
  } else {
    write_phases(body, sources_.name, phases, sources_.began, end);
  }
  return page(std::move(body), is_text);
}

// As --print-config prints it; may be read while a reload makes the next one.
http::Response AdminPages::config(http::Request&) {
  return http::Response::text(http::Status::Ok, sources_.config.describe(), "application/yaml")
      .header("Cache-Control", "no-store");
}

http::Response AdminPages::recorder(http::Request& request) {
  Buffer body;
  write_recorders(body, request.started());
  return page(std::move(body), false);
}

Task<http::Response> AdminPages::tasks(http::Request& request) {
  const bool is_text = wants_text(request);
  if (!reports_) reports_.emplace(ThreadPoolOptions{.name = "reports", .threads = 1, .queue_max = 8});
  Executor& home = *(co_await this_task()).executor;
  co_await resume_on(*reports_);
  Buffer body;
  is_text ? sources_.tasks->write_text(body) : sources_.tasks->write_json(body);
  co_await resume_on(home);
  co_return page(std::move(body), is_text);
}

http::Response AdminPages::stages(http::Request& request) {
  const std::vector<http::RouteStages> times = sources_.server->stage_times();
  const bool is_text = wants_text(request);
  Buffer body;
  is_text ? write_stage_times_text(body, times) : write_stage_times_json(body, times);
  return page(std::move(body), is_text);
}

http::Response AdminPages::graph(http::Request& request) {
  const bool is_text = wants_text(request);
  Buffer body;
  is_text ? sources_.services->write_text(body) : sources_.services->write_json(body);
  return page(std::move(body), is_text);
}

}  // namespace keel::app
