// keel/io/stall_watch.h — detects a worker that does not return to its loop, and finds out what the worker is
// executing.
//
//   StallWatch watch(*runtime, 200_ms, [](const Stall& stall) { … });
//
// Code that computes or blocks on a worker stops everything else on that worker. A separate thread checks the workers
// twice per `bound`. When a loop has been in the same iteration for longer than `bound`, the watching thread calls
// `tell`. The watching thread calls `tell` again each time the duration has doubled, and at the end of the iteration.
// Time during which the watching thread itself did not run (because the process was stopped or the machine was
// overloaded) does not count.
//
// Threads:  made, destroyed and called on a thread that is not a worker. `tell` is called on the watch's own thread.
// Lifetime: the runtime must outlive the watch, must have started before the watch is made, and must be stopped after
//           the watch is destroyed.
// Cost:     two stores in each iteration of a loop, and two wake-ups of the watching thread per `bound`. A stalled
//           worker is interrupted for some microseconds by a signal (base/stack.h says what that means for system
//           calls).

#pragma once

#include <memory>
#include <string_view>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/io/runtime.h"
#include "keel/observe/flight_recorder.h"

namespace keel::io {

// A report about a worker. The texts of a report are valid only during the call of `tell`.
struct Stall {
  int worker = 0;
  // How long the iteration has lasted so far, or lasted in total if it is over, with a precision of half of `bound`.
  Duration lasted = {};
  bool is_over = false;   // True: the worker has continued, and the fields below are empty.
  bool is_first = false;  // True for the first report of this iteration.
  // The functions that the worker is executing, innermost first; or the reason why they are unknown.
  std::string_view stack = {};
  // The activity that the loop has recorded (flight::Doing); empty if the task has been suspended since it recorded the
  // activity.
  flight::Activity doing = {};
};

class StallWatch {
 public:
  // `bound` must be above zero.
  StallWatch(Runtime& runtime, Duration bound, Function<void(const Stall&)> tell);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Reports immediately what every worker is doing, whether it stalls or not: `lasted` is zero for a waiting worker.
  void look_at_all(FunctionRef<void(const Stall&)> tell);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::io
