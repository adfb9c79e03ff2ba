#include "keel/http/server/internal/server_metrics.h"

#include <string>
#include <string_view>

#include "keel/http/server/internal/server_worker.h"

namespace keel::http {
namespace {

using Stats = Server::Stats;
using Cells = ServerCounts<SingleWriterCounter>;

constexpr std::string_view cut_names[cut_count] = {"head", "body", "handler", "response"};
constexpr std::string_view class_names[5] = {"1xx", "2xx", "3xx", "4xx", "5xx"};

enum class Kind : std::uint8_t {
  Counter,
  Gauge,
  Workers,  // A gauge for each worker; another row has the sum of all workers.
  None,     // The counter is not a separate metric, because it is one series of a metric with labels.
};

// For each counter of a worker: its member in the sums and in the cells, and its metric.
struct Row {
  std::uint64_t Stats::* sum;
  SingleWriterCounter Cells::* cell;
  Kind kind;
  std::string_view name = {};
  std::string_view help = {};
  std::string_view reason = {};  // The value of the label `reason`; empty: no label.
};

constexpr std::string_view pauses = "http_accept_pauses_total";
constexpr std::string_view pauses_help =
    "Pauses in accepting because the connection limit was reached, or because descriptors or memory ran out";

constexpr std::string_view resets = "http_memory_resets_total";
constexpr std::string_view resets_help =
    "Connections reset because the memory limit for responses or for received bytes was reached";

// The rows are in the order in which they are exposed.
constexpr Row metrics_table[] = {
    {&Stats::connections, &Cells::connections, Kind::Gauge, "http_connections", "Open connections"},
    {&Stats::connections, &Cells::connections, Kind::Workers, "http_worker_connections",
     "Open connections of a worker"},
    {&Stats::requests, &Cells::requests, Kind::None},
    {&Stats::in_progress, &Cells::in_progress, Kind::Gauge, "http_requests_in_progress",
     "Requests whose body is received, whose handler runs or whose response is streamed"},
    {&Stats::refused, &Cells::refused, Kind::None},
    {&Stats::cut, &Cells::cut, Kind::None},
    {&Stats::accepted, &Cells::accepted, Kind::Counter, "http_accepted_total", "Connections accepted"},
    {&Stats::timeouts, &Cells::timeouts, Kind::Counter, "http_timeouts_total",
     "Connections that exceeded a time limit"},
    {&Stats::idle_closed, &Cells::idle_closed, Kind::Counter, "http_idle_closed_total",
     "Connections that were idle, or had an incomplete head, and were closed to make room for others"},
    {&Stats::aborted, &Cells::aborted, Kind::Counter, "http_aborted_total",
     "Connections that ended before a response was sent completely"},
    {&Stats::handshakes_failed, &Cells::handshakes_failed, Kind::Counter, "http_tls_handshakes_failed_total",
     "Connections that ended during their TLS handshake; the log has the reason at level debug"},
    {&Stats::handshakes_waiting, &Cells::handshakes_waiting, Kind::Gauge, "http_tls_handshakes_waiting",
     "TLS handshakes that have received bytes and wait for their worker to process them"},
    {&Stats::introductions_refused, &Cells::introductions_refused, Kind::Counter, "http_proxy_headers_refused_total",
     "Connections of trusted proxies closed because they did not begin with a valid PROXY header"},
    {&Stats::slow_readers, &Cells::slow_readers, Kind::Counter, "http_slow_readers_total",
     "Connections reset because the client received too slowly"},
    {&Stats::bodies_refused, &Cells::bodies_refused, Kind::Counter, "http_bodies_refused_total",
     "Request bodies rejected because the memory limit for bodies was reached"},
    {&Stats::responses_refused, &Cells::responses_refused, Kind::Counter, "http_responses_refused_total",
     "Responses replaced by 503 because the memory limit for responses was reached"},
    {&Stats::responses_reset, &Cells::responses_reset, Kind::Counter, resets, resets_help, "response"},
    {&Stats::received_reset, &Cells::received_reset, Kind::Counter, resets, resets_help, "received"},
    {&Stats::client_connections_refused, &Cells::client_connections_refused, Kind::Counter, "http_client_refused_total",
     "Connections and bodies rejected because their client had reached its limit", "connections"},
    {&Stats::client_bodies_refused, &Cells::client_bodies_refused, Kind::Counter, "http_client_refused_total",
     "Connections and bodies rejected because their client had reached its limit", "bodies"},
    {&Stats::clients, &Cells::clients, Kind::Gauge, "http_clients",
     "Client addresses that have connections and to which a limit per client applies, summed over the workers"},
    {&Stats::requests_too_big, &Cells::requests_too_big, Kind::Counter, "http_requests_too_big_total",
     "Requests that exceeded the memory limit for one request"},
    {&Stats::overloaded, &Cells::overloaded, Kind::Counter, "http_overload_refused_total",
     "Requests rejected because their worker was overloaded"},
    {&Stats::bugs, &Cells::bugs, Kind::Counter, "http_handler_bugs_total",
     "Requests that failed because of a bug in their handler or middleware; the log has each of them"},
    {&Stats::paused_full, &Cells::paused_full, Kind::Counter, pauses, pauses_help, "limit"},
    {&Stats::paused_descriptors, &Cells::paused_descriptors, Kind::Counter, pauses, pauses_help, "descriptors"},
    {&Stats::paused_memory, &Cells::paused_memory, Kind::Counter, pauses, pauses_help, "memory"},
    {&Stats::connections_max, &Cells::connections_max, Kind::Gauge, "http_connections_max",
     "Limit on connections, at which accepting pauses"},
    {&Stats::upgraded, &Cells::upgraded, Kind::Gauge, "http_upgraded_connections",
     "Open connections that were upgraded to another protocol"},
    {&Stats::body_bytes, &Cells::body_bytes, Kind::Gauge, "http_body_bytes", "Memory held for request bodies"},
    {&Stats::body_bytes_max, &Cells::body_bytes_max, Kind::Gauge, "http_body_bytes_max",
     "Memory limit for request bodies"},
    {&Stats::response_bytes, &Cells::response_bytes, Kind::Gauge, "http_response_bytes",
     "Memory held for responses that clients have not received yet"},
    {&Stats::response_bytes_max, &Cells::response_bytes_max, Kind::Gauge, "http_response_bytes_max",
     "Memory limit for responses that clients have not received yet"},
    {&Stats::received_bytes, &Cells::received_bytes, Kind::Gauge, "http_received_bytes",
     "Memory held for received bytes that are not processed yet"},
    {&Stats::received_bytes_max, &Cells::received_bytes_max, Kind::Gauge, "http_received_bytes_max",
     "Memory limit for received bytes that are not processed yet"},
};

consteval std::size_t figures() {
  std::size_t count = 0;
  for (const Row& row : metrics_table) count += row.kind != Kind::Workers ? 1 : 0;
  return count;
}
static_assert(figures() * sizeof(std::uint64_t) == sizeof(Stats), "each counter of a server must have a row");

}  // namespace

std::string_view to_string(Cut during) noexcept { return cut_names[static_cast<int>(during)]; }

Server::Stats sum_of(const std::vector<std::unique_ptr<ServerWorker>>& workers) noexcept {
  Stats sum;
  for (const auto& worker : workers) {
    for (const Row& row : metrics_table) {
      if (row.kind != Kind::Workers) sum.*row.sum += (worker->counts.*row.cell).get();
    }
  }
  return sum;
}

ServerMetrics::ServerMetrics(metrics::Registry& registry, std::string_view server, const Router& router)
    : server_(server),
      refused_{registry.counter("http_refused_total",
                                "Requests rejected by the parser or because of a limit, before a handler was chosen",
                                {{"server", server_}, {"status_class", "4xx"}}),
               registry.counter("http_refused_total",
                                "Requests rejected by the parser or because of a limit, before a handler was chosen",
                                {{"server", server_}, {"status_class", "5xx"}})} {
  auto add_route = [&](std::string_view method, std::string_view pattern) {
    const auto by_class = [&](int i) {
      return registry.counter(
          "http_requests_total", "Requests with a response",
          {{"server", server_}, {"method", method}, {"route", pattern}, {"status_class", class_names[i]}});
    };
    routes_.push_back(
        {{by_class(0), by_class(1), by_class(2), by_class(3), by_class(4)},
         registry.histogram("http_request_duration_seconds",
                            "Time from the last byte of a request's head to its response", metrics::latency_seconds,
                            {{"server", server_}, {"method", method}, {"route", pattern}})});
  };
  for (int i = 0; i < cut_count; ++i) {
    cut_.push_back(registry.counter(
        "http_requests_cut_total",
        "Requests whose connection ended before their response was sent, by the stage that they had reached",
        {{"server", server_}, {"during", to_string(static_cast<Cut>(i))}}));
  }
  for (int i = 0; i < stage_count; ++i) {
    stages_.push_back(registry.histogram("http_stage_duration_seconds", "Time spent in this stage by sampled requests",
                                         metrics::latency_seconds,
                                         {{"server", server_}, {"stage", to_string(static_cast<Stage>(i))}}));
  }
  for (const Router::RouteName& route : router.routes()) add_route(to_string(route.method), route.pattern);
  add_route("", "");
}

void ServerMetrics::expose(metrics::Registry& registry, const Server& server) {
  for (const Row& row : metrics_table) {
    if (row.kind == Kind::None) continue;
    if (row.kind == Kind::Workers) {
      for (std::size_t worker = 0; worker < server.connections_by_worker().size(); ++worker) {
        functions_.push_back(
            registry.gauge(row.name, row.help, {{"server", server_}, {"worker", std::to_string(worker)}},
                           [&server, worker] { return static_cast<double>(server.connections_by_worker()[worker]); }));
      }
      continue;
    }
    const auto read = [&server, sum = row.sum] { return static_cast<double>(server.stats().*sum); };
    const auto add = [&](std::initializer_list<metrics::Label> labels) {
      functions_.push_back(row.kind == Kind::Counter ? registry.counter(row.name, row.help, labels, read)
                                                     : registry.gauge(row.name, row.help, labels, read));
    };
    row.reason.empty() ? add({{"server", server_}}) : add({{"server", server_}, {"reason", row.reason}});
  }
  functions_.push_back(registry.gauge(
      "http_kernel_send_bytes", "Kernel memory with data that clients have not received yet, as of the last scrape",
      {{"server", server_}}, [&server] { return static_cast<double>(server.kernel_send_bytes()); }));
}

}  // namespace keel::http
