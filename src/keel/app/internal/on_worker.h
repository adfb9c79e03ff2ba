// keel/app/internal/on_worker.h — runs a task on the first worker's loop and waits until the task ends: for modules,
// whose start and stop do not run on a worker.
//
// Threads:  call these functions on any thread that is not a worker, while the loop runs.
// Lifetime: objects that the task refers to must outlive the call.

#pragma once

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/io/runtime.h"
#include "keel/task/task.h"

namespace keel::app::internal {

// `make` is called on the loop's thread.
Result<> run_on_first(io::Runtime& runtime, FunctionRef<Task<>()> make);

}  // namespace keel::app::internal
