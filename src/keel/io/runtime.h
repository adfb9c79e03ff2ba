// keel/io/runtime.h — one worker per core: each is a thread with its own loop, and the workers share nothing.
//
//   KEEL_TRY(auto runtime, Runtime::make({.workers = 2}));
//   KEEL_TRY_VOID(runtime->start());
//   runtime->each([](Loop& loop) { … });    // on every worker's thread, one after the other
//   …
//   runtime->stop();                        // ends every loop and joins
//
// Code that waits for an event on the loops should use wait_until(). Code that uses wait_until() also works in a
// simulation, which runs the loops of its Runtime (over()) on the waiting thread.
//
// Threads:  start() and stop() must not run concurrently; each() and wait_until() may be called concurrently on any
//           number of threads. None of these functions may be called on a worker.
// Lifetime: outlives everything that lives on its loops.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "keel/base/function.h"
#include "keel/io/loop.h"

namespace keel::io {

// The number of workers, and the engine of their loops.
struct RuntimeOptions {
  int workers = 0;  // 0: one per core this process may run on.
  EngineKind engine = EngineKind::Auto;
  bool pin = false;  // Pins worker i to the i-th allowed core.
  EngineOptions engine_options = {};
};

class Runtime {
 public:
  // Unsupported when the requested engine is not available; the message has the reason. InvalidArgument: one of the
  // engine's options is outside its bounds.
  static Result<std::unique_ptr<Runtime>> make(const RuntimeOptions& options);
  // Makes a runtime for loops without threads: `turn` runs iterations of the loops on the calling thread until `done`
  // returns true or `limit` has passed, and returns done(). sim::Simulation::run_until() is such a function. In such a
  // runtime, start() does nothing, each() calls `f` on the calling thread, and stop() runs iterations for 5 ms of the
  // loops' time. The loops must outlive the Runtime.
  using Turn = Function<bool(FunctionRef<bool()> done, Duration limit)>;
  static std::unique_ptr<Runtime> over(std::vector<Loop*> loops, Turn turn);
  ~Runtime();  // Calls stop().

  int workers() const noexcept { return static_cast<int>(workers_.size()); }
  // Which engine runs and why, for the log: {Uring, "io_uring passed its probe"}.
  const EngineChoice& engine() const noexcept { return choice_; }
  Loop& loop(int worker) noexcept;

  // Starts the threads and waits until each loop runs. If it returns an error, it leaves no thread running.
  Result<> start();
  // Runs `f` on every worker's own thread, one worker after the other, and returns when all calls have returned. Call
  // it between start() and stop(): afterwards no thread would run `f`.
  void each(FunctionRef<void(Loop&)> f);
  // Waits until done() returns true, and then returns true; returns false after `limit`. Calls done() on this thread,
  // at least every 5 ms while the loops run.
  bool wait_until(FunctionRef<bool()> done, Duration limit);
  // Stops every loop and joins its thread. When stop() returns, the kernel has closed the descriptors that were closed
  // on a loop, because the loop keeps running until nothing is left to do, for at least 2 ms and at most 0.1 s. Jobs
  // that are posted, but have not run when the loop ends, are discarded. Idempotent. The loops exist until the Runtime
  // is destroyed.
  void stop() noexcept;

 private:
  struct Worker;
  explicit Runtime(EngineChoice choice);
  EngineChoice choice_;
  RuntimeOptions options_;
  Turn turn_;  // Empty: the loops have threads.
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace keel::io
