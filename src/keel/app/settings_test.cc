#include "keel/app/settings.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "keel/db/postgres/database.h"
#include "keel/db/sqlite/database.h"

namespace keel::app::settings_test {
namespace {

struct Loaded {
  Result<Settings> settings;
  config::Origins origins;
};

Loaded load(const std::string& yaml, std::vector<const char*> args = {}) {
  char name[] = "/tmp/keel-settings-XXXXXX";
  const int fd = mkstemp(name);
  EXPECT_EQ(write(fd, yaml.data(), yaml.size()), static_cast<ssize_t>(yaml.size()));
  close(fd);
  const char* const none[] = {nullptr};
  config::Origins origins;
  auto settings = config::load<Settings>(
      {.file = yaml.empty() ? "" : name, .args = args, .environment = none, .origins = &origins});
  std::remove(name);
  if (!settings) ADD_FAILURE() << settings.error().message();
  return {std::move(settings), std::move(origins)};
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

TEST(Settings, are_safe_by_default) {
  const Settings settings;

  EXPECT_EQ(settings.network.http.address, "127.0.0.1");
  EXPECT_EQ(settings.monitoring.metrics.export_address, "127.0.0.1");
  EXPECT_EQ(settings.database.synchronous, db::sqlite::Synchronous::Full);
  EXPECT_EQ(settings.network.http.server.limits.body_bytes_max, 1u << 20);
  EXPECT_EQ(settings.log_level(), Level::Info);
}

TEST(Settings, defaults_are_within_their_own_ranges) {
  const std::string described = config::describe(Settings(), config::Origins());

  const Loaded again = load(described);

  EXPECT_EQ(config::describe(*again.settings, config::Origins()), described);
}

// The default of `key` as --help prints it.
std::string default_of(const std::string& key) {
  static const std::string help = config::help<Settings>();
  const std::size_t at = help.find("\n  --" + key + "=VALUE\n");
  if (at == std::string::npos) return "there is no such key";
  const std::string entry = help.substr(at, help.find("\n  --", at + 1) - at);
  const std::size_t value = entry.rfind("; default ");
  if (value == std::string::npos) return "it has no default";
  return entry.substr(value + 10, entry.find_first_of(";)", value + 10) - value - 10);
}

std::string text(bool value) { return value ? "true" : "false"; }
std::string text(double value) { return fmt::format("{}", value); }
std::string text(Duration seconds) { return fmt::format("{}", seconds.count_seconds()); }
std::string text(std::integral auto value) { return std::to_string(value); }
std::string kib(std::size_t bytes) { return fmt::format("{}KiB", bytes >> 10); }
std::string mib(std::size_t bytes) { return fmt::format("{}MiB", bytes >> 20); }

TEST(Settings, have_the_defaults_of_the_options_that_they_become) {
  const http::ServerOptions server;
  const http::Limits limits;
  const io::RuntimeOptions runtime;
  const db::sqlite::DatabaseOptions database;
  const db::postgres::DatabaseOptions server_database;
  const ThreadPoolOptions pool;
  const log::RingOptions ring;
  const struct {
    const char* key;
    std::string value;
  } rows[] = {
      {"thread.affinity", text(runtime.pin)},
      {"thread.pools.N.size", text(pool.threads)},
      {"thread.pools.N.max_size", text(pool.threads_max)},
      {"thread.autoscale.min_threads", text(pool.threads)},
      {"thread.autoscale.scale_up_threshold", text(pool.grow_above)},
      {"thread.autoscale.scale_down_threshold", text(pool.shrink_below)},
      {"logging.ring_buffer_size_mb", text(ring.bytes >> 20)},
      {"database.connections", text(server_database.connections)},
      {"database.wait_max_sec", text(server_database.wait_max)},
      {"database.statement_timeout_sec", text(server_database.statement_timeout)},
      {"database.max_age_sec", text(server_database.max_age)},
      {"database.pooler", text(server_database.pooler)},
      {"database.path", database.path},
      {"database.pool_size", text(database.pool_size)},
      {"database.timeout_sec", text(database.busy_timeout)},
      {"database.cache_size_mb", text(database.cache_kib >> 10)},
      {"database.buffer_size_kb", text(database.buffer_bytes >> 10)},
      {"database.group_max", text(database.writer.group_max)},
      {"database.queue_max", text(database.writer.queued_max)},
      {"database.hold_max_sec", text(database.writer.hold_max)},
      {"network.workers", text(runtime.workers)},
      {"network.tcp_nodelay", text(server.listen.no_delay)},
      {"network.read_buffer_size_kb", text(io::EngineOptions().receive_bytes >> 10)},
      {"network.write_buffer_size_kb", text(limits.pipeline_bytes_max >> 10)},
      {"network.send_buffer_kb", text(server.listen.send_buffer_bytes)},
      {"network.recv_buffer_kb", text(server.listen.receive_buffer_bytes)},
      {"network.http.max_connections", text(limits.connections_max)},
      {"network.http.max_connections_per_client", text(limits.client_connections_max)},
      {"network.http.max_requests_per_connection", text(limits.requests_per_connection_max)},
      {"network.http.request_timeout_sec", text(limits.request_timeout)},
      {"network.http.header_timeout_sec", text(limits.header_timeout)},
      {"network.http.body_timeout_sec", text(limits.body_timeout)},
      {"network.http.body_rate_min", text(limits.body_rate_min)},
      {"network.http.body_rate_grace_sec", text(limits.body_rate_grace)},
      {"network.http.queue_delay_max_sec", text(limits.queue_delay_max)},
      {"network.http.idle_timeout_sec", text(limits.idle_timeout)},
      {"network.http.send_timeout_sec", text(limits.send_timeout)},
      {"network.http.send_rate_min", text(limits.send_rate_min)},
      {"network.http.send_rate_grace_sec", text(limits.send_rate_grace)},
      {"network.http.linger_timeout_sec", text(limits.linger_timeout)},
      {"network.http.linger_time_max_sec", text(limits.linger_time_max)},
      {"network.http.max_body", mib(limits.body_bytes_max)},
      {"network.http.max_body_memory", mib(limits.bodies_bytes_max)},
      {"network.http.max_body_memory_per_client", text(limits.client_bodies_bytes_max) + "B"},
      {"network.http.max_response_memory", mib(limits.responses_bytes_max)},
      {"network.http.max_received_memory", mib(limits.received_bytes_max)},
      {"network.http.max_request_memory", mib(limits.request_bytes_max)},
      {"network.http.max_header", kib(limits.head.head_bytes_max)},
      {"network.http.max_header_line", kib(limits.head.field_line_bytes_max)},
      {"network.http.max_request_line", kib(limits.head.request_line_bytes_max)},
      {"network.http.max_header_count", text(limits.head.fields_max)},
      {"network.http.access_log", text(server.access_log)},
      {"network.http.log_clients", text(server.log_clients)},
      {"network.http.server_timing", text(server.server_timing)},
      {"network.http.request_ids", text(server.request_ids)},
      {"network.http.proxy_protocol", text(server.proxy_protocol)},
      {"monitoring.measured_every", text(server.measured_every)},
      {"monitoring.metrics.sample_rate", text(metrics::RegistryOptions().sample_rate)},
      {"monitoring.health.check_timeout_sec", text(HealthOptions().timeout)},
      {"container.json.pretty_print", text(server.indent_json)},
  };

  for (const auto& row : rows) EXPECT_EQ(default_of(row.key), row.value) << row.key;
}

// A value in settings.h is one that no part has an option for. Who adds one says here what it is; who finds that a part
// has that option takes the part's default.
TEST(Settings, state_a_default_only_when_no_part_has_it) {
  const std::set<std::string> own = {
      "CommonSettings::log_level = Level::Info",  // What is recorded has no options.
      "CommonSettings::start_timeout = 60_s",     // A Lifecycle by itself has another.
      "CommonSettings::start_report = false",
      "PoolSettings::affinity = {}",
      "PoolSettings::queue_max = 0",  // As queue_capacity.
      "AutoscaleSettings::enabled = false",
      "AutoscaleSettings::max_threads = 64",      // A pool by itself is not elastic.
      "ThreadSettings::pool_size = 0",            // One per core.
      "ThreadSettings::queue_capacity = 10'000",  // Of pools that requests wait for.
      "SinkSettings::path = \"keel.log\"",
      "LoggingSettings::enabled = true",
      "LoggingSettings::sinks = std::vector<SinkSettings>(1)",
      "DatabaseSettings::type = DatabaseType::Sqlite",
      "DatabaseSettings::loop_reads = true",               // False sets the option loop_steps_max.
      "DatabaseSettings::migrations = \"db/migrations\"",  // A database by itself has none.
      "HttpSettings::address = \"127.0.0.1\"",             // A server by itself listens nowhere.
      "HttpSettings::port = 8080",
      "HttpsSettings::plain_http = PlainHttp::Serve",
      "HttpsSettings::port = 8443",
      "HttpsSettings::redirect_port = 0",
      "HttpSettings::keep_alive = true",  // False sets requests_per_connection_max.
      "HttpSettings::drain_timeout = 30_s",
      "MessagesSettings::address = \"127.0.0.1\"",
      "MessagesSettings::port = 7000",
      "MessagesSettings::tls = false",
      "MessagePoolSettings::tls = false",
      "MetricsSettings::export_address = \"127.0.0.1\"",
      "MetricsSettings::export_port = 9090",
      "MetricsSettings::https = false",
      "ProbesSettings::port = 9091",
      "ProbesSettings::https = false",
      "HealthSettings::check_interval = 10_s",
      "HealthSettings::worker_timeout = 30_s",
      "HealthSettings::disk_free_min = config::ByteSize::mib(64)",
      "MonitoringSettings::enabled = true",
      "MonitoringSettings::stall = 200_ms",
  };
  std::set<std::string> stated;
  std::istringstream header(read(KEEL_SOURCE_DIR "/src/keel/app/settings.h"));
  std::string within;
  for (std::string line; std::getline(header, line);) {
    line.resize(std::min(line.find("//"), line.size()));
    std::smatch found;
    if (std::regex_search(line, found, std::regex("^struct (\\w+)"))) within = found[1];
    const bool is_a_member = line.find("operator") == std::string::npos;
    if (!is_a_member || !std::regex_search(line, found, std::regex("^  \\S.* (\\w+) = (.+);"))) continue;
    const std::string value = found[2];
    const bool is_of_a_part = value.find("Options()") != std::string::npos || value.starts_with("Lifecycle::") ||
                              value.find("LogSink()") != std::string::npos;
    if (!is_of_a_part) stated.insert(within + "::" + found[1].str() + " = " + value);
  }

  EXPECT_EQ(stated, own);
}

// The configurations that the reference of the seven systems prints, key by key.
TEST(Settings, load_the_four_end_to_end_scenarios) {
  const auto logged = load(R"(
thread:
  pool_size: 8
logging:
  enabled: true
  async: true
  sinks:
    - type: file
      path: /tmp/server.log
      level: info
network:
  http:
    port: 8080
    max_connections: 1000
)");
  EXPECT_EQ(logged.settings->thread.pool_size, 8);
  ASSERT_EQ(logged.settings->logging.sinks.size(), 1u);
  EXPECT_EQ(logged.settings->logging.sinks[0].to, telemetry::LogSink::To::File);
  EXPECT_EQ(logged.settings->logging.sinks[0].path, "/tmp/server.log");
  EXPECT_EQ(logged.settings->logging.sinks[0].level, Level::Info);
  EXPECT_EQ(logged.settings->network.http.server.limits.connections_max, 1000u);

  const auto stored = load(R"(
thread:
  pool_size: 16
database:
  type: sqlite
  path: /tmp/benchmark.db
  pool_size: 10
  timeout_sec: 5
network:
  http:
    port: 8080
    max_connections: 2000
)");
  EXPECT_EQ(stored.settings->database.path, "/tmp/benchmark.db");
  EXPECT_EQ(stored.settings->database.timeout, 5_s);

  const auto watched = load(R"(
thread:
  pool_size: 32
  queue_capacity: 10000
monitoring:
  enabled: true
  metrics:
    export_port: 9090
  health:
    check_interval_sec: 10
)");
  EXPECT_EQ(watched.settings->monitoring.health.check_interval, 10_s);

  const auto full = load(R"(
common:
  log_level: debug
thread:
  pool_size: 24
logging:
  enabled: true
  async: true
database:
  type: sqlite
  pool_size: 15
network:
  http:
    port: 8080
    max_connections: 3000
monitoring:
  enabled: true
container:
  json:
    pretty_print: false
)");
  EXPECT_EQ(full.settings->log_level(), Level::Debug);
  EXPECT_FALSE(full.settings->database.path.empty());
}

TEST(Settings, load_the_tuning_advice) {
  const auto shared = load("thread:\n  pool_size: 16  # Shared by all systems\n");
  EXPECT_EQ(shared.settings->thread.pool_size, 16);

  const auto pools = load(R"(
thread:
  pools:
    - name: network
      size: 12
    - name: database
      size: 8
)");
  ASSERT_EQ(pools.settings->thread.pools.size(), 2u);
  EXPECT_EQ(pools.settings->thread.pools[1].name, "database");
  EXPECT_EQ(pools.settings->thread.pools[1].size, 8);

  const auto elastic = load(R"(
thread:
  autoscale:
    enabled: true
    min_threads: 8
    max_threads: 32
    scale_up_threshold: 0.8
    scale_down_threshold: 0.2
)");
  EXPECT_EQ(elastic.settings->thread.autoscale.max_threads, 32);

  const auto memory = load(R"(
database:
  pool_size: 10
  buffer_size_kb: 16
logging:
  ring_buffer_size_mb: 8
network:
  read_buffer_size_kb: 4
  write_buffer_size_kb: 4
)");
  EXPECT_EQ(memory.settings->logging.ring.bytes, 8u << 20);
  EXPECT_EQ(memory.settings->network.runtime.engine_options.receive_bytes, 4096u);
}

constexpr const char* high_throughput = R"(
thread:
  pool_size: 16
  queue_capacity: 10000
logging:
  enabled: true
  async: true
  sinks:
    - type: file
      level: warn
network:
  http:
    port: 8080
    max_connections: 5000
    keep_alive: true
    request_timeout_sec: 30
monitoring:
  enabled: true
  metrics:
    sample_rate: 0.1
)";
constexpr const char* database_heavy = R"(
thread:
  pool_size: 24
database:
  pool_size: 20
  timeout_sec: 10
  cache_size_mb: 256
logging:
  enabled: true
  async: true
  level: info
monitoring:
  enabled: true
)";
constexpr const char* low_latency = R"(
thread:
  pool_size: 8
  affinity: true
logging:
  enabled: false
network:
  tcp_nodelay: true
  send_buffer_kb: 2
  recv_buffer_kb: 2
monitoring:
  enabled: true
  metrics:
    sample_rate: 0.01
)";

