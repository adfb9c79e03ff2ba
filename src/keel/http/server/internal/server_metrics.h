// The metrics of a server, resolved once when it starts.

#pragma once

#include <vector>

#include "keel/http/server/server.h"
#include "keel/observe/metric.h"
#include "keel/observe/span.h"

namespace keel::http {

struct Server::Metrics {
  Metrics(metrics::Registry& registry, const Server& server);
  // What readers ask the server for: once it has all its acceptors.
  void expose(metrics::Registry& registry, const Server& server);
  [[gnu::always_inline]] void count(std::uint32_t route, Status status, Duration took) noexcept {
    const Route& at = routes[route];
    at.by_class[number(status) / 100 - 1].add();
    at.took.observe(took);
  }
  void count_stages(const StageClock& clock) noexcept {
    for (int i = 0; i < stage_count; ++i) {
      const Duration took = clock.of(static_cast<Stage>(i));
      if (took > Duration()) stages[i].observe(took);
    }
  }
  void count_write(Duration took) noexcept { stages[static_cast<int>(Stage::Write)].observe(took); }
  void count_refused(Status status) noexcept { refused[number(status) >= 500].add(); }

  struct Route {
    metrics::Counter by_class[5];
    metrics::Histogram took;
  };
  std::vector<Route> routes;  // By the router's index; the last one is for what no route matched.
  metrics::Counter refused[2];
  std::vector<metrics::Counter> cut;  // By Cut.
  std::vector<metrics::Histogram> stages;
  std::vector<metrics::GaugeFunction> functions;
};

}  // namespace keel::http
