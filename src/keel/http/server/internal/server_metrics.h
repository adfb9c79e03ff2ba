// keel/http/server/internal/server_metrics.h — the metrics of a server, resolved once when it starts.
//
// Internal to http. What a ServerWorker counts in a cell of its own, ServerCounts<SingleWriterCounter>, is read when it
// is asked for; server_metrics.cc has the table of them. What has labels by route, stage or status is counted here.
//
// Lifetime: between the server's start and its end; the registry outlives it.
// Threads:  counting by every worker; made and destroyed by the server's thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "keel/http/server/internal/request_log.h"
#include "keel/http/server/server.h"
#include "keel/http/server/stage.h"
#include "keel/observe/metric.h"
#include "keel/observe/span.h"

namespace keel::http {

class ServerWorker;

// The sums over all workers.
Server::Stats sum_of(const std::vector<std::unique_ptr<ServerWorker>>& workers) noexcept;

class ServerMetrics {
 public:
  ServerMetrics(metrics::Registry& registry, std::string_view server, const Router& router);
  // What readers ask the server for: once it has all its workers.
  void expose(metrics::Registry& registry, const Server& server);

  [[gnu::always_inline]] void count(std::uint32_t route, Status status, Duration took) noexcept {
    const Route& at = routes_[route];
    at.by_class[number(status) / 100 - 1].add();
    at.took.observe(took);
  }
  void count_stages(const StageClock& clock) noexcept {
    for (int i = 0; i < stage_count; ++i) {
      const Duration took = clock.of(static_cast<Stage>(i));
      if (took > Duration()) stages_[i].observe(took);
    }
  }
  void count_write(Duration took) noexcept { stages_[static_cast<int>(stage::write)].observe(took); }
  void count_refused(Status status) noexcept { refused_[number(status) >= 500].add(); }
  void count_cut(Cut during) noexcept { cut_[static_cast<std::size_t>(during)].add(); }

 private:
  struct Route {
    metrics::Counter by_class[5];
    metrics::Histogram took;
  };
  const std::string server_;   // The label of all of them.
  std::vector<Route> routes_;  // By the router's index; the last one is for what no route matched.
  metrics::Counter refused_[2];
  std::vector<metrics::Counter> cut_;  // By Cut.
  std::vector<metrics::Histogram> stages_;
  std::vector<metrics::GaugeFunction> functions_;
};

}  // namespace keel::http
