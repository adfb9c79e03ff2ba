// keel/app/internal/rounds.h — calls a function once every worker has finished what it was running: after that, no
// worker still reads something that it began to read earlier without an await since.
//
// Threads:  the main thread; the function is called on the last worker.
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

  // Does not wait. If the runtime stops before that, `then` is not called.
  void begin(io::Runtime& runtime, Function<void()> then);

 private:
  struct Round;
  std::vector<std::unique_ptr<Round>> rounds_;
};

}  // namespace keel::app::internal