TEST(Settings, load_the_three_templates) {
  const auto throughput = load(high_throughput);
  EXPECT_FALSE(throughput.settings->logging.sinks[0].path.empty());
  EXPECT_EQ(throughput.settings->monitoring.metrics.registry.sample_rate, 0.1);

  const auto storage = load(database_heavy);
  EXPECT_EQ(storage.settings->database.cache_kib, 256 * 1024);

  const auto latency = load(low_latency);
  EXPECT_TRUE(latency.settings->thread.affinity);
  EXPECT_FALSE(latency.settings->logging.enabled);
  EXPECT_EQ(latency.settings->network.http.server.listen.send_buffer_bytes, 2048);
}

// The same keys and values as files, with words of our own about them.
TEST(Settings, load_the_templates_as_files) {
  const struct {
    const char* name;
    const char* facts;
  } rows[] = {{"high-throughput", high_throughput}, {"database-heavy", database_heavy}, {"low-latency", low_latency}};
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KEEL_SOURCE_DIR "/examples/config")) {
    files += entry.path().extension() == ".yaml";
  }
  EXPECT_EQ(files, std::size(rows)) << "each file has a row";
  for (const auto& row : rows) {
    Loaded file = load(read(std::string(KEEL_SOURCE_DIR "/examples/config/") + row.name + ".yaml"));
    ASSERT_TRUE(file.settings) << row.name;
    // Where the log is: the template leaves that open.
    for (SinkSettings& sink : file.settings->logging.sinks) sink.path = SinkSettings().path;

    EXPECT_EQ(config::describe(*file.settings, config::Origins()),
              config::describe(*load(row.facts).settings, config::Origins()))
        << row.name;
  }
}

