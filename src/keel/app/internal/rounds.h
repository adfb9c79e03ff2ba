// keel/app/internal/rounds.h — calls a function after every worker has reached its event loop once: by then, no worker
// still uses a value that the worker read before the call, unless a task kept the value across an await.
//
// Threads:  begin() on the main thread; the last worker that reaches its loop calls the function.
// Lifetime: a Rounds must outlive the runtime.

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

  // Does not wait. If the runtime stops first, `then` is not called.
  void begin(io::Runtime& runtime, Function<void()> then);

 private:
  struct Round;
  std::vector<std::unique_ptr<Round>> rounds_;
};

}  // namespace keel::app::internal
