// keel/app/settings.h — the configuration every Keel service has: threads, logs, database, network, monitoring.
//
// Defaults suit a small service: loopback address, bounded everything, durable writes. Each field's help sentence,
// range and unit is in settings.cc, and what --help prints. An application adds its own sections by deriving:
//
//   struct ShopConfig : app::Settings {
//     StoreConfig store;
//     template <class Visitor> void fields(Visitor& v) {
//       Settings::fields(v);
//       config::field(v, "store", store, "the shop's own store");
//     }
//   };
//   Result<ShopConfig> config = config::load<ShopConfig>({.file = "shop.yaml", .args = args});
//
// A field named x_sec, x_kb or x_mb in the file is a Duration or ByteSize here, without the unit in its name.
//
// Threads: values.  Cost: start-up only.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/config.h"
#include "keel/base/time.h"
#include "keel/io/address.h"

namespace keel {
enum class WhenFull : std::uint8_t;  // exec/thread_pool.h
}

namespace keel::app {

// Log levels as they are configured: Inherit is the level of the place above (sink, logging, common).
enum class Threshold : std::uint8_t { Inherit, Trace, Debug, Info, Warn, Error, Fatal };

struct CommonSettings {
  Level log_level = Level::Info;
  Duration start_timeout = 60_s;
  Duration stop_timeout = 10_s;
  bool start_report = false;
  void fields(config::Schema& v);
};

struct PoolSettings {
  std::string name;
  unsigned size = 1;
  unsigned max_size = 0;                // 0: always `size`
  std::vector<unsigned> affinity = {};  // Empty: wherever the system likes.
  unsigned queue_max = 0;               // 0: as queue_capacity
  WhenFull when_full{};                 // Refuse
  void fields(config::Schema& v);
};

struct AutoscaleSettings {
  bool enabled = false;
  unsigned min_threads = 1;
  unsigned max_threads = 64;
  double scale_up_threshold = 0.8;
  double scale_down_threshold = 0.2;
  void fields(config::Schema& v);
};

struct ThreadSettings {
  unsigned pool_size = 0;  // 0: one per core
  unsigned queue_capacity = 10'000;
  bool affinity = false;
  std::vector<PoolSettings> pools;
  AutoscaleSettings autoscale;
  void fields(config::Schema& v);
  // The pool `name` in `pools`; null when it is not listed.
  const PoolSettings* find(std::string_view name) const noexcept;
  // Of that pool, or `otherwise`.
  unsigned size_of(std::string_view name, unsigned otherwise) const noexcept;
  void check(config::Checks& checks) const;
};

enum class SinkType : std::uint8_t { Console, File };
enum class SinkFormat : std::uint8_t { Json, Text };
enum class Overflow : std::uint8_t { Block, DropNewest, DropOldest };

struct SinkSettings {
  SinkType type = SinkType::Console;
  std::string path = "keel.log";
  Threshold level = Threshold::Inherit;
  SinkFormat format = SinkFormat::Json;
  void fields(config::Schema& v);
};

struct LoggingSettings {
  bool enabled = true;
  bool async = true;
  Threshold level = Threshold::Inherit;
  ByteSize ring_buffer_size = ByteSize::mib(1);
  Overflow overflow = Overflow::DropNewest;
  std::vector<SinkSettings> sinks = std::vector<SinkSettings>(1);
  std::string crash_file;  // Empty: standard error alone.
  void fields(config::Schema& v);
};

enum class DatabaseType : std::uint8_t { Sqlite };
enum class Synchronous : std::uint8_t { Full, Normal, Off };

struct DatabaseSettings {
  DatabaseType type = DatabaseType::Sqlite;
  std::string path = "data/app.db";
  unsigned pool_size = 2;
  bool loop_reads = true;
  Duration timeout = 5_s;
  ByteSize cache_size = ByteSize::mib(4);
  ByteSize buffer_size = ByteSize::kib(16);
  Synchronous synchronous = Synchronous::Full;
  unsigned group_max = 512;
  unsigned queue_max = 8192;
  std::string migrations = "db/migrations";
  void fields(config::Schema& v);
};

struct HttpSettings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free one
  std::uint32_t max_connections = 10'000;
  bool keep_alive = true;
  std::uint32_t max_requests_per_connection = 1'000'000;
  Duration request_timeout = 30_s;
  Duration header_timeout = 10_s;
  Duration body_timeout = 30_s;
  std::uint32_t body_rate_min = 240;
  Duration body_rate_grace = 5_s;
  Duration idle_timeout = 60_s;
  Duration queue_delay_max = 50_ms;
  Duration send_timeout = 30_s;
  std::uint32_t send_rate_min = 240;
  Duration send_rate_grace = 15_s;
  Duration linger_timeout = 5_s;
  Duration linger_time_max = 30_s;
  Duration drain_delay;
  Duration drain_timeout = 30_s;
  ByteSize max_body = ByteSize::mib(1);
  ByteSize max_body_memory = ByteSize::mib(256);
  ByteSize max_request_memory = ByteSize::mib(16);
  ByteSize max_header = ByteSize::kib(64);
  ByteSize max_header_line = ByteSize::kib(16);
  ByteSize max_request_line = ByteSize::kib(8);
  std::uint32_t max_header_count = 100;
  bool access_log = true;
  bool log_clients = false;
  bool server_timing = false;
  bool request_ids = false;
  std::vector<std::string> trusted_proxies;
  void fields(config::Schema& v);
  // From `address` and `port`; InvalidArgument when it is neither an IP address nor unix:/path.
  Result<Address> listen_address() const;
};

