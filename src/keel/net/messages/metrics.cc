#include "keel/net/messages/metrics.h"

namespace keel::messages {

template <std::size_t... I>
MessageMetrics::MessageMetrics(metrics::Registry& registry, std::string_view name, std::index_sequence<I...>)
    : connections(registry.gauge("messages_connections", "Open connections for messages", {{"name", name}})),
      received(registry.counter("messages_frames_received_total", "Frames received from peers", {{"name", name}})),
      sent(registry.counter("messages_frames_sent_total", "Frames queued for peers", {{"name", name}})),
      requests(registry.counter("messages_requests_total", "Handled requests of peers", {{"name", name}})),
      failures(registry.counter("messages_failures_total", "Failed requests of peers: the reply was an error",
                                {{"name", name}})),
      dropped(registry.counter("messages_dropped_total",
                               "One-way messages that had no handler, or whose handler failed", {{"name", name}})),
      calls(registry.counter("messages_calls_total", "Requests sent to peers", {{"name", name}})),
      failed_calls(registry.counter("messages_failed_calls_total", "Failed requests to peers", {{"name", name}})),
      closed_{registry.counter("messages_closed_total", "Ended connections for messages, by reason",
                               {{"name", name}, {"reason", to_string(static_cast<Code>(I))}})...} {}

MessageMetrics::MessageMetrics(metrics::Registry& registry, std::string_view name)
    : MessageMetrics(registry, name, std::make_index_sequence<code_count>()) {}

}  // namespace keel::messages
