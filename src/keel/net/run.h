// keel/net/run.h — a program of one loop: runs a task on this thread until it ends, or a signal ends it.
//
//   Task<> serve(Address at);
//   int main() { return run(serve(*Address::parse("0.0.0.0:7000"))) ? 0 : 1; }
//
// SIGINT and SIGTERM stop the task: what it waits for ends with Cancelled, and so does it; that counts as success. A
// second one has the effect it had before the call, usually the end of the process. A service that is more than that
// (several workers, logs, drain) is an app::App.
//
// Result:   the task's error, when it was not stopped; Unsupported when `engine` is not to be had.
// Threads:  the calling one, on which no loop runs; one run() in a process at a time.
// Lifetime: what the task refers to outlives the call; afterwards nothing of it is left.

#pragma once

#include "keel/base/result.h"
#include "keel/io/engine.h"
#include "keel/task/task.h"

namespace keel {

Result<> run(Task<>&& main, io::EngineKind engine = io::EngineKind::Auto);

}  // namespace keel
