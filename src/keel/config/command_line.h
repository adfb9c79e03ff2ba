// keel/config/command_line.h — for the beginning of main(): loads the configuration of a program, or does what the
// command line asks for instead, such as --help.
//
//   int main(int argc, char** argv) {
//     auto config = config::load_or_exit<StoreConfig>("store", argc, argv, "store.yaml");
//     Store store(config->path);
//     …
//
// Threads: the calling thread must be the only thread of the process.
// Cost:    start-up only.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/result.h"
#include "keel/config/config.h"
#include "keel/config/reloadable.h"

namespace keel::config {

// The action that a command line asks for.
enum class Action { Run, Help, Version, PrintConfig, CheckConfig };
// What the command line asks for: the first of the flags --help (-h), --version, --print-config and --check-config, or
// Run if there is none of them.
Action action(std::span<const char* const> args) noexcept;

// Writes each line of `error` to standard error, prefixed with `name`, and ends the process with exit code 2. Other
// threads may still run, because no destructor is called.
[[noreturn]] void exit_refused(std::string_view name, const Error& error);

namespace internal {
std::vector<const char*> words(int argc, char** argv);
std::string version_line(std::string_view name, std::string_view version);
void show_warnings(std::string_view name, const Origins& origins);
[[noreturn]] void show_and_exit(std::string_view name, const std::string& text);
}  // namespace internal

// Loads the configuration from a file, then from the environment (KEEL_…), and then from the command line. The file is
// the one that --config names, or otherwise `file` (empty: no file). With --help, --version, --print-config or
// --check-config the process writes Origins::warnings() to standard error and ends: with exit code 0, with 1 if the
// text cannot be written, or with 2 for a mistake. Without any of the four flags --help, --version, --print-config and
// --check-config, a mistake ends the process as exit_refused() does, and the caller has to report the warnings
// (app::App logs them). `version`: the version of the program, for --version, which prints "store 1.4.2 (Keel 0.1.0,
// GCC 12.2.0)"; empty: unknown.
template <Section T>
Reloadable<T> load_or_exit(std::string_view name, int argc, char** argv, std::string file = {},
                           std::string_view version = {}) {
  const auto args = internal::words(argc, argv);
  const Action asked = action(args);
  if (asked == Action::Help) internal::show_and_exit(name, help<T>());
  if (asked == Action::Version) internal::show_and_exit(name, internal::version_line(name, version));
  auto loaded = Reloadable<T>::load({.file = std::move(file), .args = args});
  if (!loaded) exit_refused(name, loaded.error());
  if (asked != Action::Run) internal::show_warnings(name, loaded->origins());
  if (asked == Action::PrintConfig) internal::show_and_exit(name, loaded->describe());
  if (asked == Action::CheckConfig) internal::show_and_exit(name, "the configuration is valid\n");
  return *std::move(loaded);
}

}  // namespace keel::config
