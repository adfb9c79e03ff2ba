#include "keel/exec/inline_executor.h"

namespace keel {

void InlineExecutor::post(Job& job) noexcept {
  job.next = nullptr;
  if (runs_) {
    *last_ = &job;
    last_ = &job.next;
    return;
  }
  runs_ = true;
  Executor* const before = set_current(this);
  job.run(job);
  while (Job* const next = first_) {
    first_ = next->next;
    if (first_ == nullptr) last_ = &first_;
    next->run(*next);
  }
  set_current(before);
  runs_ = false;
}

}  // namespace keel
