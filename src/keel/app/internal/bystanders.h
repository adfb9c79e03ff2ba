// keel/app/internal/bystanders.h — stops all threads other than the one that has crashed.
//
// After a crash no other thread may continue: its responses would come from memory that may be damaged, and its changes
// could make the report of the crash inconsistent.
//
// Threads: called by the thread that crashed, once in a process; async-signal-safe.

#pragma once

#include <sys/types.h>

#include "keel/base/time.h"

namespace keel::app::internal {

// Interrupts every thread of this process except the caller and `spared` (0: none) with stack_signal (base/stack.h):
// from then on the interrupted thread waits in a signal handler and keeps its locks. Returns the number of threads that
// had not stopped after `patience`: they block the signal, or are inside the kernel. io_uring's own threads are not
// counted.
int stop_bystanders(pid_t spared, Duration patience) noexcept;

}  // namespace keel::app::internal
