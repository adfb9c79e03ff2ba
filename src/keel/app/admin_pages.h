// keel/app/admin_pages.h — what the admin listener answers.
//
//   AdminPages pages({.name = "accounts", .began = began, .ready_ns = ready, .config = versions, …});
//   pages.mount(router);
//
//   /metrics         Prometheus text, or OpenMetrics for who accepts it (prometheus.h)
//   /healthz /readyz /startupz
//                    200 or 503, with every check (health.h)
//   /admin/start     the phases of the start (lifecycle.h)
//   /admin/config    every value with its origin, secrets as *** (config.h)
//   /admin/recorder  the last requests of each worker (flight_recorder.h)
//   /admin/tasks     the live tasks of each worker as a tree (live_tasks.h)
//   /admin/stages    where the time of requests goes, by route (stage_times.h); with a server
//   /admin/graph     the services and what each needs (container.h); with services
//
// start, tasks, stages and graph are JSON, and a text for people with ?format=text. Nothing may be cached.
//
// Threads:  mount() on one, before the listener starts; pages are made on its worker, and the tasks' on a thread of
//           their own, for that waits for the workers.
// Lifetime: outlives the listener that serves `router`. What the sources refer to outlives it; what they point to is
//           there when the first request comes.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "keel/app/container.h"
#include "keel/app/health.h"
#include "keel/app/lifecycle.h"
#include "keel/app/live_tasks.h"
#include "keel/app/prometheus.h"
#include "keel/app/reloadable.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/router.h"
#include "keel/http/server/server.h"

namespace keel::app {

struct AdminSources {
  std::string name;  // Of the service.
  Instant began;
  const std::atomic<std::int64_t>& ready_ns;  // When it was ready; 0 until then.
  const config::Versions& config;
  Health& health;
  const Lifecycle& lifecycle;
  const std::unique_ptr<Prometheus>& exporter;
  std::optional<LiveTasks>& tasks;
  const http::Server* server = nullptr;  // Whose stages are shown; null: none.
  const Services* services = nullptr;    // Null: none.
};

class AdminPages {
 public:
  explicit AdminPages(AdminSources sources) : sources_(std::move(sources)) {}
  AdminPages(const AdminPages&) = delete;
  AdminPages& operator=(const AdminPages&) = delete;

  // Adds the pages' routes.
  void mount(http::Router& router);
  // The pages' paths with a space between them.
  std::string paths() const;

 private:
  http::Response metrics(http::Request& request);
  http::Response healthz(http::Request& request);
  http::Response readyz(http::Request& request);
  http::Response startupz(http::Request& request);
  http::Response start(http::Request& request);
  http::Response config(http::Request& request);
  http::Response recorder(http::Request& request);
  Task<http::Response> tasks(http::Request& request);
  http::Response stages(http::Request& request);
  http::Response graph(http::Request& request);

  const AdminSources sources_;
  std::optional<ThreadPool> reports_;  // What a page waits for longer than a worker may; from the first such page on.
};

}  // namespace keel::app
