// keel/app/internal/bystanders.h — stops all threads other than the thread that has crashed.
//
// After a crash no other thread may continue: such a thread could send responses from damaged memory, or change data
// while the report of the crash reads the data.
//
// Threads: called once in a process, by the thread that crashed; async-signal-safe.

#pragma once

#include <sys/types.h>

#include "keel/base/time.h"

namespace keel::app::internal {

// Sends stack_signal (base/stack.h) to every thread of this process except the caller and `spared` (0: none): each
// thread that is interrupted then waits in the signal handler until the process ends, and keeps its locks. Returns the
// number of threads that had not stopped after `patience`, because they block the signal or are inside the kernel.
// io_uring's own threads are not counted.
int stop_bystanders(pid_t spared, Duration patience) noexcept;

}  // namespace keel::app::internal
