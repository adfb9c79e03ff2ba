#include "keel/exec/call.h"

#include "keel/observe/unhandled.h"

namespace keel::internal {

void executed_callable_threw() noexcept {
  report_unhandled(
      "a callable passed to execute() threw an exception, which no caller receives: use submit(), which passes "
      "exceptions to its caller",
      Error::from_exception());
}

Error executor_refused() noexcept {
  return Error(Code::ResourceExhausted, "the executor takes no more jobs: its queue is full, or it has been stopped");
}

Error executor_refused_delayed(const Executor& executor) noexcept {
  if (!executor.has_clock()) {
    return Error(Code::Unsupported,
                 "the executor has no clock, so it cannot delay a job: use a ThreadPool or the loop of a worker");
  }
  return Error(Code::ResourceExhausted,
               "the executor takes no more delayed jobs: its queue is full, or it has been stopped");
}

}  // namespace keel::internal