struct HandoverSettings {
  std::string path;  // Empty: no hand-over.
  void fields(config::Schema& v);
};

enum class Engine : std::uint8_t { Auto, Uring, Epoll };

struct NetworkSettings {
  unsigned workers = 0;  // 0: one per core
  Engine engine = Engine::Auto;
  bool tcp_nodelay = true;
  ByteSize read_buffer_size;  // 0: as the engine has it
  ByteSize write_buffer_size = ByteSize::kib(64);
  ByteSize send_buffer;  // 0: as the system has it
  ByteSize recv_buffer;  // 0: as the system has it
  HttpSettings http;
  HandoverSettings handover;
  void fields(config::Schema& v);
};

struct MetricsSettings {
  std::string export_address = "127.0.0.1";
  std::uint16_t export_port = 9090;  // 0: any free one
  double sample_rate = 1.0;
  void fields(config::Schema& v);
};

struct HealthSettings {
  Duration check_interval = 10_s;
  Duration check_timeout = 5_s;
  Duration worker_timeout = 30_s;
  ByteSize disk_free_min = ByteSize::mib(64);
  void fields(config::Schema& v);
};

struct MonitoringSettings {
  bool enabled = true;
  Duration stall = 200_ms;            // 0: not watched
  std::uint32_t measured_every = 16;  // 0: none
  MetricsSettings metrics;
  HealthSettings health;
  void fields(config::Schema& v);
};

struct JsonSettings {
  bool pretty_print = false;
  void fields(config::Schema& v);
};

struct ContainerSettings {
  JsonSettings json;
  void fields(config::Schema& v);
};

struct Settings {
  CommonSettings common;
  ThreadSettings thread;
  LoggingSettings logging;
  DatabaseSettings database;
  NetworkSettings network;
  MonitoringSettings monitoring;
  ContainerSettings container;

  void fields(config::Schema& v);
  // Rules between fields; load() calls it. A deriving struct with rules of its own calls it from its check().
  void check(config::Checks& checks) const;

  // Lines below this are not recorded: logging.level, else common.log_level.
  Level log_level() const noexcept;
  // Lines below this are not for `sink`: its own level, else Trace (what was recorded is written).
  static Level level_of(const SinkSettings& sink) noexcept;

  // The keys that were set explicitly, are accepted, and have no effect in this version; for one warning at start.
  static std::vector<std::string_view> unused(const config::Origins& origins);
};

}  // namespace keel::app
