// keel/io/runtime.h — one worker per core: a thread with a loop of its own, nothing shared.
//
//   KEEL_TRY(auto runtime, Runtime::make({.workers = 2}));
//   KEEL_TRY_VOID(runtime->start());
//   runtime->each([](Loop& loop) { … });    // on every worker's thread, one after the other
//   …
//   runtime->stop();                        // ends every loop and joins
//
// Threads:  start() and stop() one after the other, each() on any number at once, none of them on a worker.
// Lifetime: outlives everything that lives on its loops.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "keel/base/function.h"
#include "keel/io/loop.h"

namespace keel::io {

struct RuntimeOptions {
  int workers = 0;  // 0: one per core this process may run on.
  EngineKind engine = EngineKind::Auto;
  bool pin = false;  // Pins worker i to the i-th allowed core.
  EngineOptions engine_options = {};
};

class Runtime {
 public:
  // Unsupported when the engine asked for is not to be had; the text says why. InvalidArgument: one of its options is
  // outside of its bounds.
  static Result<std::unique_ptr<Runtime>> make(const RuntimeOptions& options);
  ~Runtime();  // stop()

  int workers() const noexcept { return static_cast<int>(workers_.size()); }
  // Which engine runs and why, for the log: {Uring, "io_uring passed its probe"}.
  const EngineChoice& engine() const noexcept { return choice_; }
  Loop& loop(int worker) noexcept;

  // Starts the threads and waits until each loop turns. On an error no thread is left.
  Result<> start();
  // Runs `f` on every worker's own thread, one worker after the other, and waits for it. Between start() and
  // stop(): afterwards nobody would run it.
  void each(FunctionRef<void(Loop&)> f);
  // Stops every loop and joins its thread. What was closed on a loop until then is closed: it turns on until nothing is
  // left to do, 2 ms at least and 0.1 s at most. What was posted and has not run by then is left. Idempotent. The loops
  // live on until the Runtime is destroyed.
  void stop() noexcept;

 private:
  struct Worker;
  explicit Runtime(EngineChoice choice);
  EngineChoice choice_;
  RuntimeOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace keel::io