// The YAML between ```yaml and ``` in `text`.
std::vector<std::string> yaml_blocks(const std::string& text) {
  std::vector<std::string> blocks;
  constexpr std::string_view begin = "\n```yaml\n";
  constexpr std::string_view end = "\n```\n";
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    const std::size_t first = at + begin.size();
    at = text.find(end, first - 1);
    if (at == std::string::npos) break;
    blocks.push_back(text.substr(first, at + 1 - first));
  }
  return blocks;
}

TEST(Settings, yaml_blocks_are_found_in_a_document) {
  EXPECT_EQ(yaml_blocks("# A\n\n```yaml\na: 1\nb: 2\n```\n\n```bash\nls\n```\n\n```yaml\nc: 3\n```\n"),
            (std::vector<std::string>{"a: 1\nb: 2\n", "c: 3\n"}));
  EXPECT_TRUE(yaml_blocks("\n```yaml\na: 1\n").empty());
}

// The same again from the document itself, where it is at hand: what it prints loads as it stands.
TEST(Settings, load_every_block_that_the_reference_prints) {
  const char* const named = std::getenv("KEEL_REFERENCE");
  const std::filesystem::path folder = named != nullptr ? named : KEEL_SOURCE_DIR "/../shared/reference";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no reference beside this checkout; KEEL_REFERENCE names it";
  std::string document;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("000_")) document = read(entry.path());
  }
  int configurations = 0;
  int others = 0;
  for (const std::string& block : yaml_blocks(document)) {
    if (block.find("\njobs:\n") != std::string::npos) {
      ++others;  // A workflow of a build service.
      continue;
    }
    ++configurations;
    EXPECT_TRUE(load(block).settings) << block;
  }
  EXPECT_EQ(configurations, 11);
  EXPECT_EQ(others, 1);
}

