// keel/app/internal/platform.h — what an App runs on: the system, or a test's replacement for the system (TestApp).
//
// Lifetime: the objects that a Platform refers to must outlive the App.

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
  // Whether the App is part of a test. Such an App has no signal handling, no crash reports and no inherited sockets,
  // and a start that fails throws std::runtime_error instead of ending the process.
  bool is_test = false;
  // In a test, receives the lines of the log. Empty: the lines go to the sinks in the settings.
  Function<void(std::string_view)> log = {};
  // In a simulation, creates the event loops; no part of the App then starts a thread. Empty: the workers are threads.
  Function<std::unique_ptr<io::Runtime>()> loops = {};
  // In a simulation, runs the blocking work of the database and of the pools; otherwise null.
  Executor* executor = nullptr;
  // In a simulation, the VFS of SQLite on the simulated disk.
  const char* vfs = nullptr;
  // Resolves host names to addresses. Empty: the system's.
  Function<Result<std::vector<Address>>(const std::string& host)> look_up = {};

  bool is_simulated() const noexcept { return static_cast<bool>(loops); }
};

}  // namespace keel::app::internal
