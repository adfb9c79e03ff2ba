#include "keel/app/internal/options.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace keel::app::internal::options_test {
namespace {

Settings settings(std::vector<const char*> args) {
  const char* const environment[] = {nullptr};
  auto loaded = config::load<Settings>({.args = args, .environment = environment});
  EXPECT_TRUE(loaded) << loaded.error().describe();
  return loaded ? *std::move(loaded) : Settings();
}

TEST(Options, of_the_server_are_what_the_settings_say) {
  const Settings from = settings({"--network.http.max_body=5KiB",
                                  "--network.http.max_header_count=17",
                                  "--network.http.idle_timeout_sec=3",
                                  "--network.http.max_connections=99",
                                  "--network.http.access_log=false",
                                  "--network.tcp_nodelay=false",
                                  "--network.send_buffer_kb=64",
                                  "--network.http.max_requests_per_connection=12",
                                  "--network.http.body_rate_min=77",
                                  "--network.http.body_rate_grace_sec=2",
                                  "--network.http.send_rate_min=78",
                                  "--network.http.send_rate_grace_sec=4",
                                  "--network.http.linger_timeout_sec=6",
                                  "--network.http.linger_time_max_sec=7",
                                  "--network.http.queue_delay_max_sec=0.004",
                                  "--network.http.request_ids=true",
                                  "--network.http.log_clients=true",
                                  "--network.http.trusted_proxies=[10.0.0.0/8, '::1']",
                                  "--network.http.proxy_protocol=true",
                                  "--network.http.forwarded_by=forwarded",
                                  "--network.http.proto_from=nobody",
                                  "--network.http.host_from=trusted_proxies",
                                  "--network.http.request_id_from=everybody",
                                  "--network.http.trace_from=nobody",
                                  "--network.http.deadline_from=everybody",
                                  "--network.http.upgrade_origins=[https://app.example.com]"});
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
  EXPECT_TRUE(options.proxy_protocol);
  EXPECT_EQ(options.forwarded_by, http::ForwardedBy::Forwarded);
  EXPECT_EQ(options.believed.proto, http::TrustedPeers::Nobody);
  EXPECT_EQ(options.believed.host, http::TrustedPeers::TrustedProxies);
  EXPECT_EQ(options.believed.request_id, http::TrustedPeers::Everybody);
  EXPECT_EQ(options.believed.trace, http::TrustedPeers::Nobody);
  EXPECT_EQ(options.believed.deadline, http::TrustedPeers::Everybody);
  EXPECT_EQ(options.upgrade_origins, std::vector<std::string>{"https://app.example.com"});
  EXPECT_EQ(options.listen.socket_mode, 0u);
  EXPECT_FALSE(options.access_log);
  EXPECT_FALSE(options.listen.no_delay);
  EXPECT_EQ(options.listen.send_buffer_bytes, 64 * 1024);
}

TEST(Options, say_what_to_do_when_descriptors_have_run_out) {
  const auto said = [](int number) {
    return with_remedy(Error::from_errno("open", number).because("the certificate 'a.pem'")).describe();
  };
  EXPECT_TRUE(said(EMFILE).starts_with("the process has reached its limit of open files, ")) << said(EMFILE);
  EXPECT_TRUE(
      said(EMFILE).ends_with(" (RLIMIT_NOFILE): raise LimitNOFILE of its unit, or ulimit -n: the certificate 'a.pem': "
                             "open: Too many open files"))
      << said(EMFILE);
  EXPECT_EQ(
      said(ENFILE),
      "the machine has reached its limit of open files: raise fs.file-max by sysctl: the certificate 'a.pem': open: "
      "Too many open files in system");
  EXPECT_EQ(said(ENOENT), "the certificate 'a.pem': open: No such file or directory");
}

TEST(Options, of_the_server_name_the_field_of_the_client) {
  const http::ServerOptions options =
      server_options(settings({"--network.http.forwarded_by=x_real_ip"}), Address::parse("127.0.0.1:1").value());
  EXPECT_EQ(options.forwarded_by, http::ForwardedBy::XRealIp);
}

TEST(Options, of_a_unix_listener_have_the_mode_that_is_written_in_octal) {
  for (const char* mode : {"0660", "660"}) {
    const Settings from = settings(
        {"--network.http.address=unix:/run/shop.socket", ("--network.http.socket_mode=" + std::string(mode)).c_str()});
    EXPECT_EQ(server_options(from, from.network.http.listen_address().value()).listen.socket_mode, 0660u) << mode;
  }
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

// Standard error is this file for as long as it lives.
class StandardError {
 public:
  explicit StandardError(int fd) : before_(::dup(STDERR_FILENO)) { ::dup2(fd, STDERR_FILENO); }
  ~StandardError() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

 private:
  const int before_;
};

TEST(Options, of_logs_are_text_on_a_terminal_and_json_elsewhere_unless_configured) {
  using telemetry::LineFormat;
  const auto formats = [](const char* sinks) {
    std::vector<LineFormat> found;
    for (const auto& sink : sinks_of(settings({sinks}))) found.push_back(sink.format);
    return found;
  };
  const char* const usual = "--logging.sinks=[{type: console}, {type: console, format: auto}, {type: file}]";
  const char* const chosen = "--logging.sinks=[{format: json}, {format: text}]";
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  const int nothing = ::open("/dev/null", O_WRONLY);
  std::vector<LineFormat> on_terminal, chosen_on_terminal, elsewhere, chosen_elsewhere;
  {
    const StandardError replaced(terminal);
    on_terminal = formats(usual);
    chosen_on_terminal = formats(chosen);
  }
  {
    const StandardError replaced(nothing);
    elsewhere = formats(usual);
    chosen_elsewhere = formats(chosen);
  }
  ::close(terminal);
  ::close(nothing);

  EXPECT_EQ(on_terminal, (std::vector{LineFormat::Text, LineFormat::Text, LineFormat::Json}));
  EXPECT_EQ(elsewhere, (std::vector{LineFormat::Json, LineFormat::Json, LineFormat::Json}));
  EXPECT_EQ(chosen_on_terminal, (std::vector{LineFormat::Json, LineFormat::Text}));
  EXPECT_EQ(chosen_elsewhere, chosen_on_terminal);
}

TEST(Options, folders_for_files_are_made_and_what_is_in_the_way_is_named) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("keel-options-" + std::to_string(::getpid()));
  ASSERT_TRUE(make_folder_of((folder / "a/b/file.log").string()));
  for (const char* made : {"", "a", "a/b"}) {
    EXPECT_EQ(std::filesystem::status(folder / made).permissions(), std::filesystem::perms::owner_all) << made;
  }
  std::ofstream(folder / "taken") << "x";
  const Result<> refused = make_folder_of((folder / "taken/file.log").string());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().describe().find("taken"), std::string::npos);
  EXPECT_TRUE(make_folder_of("file.log")) << "the current folder is there";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace keel::app::internal::options_test
