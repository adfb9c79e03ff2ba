#include "keel/config/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "keel/config/version.h"

namespace keel::config {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_configuration = 2;

}  // namespace

Action action(std::span<const char* const> args) noexcept {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg == "--config" || arg == "--set") ++i;
    if (arg == "--help" || arg == "-h") return Action::Help;
    if (arg == "--version") return Action::Version;
    if (arg == "--print-config") return Action::PrintConfig;
    if (arg == "--check-config") return Action::CheckConfig;
  }
  return Action::Run;
}

void exit_refused(std::string_view name, const Error& error) {
  const std::string text = error.describe();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(name.size()), name.data(), static_cast<int>(end - begin),
                 text.data() + begin);
    begin = end + 1;
  }
  std::fflush(stderr);
  _exit(exit_configuration);
}

namespace internal {

std::vector<const char*> words(int argc, char** argv) { return {argv + std::min(argc, 1), argv + argc}; }

std::string version_line(std::string_view name, std::string_view version) {
  std::string line(name);
  if (!version.empty()) line.append(" ").append(version);
  return line.append(" (Keel ").append(keel_version()).append(", ").append(keel_compiler()).append(")\n");
}

void show_warnings(std::string_view name, const Origins& origins) {
  for (const std::string& warning : origins.warnings()) {
    std::fprintf(stderr, "%.*s: warning: %s\n", static_cast<int>(name.size()), name.data(), warning.c_str());
  }
}

void show_and_exit(std::string_view name, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) std::exit(0);
  const Error error = Error::from_errno("standard output", errno);
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(name.size()), name.data(), error.describe().c_str());
  std::exit(exit_failure);
}

}  // namespace internal
}  // namespace keel::config
