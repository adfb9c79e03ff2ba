// keel/app/internal/platform.h — what an App stands on: the system, or what a test puts in its place (TestApp).
//
// Lifetime: what it refers to outlives the App.

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
  // The App is a part of a test: no signals, no report of a crash, no sockets of others, and a start that fails throws
  // std::runtime_error instead of ending the process.
  bool is_test = false;
  // A test has the lines of the log. Empty: the sinks of the settings have them.
  Function<void(std::string_view)> log = {};
  // Makes the loops of a simulation, where nothing else has a thread either. Empty: the workers are threads.
  Function<std::unique_ptr<io::Runtime>()> loops = {};
  // In a simulation: for what blocks, the database and the pools.
  Executor* executor = nullptr;
  // In a simulation: the VFS of SQLite on the simulated disk.
  const char* vfs = nullptr;
  // Host names to addresses. Empty: the system's.
  Function<Result<std::vector<Address>>(const std::string& host)> look_up = {};

  bool is_simulated() const noexcept { return static_cast<bool>(loops); }
};

}  // namespace keel::app::internal
