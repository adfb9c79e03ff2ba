#include "keel/app/internal/options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "keel/telemetry/process.h"

namespace keel::app::internal {

using telemetry::LogSink;
using telemetry::LogWriterOptions;

namespace {

telemetry::LineFormat usual_format(LogSink::To to) {
  const bool is_read_by_people = to == LogSink::To::Stderr && ::isatty(STDERR_FILENO) == 1;
  return is_read_by_people ? telemetry::LineFormat::Text : telemetry::LineFormat::Json;
}

}  // namespace

std::string key_of_place(const Address& address, std::string_view keys) {
  return std::string(keys) + (address.is_unix() ? "address" : "port");
}

Result<> with_remedy(Result<> listening, const Address& address, std::string_view keys) {
  if (listening) return listening;
  const std::string key = key_of_place(address, keys);
  // The command that shows which process listens at the address.
  const std::string finder = address.is_unix() ? "ss -lxp" : "ss -ltnp";
  switch (listening.error().errno_value()) {
    case EADDRINUSE:
      return std::move(listening).because("another process listens there: stop it (" + finder +
                                          " shows its name), or change " + key);
    case EACCES:
      if (address.is_unix()) {
        return std::move(listening).because(
            "this user may not create a socket there: give the user access to the folder, or change " + key);
      }
      return std::move(listening).because("this user may not listen there: grant CAP_NET_BIND_SERVICE, or change " +
                                          key);
    case EADDRNOTAVAIL:
      return std::move(listening).because("this machine does not have this address: change " + std::string(keys) +
                                          "address");
    default:
      break;
  }
  return listening;
}

Error with_remedy(Error error) {
  switch (error.errno_value()) {
    case EMFILE:
      return std::move(error).because("the process has reached its limit of open files, " +
                                      std::to_string(static_cast<std::uint64_t>(telemetry::process_descriptors_max())) +
                                      " (RLIMIT_NOFILE): raise LimitNOFILE of its unit, or ulimit -n");
    case ENFILE:
      return std::move(error).because("the machine has reached its limit of open files: raise fs.file-max by sysctl");
    default:
      return error;
  }
}

Result<> make_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::filesystem::path made;
  for (const std::filesystem::path& part : folder) {
    made /= part;
    if (::mkdir(made.c_str(), S_IRWXU) == 0) continue;
    const int error = errno;
    std::error_code ignored;
    if (std::filesystem::is_directory(made, ignored)) continue;
    return Error::from_errno("mkdir", error).because("creating the folder '" + folder.string() + "'");
  }
  return {};
}

Result<> make_log_folders(const Settings& settings) {
  for (const SinkSettings& sink : settings.logging.sinks) {
    if (sink.to != LogSink::To::File || !settings.logging.enabled) continue;
    KEEL_TRY_VOID(make_folder_of(sink.path).because("logging.sinks"));
  }
  return {};
}

Level recorded_level(const Settings& settings) {
  return settings.logging.enabled ? settings.log_level() : Level::Fatal;
}

std::vector<LogSink> sinks_of(const Settings& settings) {
  std::vector<LogSink> sinks;
  for (const SinkSettings& from : settings.logging.sinks) {
    LogSink sink;
    sink.to = from.to;
    sink.path = from.path;
    sink.level = from.level.value_or(sink.level);
    sink.format = from.format.value_or(usual_format(from.to));
    sinks.push_back(std::move(sink));
  }
  if (!settings.logging.enabled) {
    // Almost no lines are recorded; this sink drops them.
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
  io::RuntimeOptions options = settings.network.runtime;
  if (options.workers == 0) options.workers = settings.thread.size_of("network", options.workers);
  options.pin = settings.thread.affinity;
  return options;
}

http::Limits limits_of(const NetworkSettings& network) {
  http::Limits limits = network.http.server.limits;
  if (!network.http.keep_alive) limits.requests_per_connection_max = 1;
  return limits;
}

http::ServerOptions server_options(const Settings& settings, const Address& address) {
  const NetworkSettings& from = settings.network;
  http::ServerOptions options = from.http.server;
  options.address = address;
  options.limits = limits_of(from);
  options.indent_json = settings.container.indent_json;
  options.measured_every = settings.monitoring.enabled ? settings.monitoring.measured_every : 0;
  // The check of the settings has already made sure that the mode and each network are valid.
  if (address.is_unix()) options.listen.socket_mode = from.http.listen_mode().value();
  for (const std::string& proxy : from.http.trusted_proxies) {
    options.trusted_proxies.push_back(Network::parse(proxy).value());
  }
  return options;
}

tls::ServerOptions tls_options(const HttpsSettings& from) {
  tls::ServerOptions options;
  options.certificates.push_back(
      {.certificate_file = from.certificate, .key_file = from.key, .ocsp_file = from.ocsp_response});
  for (const CertificateSettings& more : from.more) {
    options.certificates.push_back(
        {.certificate_file = more.certificate, .key_file = more.key, .ocsp_file = more.ocsp_response});
  }
  options.client_certificates = from.client_certificates;
  options.clients = {.file = from.client_roots, .revoked_file = from.client_revoked};
  options.protocols = {"http/1.1"};
  options.version_min = from.version_min;
  options.tickets = from.tickets;
  options.handshake_timeout = from.handshake_timeout;
  constexpr std::string_view text = "This port speaks HTTPS: ask with https:// in place of http://\n";
  options.response_to_http =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
      std::to_string(text.size()) + "\r\n\r\n" + std::string(text);
  return options;
}

}  // namespace keel::app::internal
