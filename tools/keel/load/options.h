// The settings from the command line.
//
// Errors: InvalidArgument, one line that names the option and its allowed values.

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

// http://host:port/path, https://host:port/path, or unix:/path/of/a/socket.
struct Url {
  bool is_secure = false;
  std::string host;  // A name or an address, without brackets; empty for a Unix socket.
  std::uint16_t port = 80;
  std::string unix_path;
  std::string target = "/";
  std::string authority;  // The value of the Host field.
};
Result<Url> parse_url(std::string_view text);

struct Options {
  std::string text;  // The URL, as given.
  Url url;
  std::vector<RequestText> requests;
  std::string csv;
  Plan plan;          // The plan without the address and its layers.
  std::string roots;  // A file of certificates, for https; empty: the system's.
  int sessions = 0;   // The number of sessions that are kept to be resumed, for https.
  io::EngineKind engine = io::EngineKind::Auto;
  std::vector<int> cores;
  std::optional<Duration> busy_poll;  // None: depends on the number of cores.
  std::vector<double> steps;          // Fractions of the capacity, 0.5 for 50 %; empty: a single run.
  double capacity = 0;                // The capacity in requests per second; 0: it is measured first.
  int server_pid = 0;
  int server_cores = 0;  // The number of cores of the server; 0: all cores that it may run on.
  std::string json;      // The file for the report as JSON; "-": the standard output, instead of the text.
};

Result<Options> parse_options(const std::vector<std::string>& arguments);
std::string_view help() noexcept;

}  // namespace keel::load
