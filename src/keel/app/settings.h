// keel/app/settings.h — the configuration every Keel service has: threads, logs, database, network, monitoring.
//
// Defaults suit a small service: loopback address, limits on everything, durable writes. The help sentence, range and
// unit of each field are in settings.cc, settings_https.cc, settings_messages.cc or client_settings.cc; --help prints
// them. An application adds its own sections in a derived struct:
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
// A section that sets the options of a part of Keel contains these options or takes its defaults from them. So the
// default of an option is defined in the part of Keel that has the option; this header defines only defaults that no
// part has. The configuration's keys are those in fields(), which maps each key to a member, with one line for each
// key.
//
// Threads: values.
// Cost:    start-up only.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/app/health.h"
#include "keel/app/lifecycle.h"
#include "keel/base/time.h"
#include "keel/config/config.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/server.h"
#include "keel/io/address.h"
#include "keel/io/runtime.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/metric.h"
#include "keel/telemetry/log_writer.h"

namespace keel::db::sqlite {
enum class Synchronous : std::uint8_t;  // db/sqlite/connection.h
}

namespace keel::tls {
enum class ClientCertificates : std::uint8_t;  // net/tls/context.h
enum class Version : std::uint8_t;
}  // namespace keel::tls

namespace keel::app {

// The section `common`.
struct CommonSettings {
  Level log_level = Level::Info;
  Duration start_timeout = 60_s;
  Duration stop_timeout = Lifecycle::usual_stop_timeout;
  bool start_report = false;
  void fields(config::Schema& v);
};

// An element of `thread.pools`.
struct PoolSettings {
  std::string name;
  int size = ThreadPoolOptions().threads;
  int max_size = ThreadPoolOptions().threads_max;
  std::vector<int> affinity = {};  // Empty: the system chooses the CPUs.
  std::size_t queue_max = 0;       // 0: as queue_capacity
  WhenFull when_full = ThreadPoolOptions().when_full;
  void fields(config::Schema& v);
};

// The section `thread.autoscale`.
struct AutoscaleSettings {
  bool enabled = false;
  int min_threads = ThreadPoolOptions().threads;
  int max_threads = 64;
  double scale_up_threshold = ThreadPoolOptions().grow_above;
  double scale_down_threshold = ThreadPoolOptions().shrink_below;
  void fields(config::Schema& v);
};

// The section `thread`.
struct ThreadSettings {
  int pool_size = 0;  // 0: one per core
  std::size_t queue_capacity = 10'000;
  bool affinity = io::RuntimeOptions().pin;
  std::vector<PoolSettings> pools;
  AutoscaleSettings autoscale;
  void fields(config::Schema& v);
  // The settings of the pool `name` in `pools`; null if the pool is not listed.
  const PoolSettings* find(std::string_view name) const noexcept;
  // The size of the pool `name`, or `otherwise` if the pool is not listed.
  int size_of(std::string_view name, int otherwise) const noexcept;
  void check(config::Checks& checks) const;
};

// An element of `logging.sinks`.
struct SinkSettings {
  telemetry::LogSink::To to = telemetry::LogSink().to;  // Stderr or File.
  std::string path = "keel.log";
  // The lowest level of the lines that this sink writes; empty: the sink writes all lines.
  std::optional<Level> level;
  std::optional<telemetry::LineFormat> format;  // None: text if the sink is a terminal, otherwise JSON.
  void fields(config::Schema& v);
};

// The section `logging`.
struct LoggingSettings {
  bool enabled = true;
  bool async = telemetry::LogWriterOptions().mode == telemetry::LogWriterOptions::Mode::Background;
  std::optional<Level> level;  // None: common.log_level.
  log::RingOptions ring;
  std::vector<SinkSettings> sinks = std::vector<SinkSettings>(1);
  std::string crash_file;  // Empty: the report is written only to standard error.
  bool core_memory;
  // Sets the members to the defaults of CrashOptions.
  LoggingSettings();
  void fields(config::Schema& v);
};

// The kinds of databases: `database.type`.
enum class DatabaseType : std::uint8_t { Sqlite, Postgres };

// Fields for the options of the database and its writer.
struct DatabaseSettings {
  DatabaseType type = DatabaseType::Sqlite;
  config::Secret url;  // URL of PostgreSQL as in db/postgres/options.h; it may have a password.
  int connections;
  Duration wait_max;
  Duration statement_timeout;
  Duration max_age;
  bool pooler;
  std::string path;
  int pool_size;
  bool loop_reads = true;
  Duration timeout;
  int cache_kib;
  std::size_t buffer_bytes;
  db::sqlite::Synchronous synchronous;
  int checkpoint_pages;
  int group_max;
  std::size_t queue_max;
  Duration hold_max;
  std::string migrations = "db/migrations";
  // Sets the members to the defaults of the databases' options.
  DatabaseSettings();
  void fields(config::Schema& v);
};

// The section `network.http`.
struct HttpSettings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: any free port.
  std::string socket_mode;    // The mode in octal; empty: the mode that results from the umask.
  bool keep_alive = true;
  Duration drain_delay;
  Duration drain_timeout = 30_s;
  std::vector<std::string> trusted_proxies;
  http::ServerOptions server;  // The options that have no field above.
  void fields(config::Schema& v);
  // Returns the address that `address` and `port` describe. InvalidArgument if `address` is neither an IP address nor
  // unix:/path.
  Result<Address> listen_address() const;
  // Returns the mode that `socket_mode` describes. InvalidArgument if `socket_mode` is not a valid mode, or if the
  // address is not that of a Unix socket.
  Result<std::uint32_t> listen_mode() const;
};

