#include "keel/exec/call.h"

#include <string>

#include "keel/base/check.h"

namespace keel::internal {

void executed_callable_threw() noexcept {
  const std::string sentence =
      "a callable of execute() does not throw, for nobody is there to be told; submit() takes one that does. It "
      "threw: " +
      Error::from_exception().describe();
  check_failed(__FILE__, __LINE__, "callable()", sentence.c_str());
}

Error executor_refused() noexcept {
  return Error(Code::ResourceExhausted, "the executor takes no more jobs: its queue is full, or it has been stopped");
}

Error executor_refused_delayed(const Executor& executor) noexcept {
  if (!executor.has_clock()) {
    return Error(Code::Unsupported,
                 "the executor has no clock, so nothing runs there later: a ThreadPool has one, and "
                 "a worker's loop");
  }
  return Error(Code::ResourceExhausted,
               "the executor takes no more jobs for later: too many wait for their time, or it has been stopped");
}

}  // namespace keel::internal
