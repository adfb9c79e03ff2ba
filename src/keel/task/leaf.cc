#include "keel/task/leaf.h"

#include <new>
#include <type_traits>

#include "keel/base/check.h"
#include "keel/exec/thread_pool.h"
#include "keel/task/context.h"
#include "keel/task/frame.h"

namespace keel {

Context& Leaf::context() const noexcept { return frame_->context(); }

void Leaf::wait() noexcept {
  Context& context = frame_->context();
  // Away from the home executor the leaf is not registered, because it could not be cancelled without a race. Tasks
  // await only short operations on other executors.
  Executor* const here = Executor::current();
  if (context.home() != here) return;
  context.leaf_ = this;
  if (here != nullptr) waiting_.since = here->turn_time();
  registered_ = true;
  // The start() of this leaf may have caused the stop; the operation is then cancelled here.
  if (when_stopped_ == WhenStopped::IsRefused && context.is_stopped()) [[unlikely]] {
    Trampoline::Deferring deferring;
    cancel_now();
  }
}

void Leaf::wake() noexcept {
  KEEL_DCHECK(frame_ != nullptr, "a leaf must not wake its task before start() has returned false");
  if (registered_) frame_->context().leaf_ = nullptr;
  registered_ = false;
  if (Trampoline::queue(*this)) return;
  Executor* executor = Executor::current();
  KEEL_CHECK(executor != nullptr, "a task that is woken inside another task must be on an executor");
  executor->post(job());
}

Job& Leaf::job() noexcept { return *new (&job_) Job(&run_posted); }
void Leaf::wake_on(Executor& executor) noexcept { executor.post(job()); }
bool Leaf::try_wake_on(ThreadPool& pool, Priority priority) noexcept { return pool.try_post(job(), priority); }

void Leaf::run_posted(Job& job) noexcept {
  static_assert(std::is_standard_layout_v<Leaf>);
  Trampoline::arrive(reinterpret_cast<Leaf&>(job));
}

std::source_location Leaf::place() const noexcept { return frame_->place(); }

Error explained(const Frame& self, Error&& error) noexcept {
  const Context& context = self.context();
  if (error.code() == Code::Cancelled && context.is_stopped()) return context.reason();
  return std::move(error);
}

}  // namespace keel
