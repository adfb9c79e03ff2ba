// keel/io/stall_watch.h — notices a worker that does not come back to its loop, and where it is.
//
//   StallWatch watch(*runtime, 200_ms, [](const Stall& stall) { … });
//
// What computes or blocks on a worker stops everything else of that worker. A thread of its own looks at the workers
// twice in each `bound`. When a loop has been inside the same turn for longer, it calls `tell`: then, again each time
// the duration has doubled, and at the end. Time in which the watching thread itself was not run (the process was
// stopped, the machine overloaded) does not count.
//
// Threads:  made, destroyed and called on a thread that is not a worker. The call is made on the watch's own thread.
// Lifetime: the runtime outlives it, has started, and is stopped afterwards.
// Cost:     two stores a turn of each loop, and a wake-up of the watching thread twice in `bound`. A stalled worker is
//           interrupted for some microseconds by a signal (base/stack.h says what that means for system calls).

#pragma once

#include <memory>
#include <string_view>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/io/runtime.h"
#include "keel/observe/flight_recorder.h"

namespace keel::io {

// Its texts are valid during the call.
struct Stall {
  int worker = 0;
  Duration lasted = {};         // The turn so far; when it is over, all of it, to within half of `bound`.
  bool is_over = false;         // The worker continues; nothing else is known.
  bool is_first = false;        // True for the first report of this turn.
  std::string_view stack = {};  // Its functions, innermost first; or why they are not known.
  flight::Activity doing = {};  // What the loop is doing (flight::Doing), if it has not suspended since; or empty.
};

class StallWatch {
 public:
  // `bound` is longer than nothing.
  StallWatch(Runtime& runtime, Duration bound, Function<void(const Stall&)> tell);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  // Tells here where every worker is now, those too that do not stall: `lasted` is zero of one that waits.
  void look_at_all(FunctionRef<void(const Stall&)> tell);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::io
