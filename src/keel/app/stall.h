// keel/app/stall.h — notices a worker that does not come back to its loop, and says where it is.
//
//   StallWatch watch(*runtime, 200_ms, registry);
//
// A handler that computes or blocks on a worker stops every other request of that worker. A thread of its own looks at
// the workers twice in each `bound`; when one has been inside the same turn for longer, it logs `worker stalled` with
// the time so far, the worker's stack, and, when a handler has not suspended since the request came, that request
// (method, path, trace), and the worker's last requests (observe/flight_recorder.h); again each time the time has
// doubled; and `worker goes on` at the end. Time in which the watching thread itself was not run (the process was
// stopped, the machine overloaded) does not count.
//
// Metrics:  worker_stalls_total; worker_stall_seconds, observed at the end, to within half of `bound`.
// Threads:  made, destroyed and called on a thread that is not a worker; report_all() on any such thread.
// Lifetime: runtime and registry outlive it; the runtime has started, and is stopped afterwards.
// Cost:     two stores a turn of each loop, and a wake-up of the watching thread twice in `bound`. A stalled worker is
//           interrupted for some microseconds by a signal (base/stack.h says what that means for system calls).

#pragma once

#include <memory>

#include "keel/base/time.h"
#include "keel/io/runtime.h"
#include "keel/observe/metric.h"

namespace keel::app {

class StallWatch {
 public:
  StallWatch(io::Runtime& runtime, Duration bound, metrics::Registry& registry);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Logs where every worker is now: one line each, `worker`, with its stack.
  void report_all();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::app
