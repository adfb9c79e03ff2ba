#include "keel/app/settings.h"

#include <charconv>
#include <string>
#include <system_error>

#include "keel/app/crash.h"
#include "keel/app/internal/database_options.h"
#include "keel/app/internal/https_rules.h"
#include "keel/app/internal/listen_rules.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/forwarded.h"
#include "keel/http/server/upgrade.h"

namespace keel::app {
namespace {

using config::Bytes;
using config::ByteSize;
using config::field;
using telemetry::LineFormat;
using telemetry::LogSink;

constexpr auto level_names = config::names<Level>({{"trace", Level::Trace},
                                                   {"debug", Level::Debug},
                                                   {"info", Level::Info},
                                                   {"warn", Level::Warn},
                                                   {"error", Level::Error},
                                                   {"fatal", Level::Fatal}});
constexpr auto threshold_names = config::names<std::optional<Level>>({{"inherit", {}},
                                                                      {"trace", Level::Trace},
                                                                      {"debug", Level::Debug},
                                                                      {"info", Level::Info},
                                                                      {"warn", Level::Warn},
                                                                      {"error", Level::Error},
                                                                      {"fatal", Level::Fatal}});
constexpr auto sink_names = config::names<LogSink::To>({{"console", LogSink::To::Stderr}, {"file", LogSink::To::File}});
constexpr auto format_names =
    config::names<std::optional<LineFormat>>({{"auto", {}}, {"json", LineFormat::Json}, {"text", LineFormat::Text}});
constexpr auto overflow_names = config::names<log::Overflow>({{"block", log::Overflow::Block},
                                                              {"drop_newest", log::Overflow::DropNewest},
                                                              {"drop_oldest", log::Overflow::DropOldest}});
constexpr auto database_type_names =
    config::names<DatabaseType>({{"sqlite", DatabaseType::Sqlite}, {"postgres", DatabaseType::Postgres}});
constexpr auto synchronous_names = config::names<db::sqlite::Synchronous>({{"full", db::sqlite::Synchronous::Full},
                                                                           {"normal", db::sqlite::Synchronous::Normal},
                                                                           {"off", db::sqlite::Synchronous::Off}});
constexpr auto engine_names = config::names<io::EngineKind>(
    {{"auto", io::EngineKind::Auto}, {"uring", io::EngineKind::Uring}, {"epoll", io::EngineKind::Epoll}});

constexpr auto when_full_names = config::names<WhenFull>(
    {{"refuse", WhenFull::Refuse}, {"block", WhenFull::Block}, {"run_in_caller", WhenFull::RunInCaller}});
constexpr auto forwarded_by_names = config::names<http::ForwardedBy>({{"x_forwarded", http::ForwardedBy::XForwarded},
                                                                      {"forwarded", http::ForwardedBy::Forwarded},
                                                                      {"x_real_ip", http::ForwardedBy::XRealIp}});
constexpr auto trusted_names =
    config::names<http::TrustedPeers>({{"nobody", http::TrustedPeers::Nobody},
                                       {"trusted_proxies", http::TrustedPeers::TrustedProxies},
                                       {"everybody", http::TrustedPeers::Everybody}});
constexpr int cpu_max = 1023;  // The highest CPU number in the set that the system accepts.

constexpr config::Range<Duration> time_limit = {1_ms, 24_h};

Result<Address> address_of(const std::string& address, std::uint16_t port) {
  return address.starts_with("unix:") ? Address::parse(address) : Address::ip(address, port);
}

}  // namespace

void CommonSettings::fields(config::Schema& v) {
  field(v, "log_level", log_level, "lines below this level are not recorded, unless logging.level says otherwise",
        level_names)
      .reloadable();
  field(v, "start_timeout_sec", start_timeout,
        "time limit for each part of the service to start; a part that exceeds it ends the process with exit code 1",
        time_limit);
  field(v, "stop_timeout_sec", stop_timeout,
        "time limit for all parts to stop, in addition to the time limits of the drain; after both, the process exits "
        "without waiting any longer",
        time_limit);
  field(v, "start_report", start_report, "print how long each part of the start took");
}

void PoolSettings::fields(config::Schema& v) {
  field(v, "name", name, "name of the pool: database, network, or a name that the application uses");
  field(v, "size", size, "number of threads of this pool", {1, 1024});
  field(v, "max_size", max_size,
        "maximum number of threads when the pool grows and shrinks by the thresholds of autoscale; 0: the number of "
        "threads is always the value of size",
        {0, 1024});
  field(v, "affinity", affinity,
        "CPUs to which the pool's threads are pinned, one CPU for each thread in turn; empty: not pinned");
  field(v, "queue_max", queue_max, "maximum number of tasks that wait for this pool; 0: the value of queue_capacity",
        {0, 10'000'000});
  field(v, "when_full", when_full,
        "what happens when the queue is full: refuse rejects the task, block makes the submitting thread wait, "
        "run_in_caller makes the submitting thread run the task itself; a worker never waits, so block rejects a task "
        "that a worker submits",
        when_full_names);
}

void AutoscaleSettings::fields(config::Schema& v) {
  field(v, "enabled", enabled,
        "pools that thread.pools does not list grow and shrink between min_threads and max_threads; pool_size is "
        "ignored");
  field(v, "min_threads", min_threads, "minimum number of threads of a pool that grows and shrinks", {1, 1024});
  field(v, "max_threads", max_threads, "maximum number of threads of a pool that grows and shrinks", {1, 1024});
  field(v, "scale_up_threshold", scale_up_threshold,
        "a pool adds a thread when jobs wait and the pool's threads are busy for more than this share of their time",
        {0, 1});
  field(v, "scale_down_threshold", scale_down_threshold,
        "a pool ends a thread when its threads are busy for less than this share of their time", {0, 1});
}

void ThreadSettings::fields(config::Schema& v) {
  field(v, "pool_size", pool_size, "number of threads of the default pool for blocking work; 0: one per core",
        {0, 1024});
  field(v, "queue_capacity", queue_capacity, "maximum number of tasks that wait for a pool; further tasks are rejected",
        {1, 10'000'000});
  field(v, "affinity", affinity, "pin each event loop to its own core");
  field(v, "pools", pools, "named pools, so that one kind of work cannot starve another");
  field(v, "autoscale", autoscale, "elastic pools");
}

const PoolSettings* ThreadSettings::find(std::string_view name) const noexcept {
  for (const PoolSettings& pool : pools) {
    if (pool.name == name) return &pool;
  }
  return nullptr;
}
int ThreadSettings::size_of(std::string_view name, int otherwise) const noexcept {
  const PoolSettings* const pool = find(name);
  return pool != nullptr ? pool->size : otherwise;
}

void SinkSettings::fields(config::Schema& v) {
  field(v, "type", to, "where the sink writes lines: console is standard error", sink_names);
  field(v, "path", path, "the file to which a file sink appends");
  field(v, "level", level, "this sink omits lines below this level; inherit: it writes all recorded lines",
        threshold_names);
  field(v, "format", format, "json for machines, text for people; auto: text if the sink is a terminal, otherwise json",
        format_names);
}

LoggingSettings::LoggingSettings() : core_memory(CrashOptions().core_memory) {}

void LoggingSettings::fields(config::Schema& v) {
  field(v, "enabled", enabled, "whether log lines are recorded").reloadable();
  field(v, "async", async,
        "format and write log lines on a separate thread; false: on the thread that logs, which waits until they are "
        "written");
  field(v, "level", level, "lines below this level are not recorded; inherit: the value of common.log_level",
        threshold_names)
      .reloadable();
  field(v, "ring_buffer_size_mb", Bytes(ring.bytes),
        "size of each thread's buffer for log lines that are waiting to be written",
        {ByteSize::mib(1), ByteSize::mib(1024)});
  field(v, "overflow", ring.overflow,
        "what happens when a thread's buffer for log lines is full; dropped lines are "
        "counted",
        overflow_names);
  field(v, "sinks", sinks, "where lines go").reloadable();
  field(v, "crash_file", crash_file,
        "file to which the report of a crash is appended, in addition to standard error; empty: standard error only");
  field(v, "core_memory", core_memory,
        "core dumps include the memory of the process, which contains data that clients sent");
}

DatabaseSettings::DatabaseSettings() {
  const db::sqlite::DatabaseOptions defaults;
  internal::each_database_option(*this, defaults, [](auto& setting, const auto& option) { setting = option; });
  const db::postgres::DatabaseOptions of_server;
  internal::each_postgres_option(*this, of_server, [](auto& setting, const auto& option) { setting = option; });
}

void DatabaseSettings::fields(config::Schema& v) {
  field(v, "type", type, "the kind of database: sqlite (a file that this process opens) or postgres (a server)",
        database_type_names);
  field(v, "url", url,
        "postgres: URL of the server with user and database, postgres://user:password@host:5432/database; PG... "
        "environment variables supply the missing parts");
  field(v, "connections", connections, "postgres: number of connections of each worker", {1, 256});
  field(v, "wait_max_sec", wait_max,
        "postgres: how long a statement waits for a free connection before the request gets 503", {1_ms, 1_h});
  field(v, "statement_timeout_sec", statement_timeout,
        "postgres: time after which the server cancels a statement; 0: the server's own limit", {Duration(), 24_h});
  field(v, "max_age_sec", max_age,
        "postgres: maximum age of a connection; a connection of this age is replaced as soon as it is idle; 0: never",
        {Duration(), 24_h});
  field(v, "pooler", pooler,
        "postgres: connections go through a pooler that changes sessions between transactions, such as pgbouncer");
  field(v, "path", path, "sqlite: the database's file; its folder is created if it does not exist");
  field(v, "pool_size", pool_size,
        "sqlite: number of connections of the database pool, for reads that take too long for an event loop",
        {1, 1024});
  field(v, "loop_reads", loop_reads,
        "sqlite: run short reads on the event loop of their caller; false: run all reads on the database pool");
  field(v, "timeout_sec", timeout, "sqlite: how long a write may wait for a lock that another process holds",
        {1_ms, 1_h});
  field(v, "cache_size_mb", config::Kibibytes(cache_kib), "sqlite: size of the page cache of each connection",
        {ByteSize::mib(1), ByteSize::mib(65'536)});
  field(v, "buffer_size_kb", config::Bytes(buffer_bytes),
        "sqlite: between reads, a worker's connection keeps up to this much memory for rows; the memory of larger "
        "results is freed after each read",
        {ByteSize::kib(1), ByteSize::mib(64)});
  field(v, "synchronous", synchronous,
        "sqlite: when a commit is written to disk; full: before the commit is acknowledged; with normal and off, "
        "acknowledged writes may be lost when the machine fails",
        synchronous_names);
  field(v, "checkpoint_pages", checkpoint_pages,
        "sqlite: a commit that leaves at least this many pages in the write-ahead log moves these pages to the "
        "database's file",
        {1, 1'000'000});
  field(v, "group_max", group_max,
        "sqlite: maximum number of writes in one commit; 1: each write has its own commit and fsync", {1, 65'536});
  field(v, "queue_max", queue_max,
        "maximum number of waiting writes (postgres: waiting statements of each worker); at this number, requests with "
        "further writes or statements get 503",
        {1, 10'000'000});
  field(v, "hold_max_sec", hold_max,
        "how long a transaction that begin() has begun may block all other writes (postgres: may keep its connection) "
        "before it is rolled back",
        {1_ms, 1_h});
  field(v, "migrations", migrations,
        "folder of the migrations NNNN_name.sql, which are applied at the start; empty text: none");
}

void HttpSettings::fields(config::Schema& v) {
  http::Limits& limits = server.limits;
  field(v, "address", address, "address to listen on; 0.0.0.0 or :: for all interfaces; unix:/path for a Unix socket");
  field(v, "port", port, "port to listen on; 0: any free port");
  field(v, "socket_mode", socket_mode,
        "permissions of a Unix socket, in octal as for chmod (0660: owner and group may connect), independent of the "
        "umask; empty text: determined by the umask");
  field(v, "max_connections", limits.connections_max,
        "maximum number of open connections of the process; at this limit, the process stops accepting until a "
        "connection closes",
        {1, 10'000'000})
      .reloadable();
  field(v, "max_connections_per_client", limits.client_connections_max,
        "maximum number of open connections of one client address (IPv6: of one /64), except trusted proxies and Unix "
        "sockets; further connections are reset; 0: half of max_connections for a public address, no limit for other "
        "addresses",
        {0, 10'000'000})
      .reloadable();
  field(v, "keep_alive", keep_alive, "keep connections open between requests").reloadable();
  field(v, "max_requests_per_connection", limits.requests_per_connection_max,
        "maximum number of requests on one connection; at this number, the connection is closed", {1, 1'000'000'000})
      .reloadable();
  field(v, "request_timeout_sec", limits.request_timeout, "time limit of a handler; a request that exceeds it gets 504",
        time_limit)
      .reloadable();
  field(v, "header_timeout_sec", limits.header_timeout,
        "time limit from the first byte of a request's head to its last; a request that exceeds it gets 408",
        time_limit)
      .reloadable();
  field(v, "body_timeout_sec", limits.body_timeout,
        "time limit for a complete body to arrive, or for the next piece of a body that the handler reads as a stream; "
        "a request that exceeds it gets 408",
        time_limit)
      .reloadable();
  field(v, "body_rate_min", limits.body_rate_min,
        "minimum average rate of a body, in bytes a second, after body_rate_grace_sec; a request with a slower body "
        "gets 408; 0: no minimum",
        {0, 1'000'000'000})
      .reloadable();
  field(v, "body_rate_grace_sec", limits.body_rate_grace, "time before body_rate_min applies", time_limit).reloadable();
  field(v, "queue_delay_max_sec", limits.queue_delay_max,
        "longest time from the arrival of a request to the start of its handler; while requests wait longer than this "
        "in every loop iteration of a worker, that worker responds to them with 503",
        time_limit)
      .reloadable();
  field(v, "idle_timeout_sec", limits.idle_timeout,
        "maximum time between two requests; after that time, the connection is closed", time_limit)
      .reloadable();
  field(v, "send_timeout_sec", limits.send_timeout,
        "the time for which a client may receive nothing of a response; after that time, the connection is reset",
        time_limit)
      .reloadable();
  field(v, "user_timeout_sec", limits.user_timeout,
        "TCP_USER_TIMEOUT: time limit for the client to acknowledge sent data, even after the connection was closed; "
        "it must be above send_timeout_sec; 0: the system's default",
        {Duration(), 24_h})
      .reloadable();
  field(v, "send_rate_min", limits.send_rate_min,
        "minimum rate at which a client receives a response, in bytes a second; below it the connection is reset; 0: "
        "no minimum",
        {0, 1'000'000'000})
      .reloadable();
  field(v, "send_rate_grace_sec", limits.send_rate_grace,
        "period over which send_rate_min is measured; the first period is not checked", time_limit)
      .reloadable();
  field(v, "linger_timeout_sec", limits.linger_timeout,
        "after the last response, time limit for each further piece of data from a client that still sends; after that "
        "time, the connection is closed",
        time_limit)
      .reloadable();
  field(v, "linger_time_max_sec", limits.linger_time_max,
        "after the last response, time limit for all of the data that a client still sends; after that time, the "
        "connection is closed",
        time_limit)
      .reloadable();
  field(v, "drain_delay_sec", drain_delay,
        "how long readiness fails before the listeners close, so that load balancers notice the failure; this time "
        "comes in addition to drain_timeout_sec",
        {Duration(), 1_h})
      .reloadable();
  field(v, "drain_timeout_sec", drain_timeout, "time limit for requests in progress to finish after SIGTERM",
        {Duration(), 24_h})
      .reloadable();
  field(v, "max_body", Bytes(limits.body_bytes_max),
        "largest body of a request, after decoding; a request with a larger body gets 413",
        {ByteSize{0}, ByteSize::mib(1 << 20)})
      .reloadable();
  field(v, "max_body_memory", Bytes(limits.bodies_bytes_max),
        "memory for the bodies of all requests, shared evenly by workers; at the limit, requests with further bodies "
        "get 503",
        {ByteSize::kib(64), ByteSize::mib(1 << 20)})
      .reloadable();
  field(v, "max_body_memory_per_client", Bytes(limits.client_bodies_bytes_max),
        "memory for the bodies from one client address; it does not limit a client that sends only one body at a time; "
        "at the limit, requests with further bodies get 429; 0: half of max_body_memory for a public address, no limit "
        "for other addresses",
        {ByteSize{0}, ByteSize::mib(1 << 20)})
      .reloadable();
  field(v, "max_response_memory", Bytes(limits.responses_bytes_max),
        "memory for responses that wait for their clients, shared evenly by workers; at the limit, responses of 4 KiB "
        "and more are replaced by 503, and if no client receives any data, the connections of the slowest clients are "
        "reset",
        {ByteSize::kib(64), ByteSize::mib(1 << 20)})
      .reloadable();
  field(v, "max_received_memory", Bytes(limits.received_bytes_max),
        "memory for received bytes that are not a complete request yet, shared evenly by workers; at the limit, the "
        "connections that have waited longest are reset",
        {ByteSize::kib(64), ByteSize::mib(1 << 20)})
      .reloadable();
  field(v, "max_request_memory", Bytes(limits.request_bytes_max),
        "memory for parsing and handling one request, without its body; a request that needs more gets 503",
        {ByteSize::kib(64), ByteSize::mib(1 << 20)})
      .reloadable();
  field(v, "max_header", Bytes(limits.head.head_bytes_max),
        "largest head of a request; a request with a larger head gets 431", {ByteSize{256}, ByteSize::mib(1)})
      .reloadable();
  field(v, "max_header_line", Bytes(limits.head.field_line_bytes_max),
        "largest header line of a request; a request with a larger line gets 431", {ByteSize{128}, ByteSize::mib(1)})
      .reloadable();
  field(v, "max_request_line", Bytes(limits.head.request_line_bytes_max),
        "largest request line (method, target and version); a request with a larger line gets 414",
        {ByteSize{128}, ByteSize::mib(1)})
      .reloadable();
  field(v, "max_header_count", limits.head.fields_max,
        "maximum number of header lines of a request; a request with more lines gets 431", {1, 100})
      .reloadable();
  field(v, "access_log", server.access_log, "log one line for each request, at level info").reloadable();
  field(v, "log_clients", server.log_clients,
        "log the client's address in each line of the access log, and in each line about a rejected request");
  field(v, "server_timing", server.server_timing,
        "add a Server-Timing field to each response, with the time spent in each stage");
  field(v, "request_ids", server.request_ids, "add X-Request-Id to each response, and request_id to the access log");
  field(v, "trusted_proxies", trusted_proxies,
        "networks of trusted proxies (10.0.0.0/8, fd00::/8, one address, unix): from these proxies, the service "
        "accepts the client's address in the field that forwarded_by selects, and the fields of each ..._from key "
        "whose value is trusted_proxies");
  field(v, "proxy_protocol", server.proxy_protocol,
        "each connection from a trusted proxy begins with a PROXY protocol header, version 1 or 2, which contains the "
        "client's address; this applies to https too");
  field(v, "forwarded_by", server.forwarded_by,
        "the field in which the trusted proxies name the client: X-Forwarded-For, Forwarded or X-Real-IP; the other "
        "two fields are ignored, because a client may have sent them. Scheme and host come from X-Forwarded-Proto and "
        "-Host, or from Forwarded",
        forwarded_by_names);
  field(v, "proto_from", server.believed.proto,
        "the peers that are trusted to say whether the client used http or https", trusted_names);
  field(v, "host_from", server.believed.host,
        "the peers whose X-Forwarded-Host or Forwarded is used as the host of a request; nobody: the host is always "
        "that of the field Host",
        trusted_names);
  field(v, "request_id_from", server.believed.request_id, "the peers whose X-Request-Id is used as the id of a request",
        trusted_names);
  field(v, "trace_from", server.believed.trace,
        "the peers whose field traceparent is used: their requests continue the trace that the field names",
        trusted_names);
  field(v, "deadline_from", server.believed.deadline,
        "the peers whose X-Request-Deadline-Ms shortens the time limit of a handler", trusted_names);
  field(v, "upgrade_origins", server.upgrade_origins,
        "origins (https://app.example.com) whose pages may open a WebSocket or upgrade to another protocol, in "
        "addition to pages of the service's own origin; '*': every origin");
}

Result<Address> internal::listen_address_of(const std::string& address, std::uint16_t port) {
  return address_of(address, port);
}

Result<Address> HttpSettings::listen_address() const { return address_of(address, port); }

Result<std::uint32_t> internal::socket_mode_of(const std::string& address, const std::string& socket_mode) {
  if (socket_mode.empty()) return 0u;
  if (!address.starts_with("unix:"))
    return fail(Code::InvalidArgument, "has no effect: the address is not a Unix socket");
  std::uint32_t mode = 0;
  const auto [end, error] = std::from_chars(socket_mode.data(), socket_mode.data() + socket_mode.size(), mode, 8);
  if (error != std::errc() || end != socket_mode.data() + socket_mode.size() || mode == 0 || mode > 0777) {
    return fail(Code::InvalidArgument, "expected an octal mode from 0001 to 0777, such as 0660");
  }
  return mode;
}

Result<std::uint32_t> HttpSettings::listen_mode() const { return internal::socket_mode_of(address, socket_mode); }

Result<Address> NetworkSettings::https_address() const {
  return address_of(https.address.empty() ? http.address : https.address, https.port);
}

void HandoverSettings::fields(config::Schema& v) {
  field(v, "path", path,
        "Unix socket through which a new process with the same path receives the listening sockets of the running "
        "process; the running process then drains; empty text: no hand-over");
}

void NetworkSettings::fields(config::Schema& v) {
  field(v, "workers", runtime.workers, "number of event loops, each with its own thread; 0: one per core", {0, 1024});
  field(v, "engine", runtime.engine,
        "kernel interface of the event loops; auto: io_uring if it passes its probe, otherwise epoll", engine_names);
  field(v, "tcp_nodelay", http.server.listen.no_delay, "send small responses immediately");
  field(v, "read_buffer_size_kb", Bytes(runtime.engine_options.receive_bytes),
        "size of the buffer of one read; 0: the engine's default, 16 KiB for uring, 64 KiB for epoll",
        {ByteSize{0}, ByteSize::mib(1)});
  field(v, "write_buffer_size_kb", Bytes(http.server.limits.pipeline_bytes_max),
        "maximum size of the unsent responses of a connection; above it, the connection's further requests wait",
        {ByteSize::kib(1), ByteSize::mib(64)})
      .reloadable();
  field(v, "send_buffer_kb", Bytes(http.server.listen.send_buffer_bytes),
        "size of the kernel's send buffer of each connection; 0: the system's default",
        {ByteSize{0}, ByteSize::mib(64)});
  field(v, "recv_buffer_kb", Bytes(http.server.listen.receive_buffer_bytes),
        "size of the kernel's receive buffer of each connection; 0: the system's default",
        {ByteSize{0}, ByteSize::mib(64)});
  field(v, "http", http, "the HTTP server");
  field(v, "https", https, "the server for https, with the same routes as network.http");
  field(v, "clients", clients,
        "HTTP clients of the application, by name; a key that is not set here has the application's own default");
  field(v, "messages", messages, "the server for messages and sessions");
  field(v, "pools", pools,
        "pools of connections for messages, by name; a key that is not set here has the application's own default");
  field(v, "handover", handover, "restarts of the service that reject no connection");
}

void MetricsSettings::fields(config::Schema& v) {
  field(v, "export_address", export_address,
        "address of the admin listener, or unix:/path; the listener serves metrics, health and this configuration");
  field(v, "export_port", export_port, "port of the admin listener; 0: any free port");
  field(v, "export_names", export_names,
        "host names that the admin listener and the listener for probes accept in addition to IP addresses and "
        "localhost; a request with another host gets 421");
  field(v, "https", https, "whether the admin listener serves only https, with the certificate of network.https");
  field(v, "client_roots", client_roots,
        "PEM file of the roots that issue the certificates of the admin listener's clients; a client without such a "
        "certificate is rejected; empty text: clients need no certificate");
  field(v, "client_revoked", client_revoked, "PEM file of certificate revocation lists (CRL); empty text: none");
  field(v, "sample_rate", registry.sample_rate,
        "fraction of histogram observations that are recorded; counters are exact", {1e-6, 1});
}

Result<Address> MetricsSettings::listen_address() const { return address_of(export_address, export_port); }

void ProbesSettings::fields(config::Schema& v) {
  field(v, "address", address,
        "address, or unix:/path, of another listener, which serves only metrics and health, for probes from outside; "
        "empty text: none");
  field(v, "port", port, "port of the listener for probes; 0: any free port");
  field(v, "https", https, "whether the listener for probes serves only https, with the certificate of network.https");
}

Result<Address> ProbesSettings::listen_address() const { return address_of(address, port); }

void HealthSettings::fields(config::Schema& v) {
  field(v, "check_interval_sec", check_interval, "how often each check runs", {10_ms, 24_h});
  field(v, "check_timeout_sec", check_timeout, "a check that gives no result within this time counts as failed",
        {1_ms, 1_h});
  field(v, "worker_timeout_sec", worker_timeout,
        "if the event loop of a worker does not respond for this time, /healthz fails", {10_ms, 1_h});
  field(v, "disk_free_min", disk_free_min,
        "the service is degraded if the free disk space for data or logs is below this size")
      .reloadable();
}

void MonitoringSettings::fields(config::Schema& v) {
  field(v, "enabled", enabled, "whether the service has an admin listener");
  field(v, "stall_ms", stall, "when a worker blocks its event loop for longer than this, its stack is logged; 0: never",
        {Duration(), 1_h});
  field(v, "measured_every", measured_every,
        "out of this many requests, one is measured by stage (parsing, handler, database, ...); 0: "
        "none",
        {0, 1'000'000});
  field(v, "metrics", metrics, "metrics and the admin listener");
  field(v, "probes", probes, "a listener for probes");
  field(v, "health", health, "health checks");
}

ContainerSettings::ContainerSettings() : indent_json(http::ServerOptions().indent_json) {}

void ContainerSettings::fields(config::Schema& v) {
  v.open("json", "JSON text");
  field(v, "pretty_print", indent_json, "write JSON indented, one member per line, for people to read");
  v.close();
}

void Settings::fields(config::Schema& v) {
  field(v, "common", common, "settings that apply to several sections");
  field(v, "thread", thread, "thread pools, in addition to the threads of the event loops");
  field(v, "logging", logging, "which log lines are recorded, and where they are written");
  field(v, "database", database, "the database");
  field(v, "network", network, "event loops and listeners");
  field(v, "monitoring", monitoring, "metrics, health and the admin listener");
  field(v, "container", container, "how values are formatted");
}

void ThreadSettings::check(config::Checks& checks) const {
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const PoolSettings& pool = pools[i];
    const std::string path = "thread.pools." + std::to_string(i) + ".";
    if (pool.name.empty()) checks.refuse(path + "name", "a pool must have a name");
    for (std::size_t j = 0; j < i; ++j) {
      if (!pool.name.empty() && pool.name == pools[j].name) {
        checks.refuse(path + "name", "two pools have the name \"" + pool.name + "\"");
        break;
      }
    }
    if (pool.max_size != 0 && pool.max_size < pool.size) {
      checks.refuse(path + "max_size", "is below " + path + "size: raise max_size, or omit max_size for a fixed size");
    }
    for (std::size_t j = 0; j < pool.affinity.size(); ++j) {
      if (pool.affinity[j] >= 0 && pool.affinity[j] <= cpu_max) continue;
      checks.refuse(path + "affinity." + std::to_string(j),
                    std::to_string(pool.affinity[j]) + " is out of range: expected the number of a CPU, from 0 to " +
                        std::to_string(cpu_max));
    }
    // The pools "network" and "database" are not ThreadPools: they consist of the workers and of the database's
    // connections.
    if (pool.name != "network" && pool.name != "database") continue;
    const auto has_no_effect = [&](bool is_set, const char* key) {
      if (!is_set) return;
      checks.refuse(path + key, "has no effect: for the pool \"" + pool.name + "\" only the size can be set here");
    };
    has_no_effect(pool.max_size != 0, "max_size");
    has_no_effect(!pool.affinity.empty(), "affinity");
    has_no_effect(pool.queue_max != 0, "queue_max");
    has_no_effect(pool.when_full != WhenFull::Refuse, "when_full");
  }
}

void Settings::check(config::Checks& checks) const {
  thread.check(checks);
  if (thread.autoscale.min_threads > thread.autoscale.max_threads) {
    checks.refuse("thread.autoscale.min_threads", "is above thread.autoscale.max_threads");
  }
  if (thread.autoscale.scale_down_threshold > thread.autoscale.scale_up_threshold) {
    checks.refuse("thread.autoscale.scale_down_threshold", "is above thread.autoscale.scale_up_threshold");
  }
  for (std::size_t i = 0; i < logging.sinks.size(); ++i) {
    if (logging.sinks[i].to == LogSink::To::File && logging.sinks[i].path.empty()) {
      checks.refuse("logging.sinks." + std::to_string(i) + ".path", "a file sink must have a path");
    }
  }
  const auto check = [&checks](const std::string& path, const auto& result) {
    if (!result) checks.refuse(path, result.error().message());
  };
  check("network.http.address", network.http.listen_address());
  network.https.check(checks);
  for (const auto& [name, client] : network.clients) client.check("network.clients." + name + '.', checks);
  network.messages.check(network.https.is_on(), checks);
  for (const auto& [name, pool] : network.pools) pool.check("network.pools." + name + '.', checks);
  const bool has_proxies = !network.http.trusted_proxies.empty();
  const bool by_proxy_protocol = network.http.server.proxy_protocol;
  if (by_proxy_protocol && !has_proxies) {
    checks.refuse("network.http.proxy_protocol", "has no effect without network.http.trusted_proxies");
  }
  if (network.https.plain_http == PlainHttp::Redirect && has_proxies && !by_proxy_protocol) {
    checks.refuse("network.https.plain_http",
                  "with this value the listener of network.http serves nothing, not even the https requests of "
                  "network.http.trusted_proxies: use serve, and let the proxies redirect");
  }
  if (const auto address = network.https_address(); network.https.is_on() && !address) {
    checks.refuse("network.https.address", address.error().message());
  } else if (network.https.is_on() && address->is_unix()) {
    checks.refuse("network.https.address", "expected an IP address: a Unix socket needs no TLS");
  }
  check("network.http.socket_mode", network.http.listen_mode());
  const std::vector<std::string>& origins = network.http.server.upgrade_origins;
  for (std::size_t i = 0; i < origins.size(); ++i) {
    if (origins[i] == "*" || http::is_site(origins[i])) continue;
    checks.refuse("network.http.upgrade_origins." + std::to_string(i),
                  "expected scheme://host, scheme://host:port or '*'");
  }
  for (std::size_t i = 0; i < network.http.trusted_proxies.size(); ++i) {
    check("network.http.trusted_proxies." + std::to_string(i), Network::parse(network.http.trusted_proxies[i]));
  }
  check("monitoring.metrics.export_address", monitoring.metrics.listen_address());
  if (!monitoring.probes.address.empty()) check("monitoring.probes.address", monitoring.probes.listen_address());
  internal::check_admin_https(*this, checks);
  const http::Limits& limits = network.http.server.limits;
  if (limits.bodies_bytes_max < limits.body_bytes_max) {
    checks.refuse("network.http.max_body_memory",
                  "is below network.http.max_body: a body as large as max_body would never be accepted");
  }
  if (database.path.empty()) checks.refuse("database.path", "is empty: expected the name of a file");
  if (database.type == DatabaseType::Sqlite && !database.url.empty()) {
    checks.refuse("database.url",
                  "has no effect: it applies only if database.type is postgres, but the type is "
                  "sqlite");
  }
}

Level Settings::log_level() const noexcept { return logging.level.value_or(common.log_level); }

}  // namespace keel::app
