#include "keel/app/internal/options.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace keel::app::internal {
namespace {

Settings settings(std::vector<const char*> args) {
  const char* const environment[] = {nullptr};
  auto loaded = config::load<Settings>({.args = args, .environment = environment});
  EXPECT_TRUE(loaded) << loaded.error().describe();
  return loaded ? *std::move(loaded) : Settings();
}

TEST(Options, of_the_server_are_what_the_settings_say) {
  const Settings from = settings(
      {"--network.http.max_body=5KiB", "--network.http.max_header_count=17", "--network.http.idle_timeout_sec=3",
       "--network.http.max_connections=99", "--network.http.access_log=false", "--network.tcp_nodelay=false",
       "--network.send_buffer_kb=64", "--network.http.max_requests_per_connection=12",
       "--network.http.body_rate_min=77", "--network.http.body_rate_grace_sec=2", "--network.http.send_rate_min=78",
       "--network.http.send_rate_grace_sec=4", "--network.http.linger_timeout_sec=6",
       "--network.http.linger_time_max_sec=7", "--network.http.queue_delay_max_sec=0.004",
       "--network.http.request_ids=true", "--network.http.log_clients=true",
       "--network.http.trusted_proxies=[10.0.0.0/8, '::1']"});
  const http::ServerOptions options = server_options(from, Address::parse("127.0.0.1:8123").value());
  EXPECT_EQ(options.address.to_string(), "127.0.0.1:8123");
  EXPECT_EQ(options.limits.body_bytes_max, 5u * 1024);
  EXPECT_EQ(options.limits.head.fields_max, 17u);
  EXPECT_EQ(options.limits.idle_timeout, 3_s);
  EXPECT_EQ(options.limits.connections_max, 99u);
  EXPECT_EQ(options.limits.requests_per_connection_max, 12u);
  EXPECT_EQ(options.limits.body_rate_min, 77u);
  EXPECT_EQ(options.limits.body_rate_grace, 2_s);
  EXPECT_EQ(options.limits.send_rate_min, 78u);
  EXPECT_EQ(options.limits.send_rate_grace, 4_s);
  EXPECT_EQ(options.limits.linger_timeout, 6_s);
  EXPECT_EQ(options.limits.linger_time_max, 7_s);
  EXPECT_EQ(options.limits.queue_delay_max, 4_ms);
  EXPECT_TRUE(options.request_ids);
  EXPECT_TRUE(options.log_clients);
  ASSERT_EQ(options.trusted_proxies.size(), 2u);
  EXPECT_TRUE(options.trusted_proxies[0].contains(Address::parse("10.2.3.4:5").value()));
  EXPECT_FALSE(options.access_log);
  EXPECT_FALSE(options.listen.no_delay);
  EXPECT_EQ(options.listen.send_buffer_bytes, 64 * 1024);
}

TEST(Options, of_the_server_without_keep_alive_serve_one_request_a_connection) {
  EXPECT_EQ(limits_of(settings({"--network.http.keep_alive=false"}).network).requests_per_connection_max, 1u);
}

TEST(Options, of_the_workers_come_from_the_network_or_from_the_pool_of_that_name) {
  EXPECT_EQ(runtime_options(settings({"--network.workers=4", "--thread.pools=[{name: network, size: 3}]"})).workers, 4);
  EXPECT_EQ(runtime_options(settings({"--thread.pools=[{name: network, size: 3}]"})).workers, 3);
  EXPECT_EQ(runtime_options(settings({})).workers, 0) << "one per core";
  EXPECT_EQ(runtime_options(settings({"--network.engine=epoll"})).engine, io::EngineKind::Epoll);
  EXPECT_EQ(runtime_options(settings({"--network.engine=uring"})).engine, io::EngineKind::Uring);
  EXPECT_EQ(runtime_options(settings({})).engine_options.receive_bytes, 0u);
  EXPECT_EQ(runtime_options(settings({"--network.read_buffer_size_kb=4"})).engine_options.receive_bytes, 4096u);
  EXPECT_EQ(runtime_options(settings({})).engine, io::EngineKind::Auto);
  EXPECT_TRUE(runtime_options(settings({"--thread.affinity=true"})).pin);
}

TEST(Options, of_logs_have_a_sink_for_each_and_none_that_is_read_when_logging_is_off) {
  const char* const sinks = "--logging.sinks=[{type: console, format: text}, {type: file, path: x.log, level: error}]";
  const auto two = sinks_of(settings({sinks}));
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].to, telemetry::LogSink::To::Stderr);
  EXPECT_EQ(two[0].format, telemetry::LineFormat::Text);
  EXPECT_EQ(two[1].to, telemetry::LogSink::To::File);
  EXPECT_EQ(two[1].path, "x.log");
  EXPECT_EQ(two[1].level, Level::Error);

  const Settings off = settings({sinks, "--logging.enabled=false"});
  ASSERT_EQ(sinks_of(off).size(), 1u);
  EXPECT_EQ(sinks_of(off)[0].to, telemetry::LogSink::To::Function);
  EXPECT_EQ(recorded_level(off), Level::Fatal);
  EXPECT_EQ(log_options(settings({"--logging.async=false"})).mode, telemetry::LogWriterOptions::Mode::Direct);
  EXPECT_EQ(settings({"--logging.overflow=block"}).logging.ring.overflow, log::Overflow::Block);
}

TEST(Options, folders_for_files_are_made_and_what_is_in_the_way_is_named) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("keel-options-" + std::to_string(::getpid()));
  ASSERT_TRUE(make_folder_of((folder / "a/b/file.log").string()));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b"));
  std::ofstream(folder / "taken") << "x";
  const Result<> refused = make_folder_of((folder / "taken/file.log").string());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().describe().find("taken"), std::string::npos);
  EXPECT_TRUE(make_folder_of("file.log")) << "the current folder is there";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace keel::app::internal
