#include "keel/app/internal/options.h"

#include <filesystem>
#include <utility>

namespace keel::app::internal {
namespace {

io::EngineKind engine_of(Engine engine) {
  switch (engine) {
    case Engine::Auto:
      return io::EngineKind::Auto;
    case Engine::Uring:
      return io::EngineKind::Uring;
    case Engine::Epoll:
      return io::EngineKind::Epoll;
  }
  return io::EngineKind::Auto;
}

log::Overflow overflow_of(Overflow overflow) {
  switch (overflow) {
    case Overflow::Block:
      return log::Overflow::Block;
    case Overflow::DropNewest:
      return log::Overflow::DropNewest;
    case Overflow::DropOldest:
      return log::Overflow::DropOldest;
  }
  return log::Overflow::DropNewest;
}

db::sqlite::Synchronous synchronous_of(Synchronous synchronous) {
  switch (synchronous) {
    case Synchronous::Full:
      return db::sqlite::Synchronous::Full;
    case Synchronous::Normal:
      return db::sqlite::Synchronous::Normal;
    case Synchronous::Off:
      return db::sqlite::Synchronous::Off;
  }
  return db::sqlite::Synchronous::Full;
}

}  // namespace

Result<> make_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return Error::from_errno("mkdir", error.value()).because("creating the folder '" + folder.string() + "'");
}

Result<> make_log_folders(const Settings& settings) {
  for (const SinkSettings& sink : settings.logging.sinks) {
    if (sink.type != SinkType::File || !settings.logging.enabled) continue;
    KEEL_TRY_VOID(make_folder_of(sink.path).because("logging.sinks"));
  }
  return {};
}

Level recorded_level(const Settings& settings) {
  return settings.logging.enabled ? settings.log_level() : Level::Fatal;
}

log::RingOptions ring_options(const Settings& settings) {
  return {settings.logging.ring_buffer_size.bytes, overflow_of(settings.logging.overflow)};
}

std::vector<LogSink> sinks_of(const Settings& settings) {
  std::vector<LogSink> sinks;
  for (const SinkSettings& from : settings.logging.sinks) {
    LogSink sink;
    sink.to = from.type == SinkType::File ? LogSink::To::File : LogSink::To::Stderr;
    sink.path = from.path;
    sink.level = Settings::level_of(from);
    sink.format = from.format == SinkFormat::Text ? LineFormat::Text : LineFormat::Json;
    sinks.push_back(std::move(sink));
  }
  if (!settings.logging.enabled) {
    // Nobody reads, and next to nothing is recorded.
    LogSink nowhere;
    nowhere.to = LogSink::To::Function;
    nowhere.write = [](std::string_view) {};
    sinks.clear();
    sinks.push_back(std::move(nowhere));
  }
  return sinks;
}

LogWriterOptions log_options(const Settings& settings) {
  LogWriterOptions options;
  options.sinks = sinks_of(settings);
  options.mode = settings.logging.async ? LogWriterOptions::Mode::Background : LogWriterOptions::Mode::Direct;
  return options;
}

io::RuntimeOptions runtime_options(const Settings& settings) {
  const unsigned workers = settings.network.workers;
  return {.workers = static_cast<int>(workers != 0 ? workers : settings.thread.size_of("network", 0)),
          .engine = engine_of(settings.network.engine),
          .pin = settings.thread.affinity,
          .engine_options = {.receive_bytes = static_cast<std::uint32_t>(settings.network.read_buffer_size.bytes)}};
}

http::Limits limits_of(const NetworkSettings& network) {
  const HttpSettings& from = network.http;
  http::Limits limits;
  limits.head.request_line_bytes_max = static_cast<std::uint32_t>(from.max_request_line.bytes);
  limits.head.field_line_bytes_max = static_cast<std::uint32_t>(from.max_header_line.bytes);
  limits.head.head_bytes_max = static_cast<std::uint32_t>(from.max_header.bytes);
  limits.head.fields_max = from.max_header_count;
  limits.body_bytes_max = from.max_body.bytes;
  limits.bodies_bytes_max = from.max_body_memory.bytes;
  limits.request_bytes_max = from.max_request_memory.bytes;
  limits.pipeline_bytes_max = network.write_buffer_size.bytes;
  limits.connections_max = from.max_connections;
  limits.requests_per_connection_max = from.keep_alive ? from.max_requests_per_connection : 1;
  limits.header_timeout = from.header_timeout;
  limits.body_timeout = from.body_timeout;
  limits.body_rate_min = from.body_rate_min;
  limits.body_rate_grace = from.body_rate_grace;
  limits.idle_timeout = from.idle_timeout;
  limits.queue_delay_max = from.queue_delay_max;
  limits.send_timeout = from.send_timeout;
  limits.send_rate_min = from.send_rate_min;
  limits.send_rate_grace = from.send_rate_grace;
  limits.linger_timeout = from.linger_timeout;
  limits.linger_time_max = from.linger_time_max;
  limits.request_timeout = from.request_timeout;
  return limits;
}

http::ServerOptions server_options(const Settings& settings, const Address& address) {
  const NetworkSettings& from = settings.network;
  http::ServerOptions options;
  options.address = address;
  options.limits = limits_of(from);
  options.access_log = from.http.access_log;
  options.measured_every = settings.monitoring.enabled ? settings.monitoring.measured_every : 0;
  options.server_timing = from.http.server_timing;
  options.log_clients = from.http.log_clients;
  options.request_ids = from.http.request_ids;
  options.indent_json = settings.container.json.pretty_print;
  // Checked with the other settings: each of them is a network.
  for (const std::string& proxy : from.http.trusted_proxies) {
    options.trusted_proxies.push_back(http::Network::parse(proxy).value());
  }
  options.listen.no_delay = from.tcp_nodelay;
  options.listen.send_buffer_bytes = static_cast<int>(from.send_buffer.bytes);
  options.listen.receive_buffer_bytes = static_cast<int>(from.recv_buffer.bytes);
  return options;
}

db::DatabaseOptions database_options(const Settings& settings) {
  const DatabaseSettings& from = settings.database;
  db::DatabaseOptions options;
  options.path = from.path;
  options.migrations = from.migrations;
  options.synchronous = synchronous_of(from.synchronous);
  options.busy_timeout = from.timeout;
  options.cache_kib = static_cast<int>(from.cache_size.bytes / 1024);
  options.pool_size = static_cast<int>(settings.thread.size_of("database", from.pool_size));
  if (!from.loop_reads) options.loop_steps_max = 0;
  options.writer.group_max = static_cast<int>(from.group_max);
  options.writer.queued_max = from.queue_max;
  return options;
}

}  // namespace keel::app::internal
