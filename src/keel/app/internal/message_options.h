// keel/app/internal/message_options.h — pairs each setting of messages with the option that it sets.

#pragma once

#include "keel/app/settings.h"
#include "keel/net/messages/pool.h"
#include "keel/net/messages/server.h"
#include "keel/net/sessions/server.h"

namespace keel::app::internal {

// Calls `f(key, setting, option)` for each setting that is passed to an option without conversion. `settings` and
// `options` may be const.
template <class Settings, class Options, class F>
void each_peer_option(Settings& settings, Options& options, F f) {
  f("max_frame", settings.frame_bytes_max, options.frame_bytes_max);
  f("max_requests", settings.requests_max, options.requests_max);
  f("max_messages", settings.messages_max, options.messages_max);
  f("max_streams", settings.streams_max, options.streams_max);
  f("max_stream", settings.stream_bytes_max, options.stream_bytes_max);
  f("max_queued", settings.queued_bytes_max, options.queued_bytes_max);
  f("heartbeat_sec", settings.heartbeat, options.heartbeat);
  f("stall_timeout_sec", settings.stall_timeout, options.stall_timeout);
  f("hello_timeout_sec", settings.hello_timeout, options.hello_timeout);
  f("checksums", settings.checksums, options.checksums);
}

// Of the server.
template <class Settings, class Options, class F>
void each_message_server_option(Settings& settings, Options& options, F f) {
  f("max_connections", settings.connections_max, options.connections_max);
  f("drain_timeout_sec", settings.drain, options.drain);
}

// Of its sessions. Sessions use the heartbeat of their connections.
template <class Settings, class Options, class F>
void each_session_option(Settings& settings, Options& options, F f) {
  f("expiry_sec", settings.expiry, options.expiry);
  f("max_ring_messages", settings.ring_messages, options.session.ring_messages);
  f("max_ring", settings.ring_bytes, options.session.ring_bytes);
  f("max_window_messages", settings.window_messages, options.session.window_messages);
  f("max_window", settings.window_bytes, options.session.window_bytes);
}

// Of a pool.
template <class Settings, class Options, class F>
void each_message_pool_option(Settings& settings, Options& options, F f) {
  f("endpoints", settings.endpoints, options.endpoints);
  f("connections", settings.connections, options.connections);
  f("timeout_sec", settings.timeout, options.timeout);
  f("connect_timeout_sec", settings.connect_timeout, options.connect_timeout);
  f("refresh_sec", settings.refresh, options.refresh);
  f("eject_first_sec", settings.eject_first, options.eject_first);
  f("eject_max_sec", settings.eject_max, options.eject_max);
  f("max_attempts", settings.attempts_max, options.retry.attempts_max);
  f("backoff_first_sec", settings.backoff_first, options.retry.backoff_first);
  f("backoff_max_sec", settings.backoff_max, options.retry.backoff_max);
  f("budget_ratio", settings.budget_ratio, options.retry.budget_ratio);
  f("max_budget", settings.budget_max, options.retry.budget_max);
  f("breaker_failure_ratio", settings.breaker_failure_ratio, options.breaker.failure_ratio);
  f("breaker_min_calls", settings.breaker_calls_min, options.breaker.calls_min);
  f("breaker_window_sec", settings.breaker_window, options.breaker.window);
  f("breaker_open_sec", settings.breaker_open_time, options.breaker.open_time);
}

}  // namespace keel::app::internal
