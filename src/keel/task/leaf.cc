#include "keel/task/leaf.h"

#include "keel/base/check.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/context.h"
#include "keel/task/frame.h"

namespace keel {

bool Leaf::begins(Context& context) noexcept {
  context_ = &context;
  return when_stopped_ == WhenStopped::Begins || !context.refuses();
}

void Leaf::wait(Waiter& waiter) noexcept {
  waiter_ = &waiter;
  // Away from home nobody could cancel it without a race, and nothing that waits long is awaited there.
  Executor* const here = Executor::current();
  if (context_->home() != here) return;
  context_->leaf_ = this;
  if (here != nullptr) context_->since_ = here->turn_time();
  registered_ = true;
  // Its own start() may have caused the stop.
  if (when_stopped_ == WhenStopped::IsRefused && context_->is_stopped()) [[unlikely]] {
    Trampoline::Deferring deferring;
    cancel_now();
  }
}

void Leaf::wake() noexcept {
  KEEL_DCHECK(waiter_ != nullptr, "a leaf wakes its task after start() has returned false");
  if (registered_) context_->leaf_ = nullptr;
  registered_ = false;
  if (Trampoline::queue(*this)) return;
  Executor* executor = Executor::current();
  KEEL_CHECK(executor != nullptr, "a task that is woken inside another one lives on an executor");
  executor->post(*this);
}

void Leaf::wake_on(Executor& executor) noexcept { executor.post(*this); }
bool Leaf::try_wake_on(ThreadPool& pool, Priority priority) noexcept { return pool.try_post(*this, priority); }

void Leaf::run_posted(Job& job) noexcept { Trampoline::arrive(static_cast<Leaf&>(job)); }

}  // namespace keel
