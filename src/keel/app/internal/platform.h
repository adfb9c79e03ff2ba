// keel/app/internal/platform.h — the base of an App: the system, or a test's replacement for it (TestApp).
//
// Lifetime: objects that it refers to outlive the App.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/io/address.h"
#include "keel/io/runtime.h"

namespace keel::app::internal {

struct Platform {
  // The App is part of a test: it has no signal handling, no crash reports, no inherited sockets, and a start that
  // fails throws std::runtime_error instead of ending the process.
  bool is_test = false;
  // Receives the lines of the log in a test. Empty: the lines go to the sinks of the settings.
  Function<void(std::string_view)> log = {};
  // Creates the event loops of a simulation; then no part of the App starts a thread. Empty: the workers are threads.
  Function<std::unique_ptr<io::Runtime>()> loops = {};
  // Runs blocking work of the database and the pools in a simulation; else null.
  Executor* executor = nullptr;
  // The VFS of SQLite on the simulated disk; only in a simulation.
  const char* vfs = nullptr;
  // Resolves host names to addresses. Empty: the system's.
  Function<Result<std::vector<Address>>(const std::string& host)> look_up = {};

  bool is_simulated() const noexcept { return static_cast<bool>(loops); }
};

}  // namespace keel::app::internal
