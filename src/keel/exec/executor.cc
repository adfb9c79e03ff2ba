#include "keel/exec/executor.h"

#include <utility>

namespace keel {
namespace {

constinit thread_local Executor* current_executor = nullptr;

struct Discarding {
  bool is_on = false;
  std::size_t asked = 0;
};
constinit thread_local Discarding discarding;

}  // namespace

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

[[gnu::noinline]] bool Executor::discards() noexcept {
  if (!discarding.is_on) [[likely]]
    return false;
  ++discarding.asked;
  return true;
}
std::size_t Executor::discard(Job& job) noexcept {
  const Discarding before = std::exchange(discarding, {.is_on = true});
  job.run(job);
  return std::exchange(discarding, before).asked;
}

void Executor::post_all(Job& first, Job& last) noexcept {
  for (Job* job = &first;;) {
    // `next` is read before the post, because a posted job may be destroyed immediately.
    Job* const next = job == &last ? nullptr : job->next;
    post(*job);
    if (next == nullptr) return;
    job = next;
  }
}

bool Executor::offer(Job& job) noexcept {
  post(job);
  return true;
}
bool Executor::offer_all(Job& first, Job& last, std::size_t) noexcept {
  post_all(first, last);
  return true;
}
bool Executor::offer_after(Job&, Duration) noexcept { return false; }

}  // namespace keel