// A further certificate, for other host names.
struct CertificateSettings {
  std::string certificate;
  std::string key;
  std::string ocsp_response;
  void fields(config::Schema& v);
  bool operator==(const CertificateSettings&) const = default;
};

// What the plain-text listener does if a TLS listener exists too.
enum class PlainHttp : std::uint8_t { Serve, Redirect, Off };

// A second listener, with TLS, for the same service; the limits in HttpSettings apply to it too.
struct HttpsSettings {
  std::string certificate;  // Empty: no listener with TLS exists.
  std::string key;
  std::string ocsp_response;  // Empty: none.
  std::vector<CertificateSettings> more;
  std::string address;        // Empty: the address in HttpSettings.
  std::uint16_t port = 8443;  // 0: any free port.
  PlainHttp plain_http = PlainHttp::Serve;
  std::uint16_t redirect_port = 0;  // 0: `port`
  Duration hsts;
  tls::ClientCertificates client_certificates;
  std::string client_roots;
  std::string client_revoked;
  tls::Version version_min;
  bool tickets;
  Duration handshake_timeout;
  // Sets the members to the defaults of the server's options and of tls::ServerOptions.
  HttpsSettings();
  void fields(config::Schema& v);
  void check(config::Checks& checks) const;
  bool operator==(const HttpsSettings&) const = default;
  bool is_on() const noexcept { return !certificate.empty(); }
  // All files that the settings of this section name.
  std::vector<std::string> files() const;
  // The port to which redirects send clients.
  std::uint16_t redirect_target() const noexcept { return redirect_port != 0 ? redirect_port : port; }
};

// The section `network.handover`.
struct HandoverSettings {
  std::string path;  // Empty: no hand-over.
  void fields(config::Schema& v);
};

// The settings of an HTTP client of the application (App::client). Options that the configuration does not set keep the
// values that the application chose.
struct ClientSettings {
  std::string base_url;
  Duration timeout;
  Duration connect_timeout;
  Duration first_byte_timeout;
  Duration read_timeout;
  std::size_t connections_max;
  std::size_t connections_per_origin_max;
  std::size_t body_bytes_max;
  int attempts_max;
  config::Secret proxy;  // As in http::ClientOptions: a URL, which may contain a password.
  std::vector<std::string> no_proxy;
  bool decompresses;
  std::string roots;    // Empty: the system's.
  std::string revoked;  // Empty: certificates are not checked for revocation.
  std::string certificate;
  std::string key;
  // Sets the members to the defaults of a client's options.
  ClientSettings();
  void fields(config::Schema& v);
  // `path`: "network.clients.NAME.".
  void check(const std::string& path, config::Checks& checks) const;
};

// The limits of a connection for messages, whether of a server or of a client (messages::PeerOptions).
struct PeerSettings {
  std::uint32_t frame_bytes_max;
  std::uint16_t requests_max;
  std::uint16_t messages_max;
  std::uint16_t streams_max;
  std::uint32_t stream_bytes_max;
  std::size_t queued_bytes_max;
  Duration heartbeat;
  Duration stall_timeout;
  Duration hello_timeout;
  bool checksums;
  // Sets the members to the defaults of messages::PeerOptions.
  PeerSettings();
  enum class Of : std::uint8_t { Server, Pool };
  // A reload can change the limits of a server.
  void fields(config::Schema& v, Of whom);
};

