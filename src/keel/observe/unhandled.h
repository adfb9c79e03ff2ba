// keel/observe/unhandled.h — errors that reach nobody: each is a line of the log, and counted.
//
//   report_unhandled("a callable of execute() threw", Error::from_exception());
//
// What a callable of execute() throws (exec/call.h), and a bug in a task whose errors are ignored (task/scope.h), have
// no caller who could log them. The line is of the component "unhandled", at level error for a bug, with what
// observe/failure.h says of it. While nobody reads the log (observe/log_ring.h) it goes to standard error instead.
//
// Metric:  unhandled_errors_total, where telemetry/process.h is (an App has it).
// Threads: any.  Cost: a bug's stack is named (base/stack.h).

#pragma once

#include <cstdint>

#include "keel/base/error.h"
#include "keel/observe/log.h"

namespace keel {

void report_unhandled(log::Message what, const Error& error) noexcept;

// How many were reported since the process began.
std::uint64_t unhandled_errors() noexcept;

}  // namespace keel
