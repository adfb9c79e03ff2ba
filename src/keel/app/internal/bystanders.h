// keel/app/internal/bystanders.h — the threads beside one that has crashed: they stop for good.
//
// A thread of a process that is about to end must not continue: what it answers comes from memory that may be damaged,
// and what it changes makes the report of the crash contradict itself.
//
// Threads: on the one that crashed, once in a process; async-signal-safe.

#pragma once

#include <sys/types.h>

#include "keel/base/time.h"

namespace keel::app::internal {

// Interrupts every thread of this process but the caller and `spared` (0: none), by stack_signal (base/stack.h): it
// waits in a signal handler from then on, with the locks that it had. Returns how many had not stopped after
// `patience`: they block the signal, or are inside the kernel. io_uring's own threads are not counted.
int stop_bystanders(pid_t spared, Duration patience) noexcept;

}  // namespace keel::app::internal