// The section `network.messages.sessions`.
struct SessionSettings {
  Duration expiry;
  std::size_t sessions_max;
  std::uint32_t ring_messages;
  std::uint32_t ring_bytes;
  std::uint32_t window_messages;
  std::uint32_t window_bytes;
  // Sets the members to the defaults of a server's options.
  SessionSettings();
  void fields(config::Schema& v);
};

// The section `network.messages`.
struct MessagesSettings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 7000;  // 0: any free port.
  std::string socket_mode;    // As in HttpSettings.
  bool tls = false;
  std::string client_roots;  // Empty: clients need no certificate.
  std::string client_revoked;
  std::size_t connections_max;
  Duration drain;
  PeerSettings peer;
  SessionSettings sessions;
  // Sets the members to the defaults of a server's options.
  MessagesSettings();
  void fields(config::Schema& v);
  void check(bool has_certificate, config::Checks& checks) const;
  // The same as HttpSettings::listen_address() and listen_mode(), but for messages.
  Result<Address> listen_address() const;
  Result<std::uint32_t> listen_mode() const;
};

// The settings of a pool of connections for messages (App::message_pool). Options that the configuration does not set
// keep the values that the application chose.
struct MessagePoolSettings {
  std::vector<std::string> endpoints;
  std::size_t connections;
  Duration timeout;
  Duration connect_timeout;
  Duration refresh;
  Duration eject_first;
  Duration eject_max;
  int attempts_max;
  Duration backoff_first;
  Duration backoff_max;
  double budget_ratio;
  std::uint32_t budget_max;
  double breaker_failure_ratio;
  std::uint32_t breaker_calls_min;
  Duration breaker_window;
  Duration breaker_open_time;
  PeerSettings peer;
  bool tls = false;
  std::string roots;    // Empty: the system's.
  std::string revoked;  // Empty: certificates are not checked for revocation.
  std::string certificate;
  std::string key;
  // Sets the members to the defaults of a pool's options.
  MessagePoolSettings();
  void fields(config::Schema& v);
  // `path`: "network.pools.NAME.".
  void check(const std::string& path, config::Checks& checks) const;
};

// The section `network`.
struct NetworkSettings {
  io::RuntimeOptions runtime;
  HttpSettings http;
  HttpsSettings https;
  std::map<std::string, ClientSettings> clients;
  MessagesSettings messages;
  std::map<std::string, MessagePoolSettings> pools;
  HandoverSettings handover;
  void fields(config::Schema& v);
  // The same as HttpSettings::listen_address(), but for the listener with TLS.
  Result<Address> https_address() const;
};

// The section `monitoring.metrics`.
struct MetricsSettings {
  std::string export_address = "127.0.0.1";
  std::uint16_t export_port = 9090;  // 0: any free port.
  std::vector<std::string> export_names;
  bool https = false;
  std::string client_roots;  // Empty: clients need no certificate.
  std::string client_revoked;
  metrics::RegistryOptions registry;
  void fields(config::Schema& v);
  // The same as HttpSettings::listen_address(), but for the admin listener.
  Result<Address> listen_address() const;
};

// A second listener, for probes and scrapes from outside.
struct ProbesSettings {
  std::string address;        // Empty: none.
  std::uint16_t port = 9091;  // 0: any free port.
  bool https = false;
  void fields(config::Schema& v);
  Result<Address> listen_address() const;
};

// The section `monitoring.health`.
struct HealthSettings {
  Duration check_interval = 10_s;
  Duration check_timeout = HealthOptions().timeout;
  Duration worker_timeout = 30_s;
  config::ByteSize disk_free_min = config::ByteSize::mib(64);
  void fields(config::Schema& v);
};

// The section `monitoring`.
struct MonitoringSettings {
  bool enabled = true;
  Duration stall = 200_ms;  // 0: not watched
  std::uint32_t measured_every = http::ServerOptions().measured_every;
  MetricsSettings metrics;
  ProbesSettings probes;
  HealthSettings health;
  void fields(config::Schema& v);
};

// The section `container`.
struct ContainerSettings {
  bool indent_json;
  // Sets the members to the defaults of the server's options.
  ContainerSettings();
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
  // Checks rules between fields; load() calls it. A derived struct with rules of its own has its own check(), which
  // calls this check().
  void check(config::Checks& checks) const;

  // The level below which lines are not recorded: logging.level or, if that is not set, common.log_level.
  Level log_level() const noexcept;
};

}  // namespace keel::app
