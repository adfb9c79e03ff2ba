// The settings from the command line.
//
// Errors: InvalidArgument; the message is one line that names the option and its allowed values.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"
#include "keel/io/engine.h"
#include "load/generator.h"
#include "load/mix.h"

namespace keel::load {

// A URL: http://host:port/path, https://host:port/path, or unix:/path/of/a/socket.
struct Url {
  bool is_secure = false;
  std::string host;  // A host name or an IP address, without brackets; empty for a Unix socket.
  std::uint16_t port = 80;
  std::string unix_path;
  std::string target = "/";
  std::string authority;  // The value of the Host field.
};
Result<Url> parse_url(std::string_view text);

struct Options {
  std::string text;  // The URL as the user gave it.
  Url url;
  std::vector<RequestText> requests;
  std::string csv;
  Plan plan;          // The plan, except for the address and the layers, which are set later.
  std::string roots;  // For https, a file of root certificates; if empty, the root certificates of the system.
  int sessions = 0;   // For https, the number of TLS sessions that are kept for resumption.
  io::EngineKind engine = io::EngineKind::Auto;
  std::vector<int> cores;
  std::optional<Duration> busy_poll;  // If absent, the time depends on the number of cores.
  // Fractions of the capacity, such as 0.5 for 50 %; if empty, there is a single run.
  std::vector<double> steps;
  double capacity = 0;  // The capacity in requests per second; if 0, it is measured first.
  int server_pid = 0;
  int server_cores = 0;  // The number of cores of the server; if 0, all cores that the server may run on.
  std::string json;      // The file for the report as JSON; "-" prints JSON to standard output instead of the text.
};

Result<Options> parse_options(const std::vector<std::string>& arguments);
std::string_view help() noexcept;

}  // namespace keel::load