TEST(Settings, load_every_block_of_yaml_that_the_pages_print) {
  int blocks = 0;
  for (const char* const page : {"/docs/operations.md", "/docs/executors.md", "/docs/proxies.md", "/docs/memory.md"}) {
    for (const std::string& block : yaml_blocks(read(std::string(KEEL_SOURCE_DIR) + page))) {
      EXPECT_TRUE(load(block).settings) << page << '\n' << block;
      ++blocks;
    }
  }
  EXPECT_EQ(blocks, 8);
}

TEST(Settings, refuse_what_the_service_could_not_start_with) {
  const char* const args[] = {"--network.http.address=localhost",
                              "--monitoring.metrics.export_address=", "--monitoring.metrics.sample_rate=0"};
  const char* const none[] = {nullptr};

  const auto rate = config::load<Settings>({.args = std::span(args).subspan(2), .environment = none});
  ASSERT_FALSE(rate.is_ok());
  EXPECT_EQ(rate.error().message(),
            "--monitoring.metrics.sample_rate: 0 is out of range: expected a number from 1e-06 to 1");
  const auto addresses = config::load<Settings>({.args = std::span(args).first(2), .environment = none});
  ASSERT_FALSE(addresses.is_ok());
  EXPECT_EQ(addresses.error().message(),
            "--network.http.address: address: 'localhost' is not an IPv4 or IPv6 address (host names are not resolved "
            "here)\n"
            "--monitoring.metrics.export_address: address: not an IP address");
}

