// keel/exec/call.h — a callable as a job: runs it without waiting for its result.
//
//   KEEL_TRY_VOID(execute(pool, [&cache] { cache.sweep(); }));        // ResourceExhausted: the queue is full
//   KEEL_TRY_VOID(execute(pool, report, Priority::Low));              // what offer() of a ThreadPool also takes
//   KEEL_TRY_VOID(execute_all(pool, callables));                      // all or none: one lock, one wake-up
//   KEEL_TRY_VOID(execute_after(pool, 50_ms, [this] { retry(); }));   // on any executor that has a clock
//
// If you need the result or may have to cancel the job, use submit() (exec/submitted.h).
//
// Result:    success means that the job was accepted, not that it has run: an executor that is stopped with a deadline
//            discards the jobs that have not begun by then, and destroys their callables.
// Errors:    ResourceExhausted when the executor rejects the job (Executor::offer), because its queue is full or it has
//            been stopped. Unsupported from execute_after() when the executor has no clock (InlineExecutor). An
//            exception that the callable throws is not passed to any caller. The exception is logged and counted
//            (observe/unhandled.h), and the executor continues. With submit(), the caller receives the exception.
//            execute() itself throws std::bad_alloc when there is no memory for the job.
// Ownership: the callable is moved into the job and destroyed on the thread that has run it. Objects that the callable
//            refers to must outlive the job.
// Threads:   any.
// Cost:      no heap allocation in steady state for callables of at most 112 bytes: their blocks are reused
//            (exec/job_memory.h). A callable of at most 48 bytes takes a block of the smaller of the two sizes.

#pragma once

#include <cstddef>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

#include "keel/base/result.h"
#include "keel/exec/executor.h"
#include "keel/exec/job_memory.h"

namespace keel {

namespace internal {

// Call it in a catch block.
[[gnu::cold]] void executed_callable_threw() noexcept;
Error executor_refused() noexcept;
Error executor_refused_delayed(const Executor& executor) noexcept;

// Owns job memory until an object is constructed in it.
class JobBlock {
 public:
  explicit JobBlock(std::size_t bytes) : block_(job_allocate(bytes)), bytes_(bytes) {}
  JobBlock(const JobBlock&) = delete;
  JobBlock& operator=(const JobBlock&) = delete;
  ~JobBlock() {
    if (block_ != nullptr) job_free(block_, bytes_);
  }
  void* get() const noexcept { return block_; }
  void release() noexcept { block_ = nullptr; }

 private:
  void* block_;
  std::size_t bytes_;
};

template <class F>
class Call final : public Job {
  static_assert(std::is_void_v<std::invoke_result_t<F&>>,
                "the value that the callable of execute() returns would be lost: use submit() to receive it");
  static_assert(alignof(F) <= alignof(std::max_align_t),
                "the callable of a job must not need a stricter alignment than malloc guarantees");

 public:
  template <class G>
  static Call* make(G&& callable) {
    JobBlock block(sizeof(Call));
    auto* const call = new (block.get()) Call(std::forward<G>(callable));
    block.release();
    return call;
  }
  // Destroys the callable of a discarded job without running it.
  void drop() noexcept {
    this->~Call();
    job_free(this, sizeof(Call));
  }

 private:
  template <class G>
  explicit Call(G&& callable) : Job(&run_it), callable_(std::forward<G>(callable)) {}
  static void run_it(Job& job) noexcept {
    auto& call = static_cast<Call&>(job);
    if (!Executor::discards()) [[likely]] {
      if constexpr (std::is_nothrow_invocable_v<F&>) {
        call.callable_();
      } else {
        try {
          call.callable_();
        } catch (...) {
          executed_callable_threw();
        }
      }
    }
    call.drop();
  }

  [[no_unique_address]] F callable_;
};

// All callables have the type C.
template <class C>
void drop_all(Job* first) noexcept {
  while (first != nullptr) static_cast<C*>(std::exchange(first, first->next))->drop();
}

}  // namespace internal

// `how` is the additional argument of the executor's offer(): a Priority for a ThreadPool.
template <class E, class F, class... How>
  requires std::is_base_of_v<Executor, E>
Result<> execute(E& executor, F&& callable, How... how) {
  static_assert(
      requires(Job& job) { executor.offer(job, how...); },
      "this executor has no priorities: leave the Priority out, or use a ThreadPool");
  auto* const call = internal::Call<std::decay_t<F>>::make(std::forward<F>(callable));
  if (executor.offer(*call, how...)) [[likely]]
    return {};
  call->drop();
  return internal::executor_refused();
}

// Moves each callable out of `callables`, a range.
template <class E, class Callables, class... How>
  requires std::is_base_of_v<Executor, E>
Result<> execute_all(E& executor, Callables&& callables, How... how) {
  using C = internal::Call<std::remove_cvref_t<decltype(*std::begin(callables))>>;
  Job* first = nullptr;
  Job* last = nullptr;
  std::size_t count = 0;
  try {
    for (auto& callable : callables) {
      Job* const call = C::make(std::move(callable));
      (last == nullptr ? first : last->next) = call;
      last = call;
      ++count;
    }
  } catch (...) {
    internal::drop_all<C>(first);
    throw;
  }
  if (count == 0 || executor.offer_all(*first, *last, count, how...)) return {};
  internal::drop_all<C>(first);
  return internal::executor_refused();
}

// Runs the callable once `delay` has passed (Executor::offer_after).
template <class F>
Result<> execute_after(Executor& executor, Duration delay, F&& callable) {
  auto* const call = internal::Call<std::decay_t<F>>::make(std::forward<F>(callable));
  if (executor.offer_after(*call, delay)) return {};
  call->drop();
  return internal::executor_refused_delayed(executor);
}

}  // namespace keel
