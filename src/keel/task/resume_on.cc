#include "keel/task/resume_on.h"

#include "keel/base/bug.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/context.h"

namespace keel {

ResumeOn::ResumeOn(ThreadPool& pool, Priority priority) noexcept
    : Leaf(nullptr, WhenStopped::Begins), target_(pool), pool_(&pool), priority_(priority) {}

bool ResumeOn::start() noexcept {
  if (Executor::current() == &target_) return true;
  if (context().home() == &target_ || !context().refuses()) return false;
  outcome_ = Outcome::Rejected;
  return true;
}

bool ResumeOn::suspended() noexcept {
  if (pool_ == nullptr || context().home() == &target_) {
    wake_on(target_);
    return true;
  }
  // outcome_ is set before the post, because this object may be destroyed as soon as the post is made.
  outcome_ = Outcome::Full;
  return try_wake_on(*pool_, priority_);
}

Result<> ResumeOn::take() noexcept {
  if (Executor::current() == &target_) {
    if (outcome_ == Outcome::Full && Executor::discards()) {
      return fail(Code::Cancelled, "the thread pool was stopped before the task could run on it");
    }
    return {};
  }
  if (outcome_ == Outcome::Rejected) return context().reason();
  return fail(Code::ResourceExhausted, "the queue of the thread pool is full");
}

bool Checkpoint::suspended() noexcept {
  Executor* executor = Executor::current();
  if (executor == nullptr) [[unlikely]]
    return false;  // take() reports it.
  wake_on(*executor);
  return true;
}

Result<> Checkpoint::take() noexcept {
  if (Executor::current() == nullptr) [[unlikely]] {
    return Error::from_bug(Bug("checkpoint() is awaited by a task that is not on an executor", place()));
  }
  if (context().refuses()) return context().reason();
  return {};
}

}  // namespace keel