TEST(Settings, take_a_unix_socket_for_the_service) {
  const char* const none[] = {nullptr};
  const char* const good[] = {"--network.http.address=unix:/run/app.sock"};
  const char* const bad[] = {"--network.http.address=unix:"};
  const auto settings = config::load<Settings>({.args = good, .environment = none});
  ASSERT_TRUE(settings.is_ok()) << settings.error().describe();
  EXPECT_EQ(settings->network.http.listen_address().value().to_string(), "unix:/run/app.sock");
  const auto refused = config::load<Settings>({.args = bad, .environment = none});
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.error().message(), "--network.http.address: address: a Unix socket path must have 1 to 107 bytes");
}

TEST(Settings, take_unix_sockets_for_the_admin_listener_and_the_probes) {
  EXPECT_EQ(Settings().monitoring.probes.address, "") << "nobody from outside is served without being asked for";
  const Loaded loaded = load(
      "monitoring:\n"
      "  metrics:\n"
      "    export_address: unix:/run/app/admin.sock\n"
      "    export_names: [metrics.internal]\n"
      "  probes:\n"
      "    address: 0.0.0.0\n");
  const MonitoringSettings& from = loaded.settings->monitoring;
  EXPECT_EQ(from.metrics.listen_address().value().to_string(), "unix:/run/app/admin.sock");
  EXPECT_EQ(from.probes.listen_address().value().to_string(), "0.0.0.0:9091");
  EXPECT_EQ(from.metrics.export_names, std::vector<std::string>{"metrics.internal"});

  const char* const none[] = {nullptr};
  const char* const bad[] = {"--monitoring.metrics.export_address=unix:", "--monitoring.probes.address=everywhere"};
  const auto refused = config::load<Settings>({.args = bad, .environment = none});
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.error().message(),
            "--monitoring.metrics.export_address: address: a Unix socket path must have 1 to 107 bytes\n"
            "--monitoring.probes.address: address: 'everywhere' is not an IPv4 or IPv6 address (host names are not "
            "resolved here)");
}

