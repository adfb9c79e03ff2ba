// keel/app/stall.h — logs each worker that does not return to its loop, with its position in the code.
//
//   StallLog stalls(*runtime, 200_ms, registry);
//
// Logs the reports of io/stall_watch.h for a service. A stall is logged as a line `worker stalled` with the time so
// far, the worker's stack, the request (method, path, trace) of a handler that has not suspended since the request
// arrived, and the worker's last requests (observe/flight_recorder.h). The line is logged again each time the duration
// has doubled; when the stall ends, the line `a worker runs again after a stall` follows.
//
// Metrics:  worker_stalls_total; worker_stall_seconds, observed at the end of a stall, with an error of at most half of
//           `bound`.
// Threads, lifetime, cost: those of io/stall_watch.h; the registry must outlive the StallLog, and report_all() may be
// called on any thread that is not a worker.

#pragma once

#include <memory>

#include "keel/base/time.h"
#include "keel/io/runtime.h"
#include "keel/observe/metric.h"

namespace keel::app {

// Watches the loops of a Runtime and logs each stall.
class StallLog {
 public:
  StallLog(io::Runtime& runtime, Duration bound, metrics::Registry& registry);
  ~StallLog();
  StallLog(const StallLog&) = delete;
  StallLog& operator=(const StallLog&) = delete;

  // Logs what every worker is executing: for each worker, a line `worker` with the worker's stack.
  void report_all();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::app
