#include "keel/exec/executor.h"

namespace keel {
namespace {
constinit thread_local Executor* current_executor = nullptr;
}

Executor::~Executor() {
  while (waiting_.pop_front() != nullptr) {
  }
}

// Not inlined: a coroutine that changes threads must not keep the address of a thread-local variable.
[[gnu::noinline]] Executor* Executor::current() noexcept { return current_executor; }
Executor* Executor::set_current(Executor* executor) noexcept {
  Executor* before = current_executor;
  current_executor = executor;
  return before;
}

void Executor::post_all(Job& first, Job& last) noexcept {
  for (Job* job = &first;;) {
    // A posted job may be gone at once.
    Job* const next = job == &last ? nullptr : job->next;
    post(*job);
    if (next == nullptr) return;
    job = next;
  }
}

}  // namespace keel
