// keel/http/server/internal/server_metrics.h — the metrics of a server, which are looked up once, when the server
// starts.
//
// Internal to http. The other counters are cells of each ServerWorker (ServerCounts<SingleWriterCounter>) and are read
// on demand; server_metrics.cc has a table of them. ServerMetrics counts the metrics that have labels for the route,
// stage or status.
//
// Lifetime: from the start to the end of the server; the registry outlives this object.
// Threads:  each worker may count; the server's thread makes and destroys the object.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/message/status.h"
#include "keel/http/server/server.h"
#include "keel/http/server/stage.h"
#include "keel/observe/metric.h"
#include "keel/observe/span.h"

namespace keel::http {

class ServerWorker;

// The stage that a request had reached when its connection ended before the response was complete.
enum class Cut : std::uint8_t { Head, Body, Handler, Response };
inline constexpr int cut_count = 4;
// Returns "head", "body", "handler" or "response".
std::string_view to_string(Cut during) noexcept;

// The sums over all workers.
Server::Stats sum_of(const std::vector<std::unique_ptr<ServerWorker>>& workers) noexcept;

class ServerMetrics {
 public:
  ServerMetrics(metrics::Registry& registry, std::string_view server, const Router& router);
  // Registers the values that are read from the server on demand; call it when the server has all its workers.
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
  const std::string server_;   // The value of the label `server` in the server's metrics.
  std::vector<Route> routes_;  // Indexed by route; the last element is for requests without a route.
  metrics::Counter refused_[2];
  std::vector<metrics::Counter> cut_;  // Indexed by Cut.
  std::vector<metrics::Histogram> stages_;
  std::vector<metrics::GaugeFunction> functions_;
};

}  // namespace keel::http
