// keel/app/internal/rounds.h — calls a function once every worker has ended what it was running: nothing that a worker
// has begun to read before, without an await since, is read any more.
//
// Threads:  the main thread; the function is called on the worker that is last.
// Lifetime: outlives the runtime.

#pragma once

#include <memory>
#include <vector>

#include "keel/base/function.h"
#include "keel/io/runtime.h"

namespace keel::app::internal {

class Rounds {
 public:
  Rounds();
  ~Rounds();

  // Does not wait. When the runtime stops before, `then` is not called.
  void begin(io::Runtime& runtime, Function<void()> then);

 private:
  struct Round;
  std::vector<std::unique_ptr<Round>> rounds_;
};

}  // namespace keel::app::internal