TEST(Settings, say_which_of_them_a_reload_changes) {
  const std::string described = config::describe(Settings(), config::Origins());
  const auto is_reloadable = [&](const std::string& line) {
    const std::size_t at = described.find(line + " ");
    EXPECT_NE(at, std::string::npos) << line;
    return described.substr(at, described.find('\n', at + 1) - at).ends_with("# default, reloadable");
  };
  for (const char* line : {"\n  log_level: info", "\n    - type: console", "\n    max_body: 1MiB",
                           "\n    access_log: true", "\n    request_timeout_sec: 30", "\n    max_connections: 10000"}) {
    EXPECT_TRUE(is_reloadable(line)) << line;
  }
  for (const char* line : {"\n  pool_size: 0", "\n    port: 8080", "\n  async: true", "\n  synchronous: full"}) {
    EXPECT_FALSE(is_reloadable(line)) << line;
  }
  EXPECT_NE(config::help<Settings>().find("\n  --network.http.access_log=VALUE\n      log one line for each request, "
                                          "at level info (true or false; default true; reloadable)\n"),
            std::string::npos);
}

TEST(Settings, of_a_pool_are_all_optional_but_its_name) {
  const auto loaded = load(R"(
thread:
  queue_capacity: 500
  pools:
    - {name: plain}
    - {name: full, size: 2, max_size: 8, affinity: [0, 3], queue_max: 64, when_full: run_in_caller}
)");

  const PoolSettings& plain = loaded.settings->thread.pools[0];
  EXPECT_EQ(plain.size, 1);
  EXPECT_EQ(plain.max_size, 0);
  EXPECT_EQ(plain.queue_max, 0u);
  EXPECT_EQ(plain.when_full, WhenFull::Refuse);
  EXPECT_TRUE(plain.affinity.empty());
  const PoolSettings& full = loaded.settings->thread.pools[1];
  EXPECT_EQ(full.size, 2);
  EXPECT_EQ(full.max_size, 8);
  EXPECT_EQ(full.queue_max, 64u);
  EXPECT_EQ(full.when_full, WhenFull::RunInCaller);
  EXPECT_EQ(full.affinity, (std::vector<int>{0, 3}));
  EXPECT_EQ(loaded.settings->thread.find("full"), &full);
  EXPECT_EQ(loaded.settings->thread.find("other"), nullptr);

  const std::string described = config::describe(*loaded.settings, loaded.origins);
  const std::size_t at = described.find("    - name: full");
  ASSERT_NE(at, std::string::npos) << described;
  std::istringstream text(described.substr(at, described.find("  autoscale", at) - at));
  std::string lines;
  for (std::string line; std::getline(text, line);) {
    line.resize(line.find('#'));  // Where it comes from.
    lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  EXPECT_EQ(lines,
            "    - name: full\n"
            "      size: 2\n"
            "      max_size: 8\n"
            "      affinity:\n"
            "        - 0\n"
            "        - 3\n"
            "      queue_max: 64\n"
            "      when_full: run_in_caller\n");
}

TEST(Settings, say_which_line_of_a_pool_is_wrong) {
  const auto problem = [](const std::string& pool) {
    char name[] = "/tmp/keel-settings-XXXXXX";
    const int fd = mkstemp(name);
    const std::string yaml = "thread:\n  pools:\n    - name: images\n      size: 4\n" + pool;
    EXPECT_EQ(write(fd, yaml.data(), yaml.size()), static_cast<ssize_t>(yaml.size()));
    close(fd);
    const char* const none[] = {nullptr};
    const auto loaded = config::load<Settings>({.file = name, .environment = none});
    std::remove(name);
    std::string message(loaded ? "" : loaded.error().message());
    if (message.starts_with(name)) message.erase(0, std::strlen(name));
    return message;
  };

  EXPECT_EQ(
      problem("      max_size: 3\n"),
      ":5: thread.pools.0.max_size: is below thread.pools.0.size: raise max_size, or omit max_size for a fixed size");
  EXPECT_EQ(problem("      affinity: [0, 1024]\n"),
            ":5: thread.pools.0.affinity.1: 1024 is out of range: expected the number of a CPU, from 0 to 1023");
  EXPECT_EQ(problem("      when_full: wait\n"),
            ":5: thread.pools.0.when_full: \"wait\" is not known: expected one of refuse, block, run_in_caller");
  EXPECT_EQ(problem("      queue_max: -1\n"),
            ":5: thread.pools.0.queue_max: -1 is out of range: expected an integer from 0 to 10000000");
  for (const char* const own : {"network", "database"}) {
    EXPECT_EQ(problem("    - name: " + std::string(own) + "\n      queue_max: 5\n"),
              ":6: thread.pools.1.queue_max: has no effect: for the pool \"" + std::string(own) +
                  "\" only the size can be set here");
  }
}

TEST(Settings, refuse_what_contradicts_itself) {
  const char* const args[] = {"--thread.pools=[{name: a}, {name: a}, {size: 2}]",
                              "--thread.autoscale.min_threads=100",
                              "--thread.autoscale.scale_up_threshold=0.1",
                              "--logging.sinks=[{type: file, path: ''}]",
                              "--network.http.trusted_proxies=[10.0.0.0/8, 10.0.0.0/40]",
                              "--database.path="};
  const char* const none[] = {nullptr};

  const auto loaded = config::load<Settings>({.args = args, .environment = none});

  ASSERT_FALSE(loaded.is_ok());
  EXPECT_EQ(loaded.error().message(),
            "--thread.pools: thread.pools.1.name: two pools have the name \"a\"\n"
            "thread.pools.2.name: a pool must have a name\n"
            "--thread.autoscale.min_threads: is above thread.autoscale.max_threads\n"
            "thread.autoscale.scale_down_threshold: is above thread.autoscale.scale_up_threshold\n"
            "--logging.sinks: logging.sinks.0.path: a file sink must have a path\n"
            "--network.http.trusted_proxies: network.http.trusted_proxies.1: network '10.0.0.0/40': the prefix must be "
            "a number "
            "from 0 to 32\n"
            "--database.path: is empty: expected the name of a file");
}

TEST(Settings, refuse_the_proxy_protocol_where_nobody_is_trusted_to_speak_it) {
  const auto problem = [](std::vector<const char*> args) {
    const char* const none[] = {nullptr};
    const auto loaded = config::load<Settings>({.args = args, .environment = none});
    return std::string(loaded ? "" : loaded.error().message());
  };
  EXPECT_EQ(problem({"--network.http.proxy_protocol=true"}),
            "--network.http.proxy_protocol: has no effect without network.http.trusted_proxies");
  EXPECT_EQ(problem({"--network.http.proxy_protocol=true", "--network.http.trusted_proxies=[unix]"}), "");
}

TEST(Settings, refuse_a_proxy_that_is_none_without_a_word_of_its_password) {
  const char* const args[] = {"--network.clients.payments.proxy=https://user:hidden@proxy:3128",
                              "--network.clients.payments.no_proxy=[internal, 10.0.0.0/40]",
                              "--network.clients.users.proxy=http://user:hidden@proxy:none"};
  const char* const none[] = {nullptr};

  const auto loaded = config::load<Settings>({.args = args, .environment = none});

  ASSERT_FALSE(loaded.is_ok());
  const std::string message(loaded.error().message());
  for (const char* part :
       {"network.clients.payments.proxy: the client must connect to the proxy with http, not with https",
        "network.clients.payments.no_proxy.1: no_proxy '10.0.0.0/40'",
        "network.clients.users.proxy: a proxy must be http://[user:password@]host[:port]"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
  EXPECT_EQ(message.find("hidden"), std::string::npos) << message;
}

// Each mistake names the line of the file that it stands in.
TEST(Settings, refuse_what_is_wrong_with_messages_and_their_pools) {
  const std::string file = testing::TempDir() + "keel_settings_messages.yaml";
  std::ofstream(file) << "network:\n"
                         "  messages:\n"
                         "    address: here\n"
                         "    tls: true\n"
                         "    socket_mode: 0600\n"
                         "    client_revoked: revoked.pem\n"
                         "    hartbeat_sec: 3\n"
                         "    max_frame: 1B\n";
  const char* const none[] = {nullptr};
  const auto message_of = [&](std::vector<const char*> args) {
    const auto loaded = config::load<Settings>({.file = file, .args = args, .environment = none});
    return loaded ? std::string() : std::string(loaded.error().message());
  };

  std::string text = message_of({});
  for (const char* part :
       {":7: network.messages.hartbeat_sec: ", "heartbeat_sec", ":8: network.messages.max_frame: "}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  std::ofstream(file) << "network:\n"
                         "  messages:\n"
                         "    address: here\n"
                         "    tls: true\n"
                         "    socket_mode: 0600\n"
                         "    client_revoked: revoked.pem\n"
                         "  pools:\n"
                         "    rooms:\n"
                         "      endpoints: [rooms.internal:7000, rooms.internal]\n"
                         "      roots: roots.pem\n"
                         "      eject_first_sec: 20\n"
                         "      revoked: revoked.pem\n";
  text = message_of({});
  for (const char* part :
       {":3: network.messages.address: ", ":4: network.messages.tls: needs a certificate",
        ":5: network.messages.socket_mode: has no effect", ":6: network.messages.client_revoked: has no effect without",
        "network.pools.rooms.endpoints.1: 'rooms.internal' is not an endpoint: write host:port or unix:/path",
        ":10: network.pools.rooms.roots: has no effect without tls: true",
        ":11: network.pools.rooms.eject_first_sec: is above network.pools.rooms.eject_max_sec",
        ":12: network.pools.rooms.revoked: has no effect without tls: true"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  std::remove(file.c_str());
}

TEST(Settings, take_a_socket_mode_with_and_without_quotes) {
  for (const char* mode : {"0660", "'0660'", "\"660\""}) {
    const Loaded loaded = load("network:\n  http:\n    address: unix:/run/x\n    socket_mode: " + std::string(mode));
    EXPECT_EQ(loaded.settings->network.http.listen_mode(), 0660u) << mode;
  }
}

TEST(Settings, refuse_a_socket_mode_that_is_none_or_has_no_socket_and_sites_that_are_none) {
  const auto problem = [](std::vector<const char*> args) {
    const char* const none[] = {nullptr};
    const auto loaded = config::load<Settings>({.args = args, .environment = none});
    return std::string(loaded ? "" : loaded.error().message());
  };
  const char* const at = "--network.http.address=unix:/run/shop.socket";
  for (const char* mode : {"0", "0888", "rw", "01777", "-1", "660x"}) {
    EXPECT_EQ(problem({at, ("--network.http.socket_mode=" + std::string(mode)).c_str()}),
              "--network.http.socket_mode: expected an octal mode from 0001 to 0777, such as 0660")
        << mode;
  }
  EXPECT_EQ(problem({"--network.http.socket_mode=0660"}),
            "--network.http.socket_mode: has no effect: the address is not a Unix socket");
  EXPECT_EQ(problem({"--network.http.upgrade_origins=['*', https://a.example, 'https://[::1]:8443']"}), "");
  for (const char* site : {"a.example", "https://", "https://a.example/", "https://u@a.example", "https://a:b"}) {
    EXPECT_EQ(problem({("--network.http.upgrade_origins=['" + std::string(site) + "']").c_str()}),
              "--network.http.upgrade_origins: network.http.upgrade_origins.0: expected scheme://host, "
              "scheme://host:port or '*'")
        << site;
  }
}

struct ShopConfig : Settings {
  unsigned shelves = 3;
  template <class Visitor>
  void fields(Visitor& v) {
    Settings::fields(v);
    config::field(v, "shelves", shelves, "how many there are");
  }
};

TEST(Settings, are_extended_by_deriving) {
  const char* const args[] = {"--shelves=5", "--network.http.port=0"};
  const char* const none[] = {nullptr};

  const auto loaded = config::load<ShopConfig>({.args = args, .environment = none});

  ASSERT_TRUE(loaded.is_ok()) << loaded.error().message();
  EXPECT_EQ(loaded->shelves, 5u);
  EXPECT_EQ(loaded->network.http.port, 0);
}

}  // namespace
}  // namespace keel::app::settings_test
