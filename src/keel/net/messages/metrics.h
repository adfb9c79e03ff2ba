// keel/net/messages/metrics.h — metrics of messages: how many there are, how long they take, and how they end.
//
//   messages::MessageMetrics metrics(registry, "devices");
//   messages::Server server(handlers, {.metrics = &metrics});
//
// Threads:  make one Metrics object, and use it on all workers.
// Lifetime: must outlive the servers and clients that use it; the registry must outlive the metrics.
// Cost:     two additions for each arrival and one addition for each request; see observe/metric.h.

#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "keel/base/error.h"
#include "keel/observe/metric.h"

namespace keel::messages {

// Counts the connections, frames and bytes of a server or a client.
class MessageMetrics {
 public:
  // All metrics have the label `name`.
  MessageMetrics(metrics::Registry& registry, std::string_view name);

  metrics::Gauge connections;  // messages_connections: connections that are open now
  metrics::Counter received;   // messages_frames_received_total
  metrics::Counter sent;       // messages_frames_sent_total
  metrics::Counter requests;   // messages_requests_total: requests of peers that were handled
  metrics::Counter failures;   // messages_failures_total: requests from peers that were answered with an error
  metrics::Counter dropped;    // messages_dropped_total: one-way messages that had no handler or whose handler failed
  metrics::Counter calls;      // messages_calls_total: requests sent to peers
  metrics::Counter failed_calls;  // messages_failed_calls_total: sent requests that ended with an error

  // Counts the connections that have ended, by reason, in messages_closed_total.
  void closed(Code reason) const noexcept { closed_[static_cast<int>(reason)].add(); }

 private:
  metrics::Counter closed_[code_count];
  template <std::size_t... I>
  MessageMetrics(metrics::Registry& registry, std::string_view name, std::index_sequence<I...>);
};

}  // namespace keel::messages
