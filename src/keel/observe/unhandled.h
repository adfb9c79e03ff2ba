// keel/observe/unhandled.h — errors that no caller receives: each is logged and counted.
//
//   report_unhandled("a callable of execute() threw", Error::from_exception());
//
// No caller can log an exception that a callable of execute() throws (exec/call.h), or a bug in a task whose errors are
// ignored (task/scope.h). The log line has the component "unhandled", the level error for a bug, and the fields of
// observe/failure.h. While the log has no reader (observe/log_ring.h) the line goes to standard error instead.
//
// Metric:  unhandled_errors_total, in programs that have ProcessMetrics (telemetry/process.h), as an App does.
// Threads: any.
// Cost:    for a bug, the names of the functions on its stack are looked up (base/stack.h).

#pragma once

#include <cstdint>

#include "keel/base/error.h"
#include "keel/observe/log.h"

namespace keel {

// Logs `error` with the message `what`, and counts it.
void report_unhandled(log::Message what, const Error& error) noexcept;

// The number of errors reported since the process began.
std::uint64_t unhandled_errors() noexcept;

}  // namespace keel
