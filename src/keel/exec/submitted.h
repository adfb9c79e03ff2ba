// keel/exec/submitted.h — submit(): a callable as a job, and a handle to its result.
//
//   Submitted<Image> small = submit(pool, [&] { return shrink(image); });
//   Result<Image> result = small.get();                      // a thread waits; a task: co_await completion(…), task/
//
//   if (!small.wait_for(50_ms) && small.cancel()) …          // it had not begun, and will not
//   std::vector<Submitted<int>> parts = submit_all(pool, callables);
//   wait_all(parts);  KEEL_TRY(std::size_t first, wait_any(parts));
//
// Result:    the value that the callable returns, which can be taken once; if the callable returns a Result<T>, the
//            result is that Result, not a Result of a Result. An exception that leaves the callable becomes an Error
//            (Internal with its what(), ResourceExhausted for std::bad_alloc).
// Errors:    Cancelled if cancel() was called before the job began, or if the executor was stopped and discarded the
//            job. ResourceExhausted if the executor rejected the job (Executor::offer). Unsupported if the executor has
//            no clock for submit_after(). submit() throws std::bad_alloc if there is no memory for the job. A Bug
//            (base/bug.h) is thrown for waiting on a worker, for wait_any() without handles, and for using an empty
//            handle.
// Ownership: the handle owns the result. Destroying the handle cancels a job that has not begun; a running job
//            continues, and its result is dropped. Objects that the callable refers to must live until the job has
//            ended; wait() returns after the job has ended. The callable is destroyed when the job has run or is
//            cancelled.
// Threads:   a handle belongs to one thread at a time. A worker's loop must not wait; its tasks await completion()
//            instead. If the waiting thread belongs to the job's executor and the job has not begun, the thread itself
//            runs the job inside the call; it runs a delayed job once that job is due. Therefore jobs that wait for
//            other jobs of the same pool do not block the pool.
// Cost:      no heap allocation in steady state when callable and value together take no more than 72 bytes, because
//            blocks are reused; see call_bench.cc.

#pragma once

#include <atomic>
#include <cstddef>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/atomics.h"
#include "keel/base/bug.h"
#include "keel/base/function.h"
#include "keel/exec/call.h"

namespace keel {

namespace internal {

// Only a test that runs the operations in every order passes another template argument.
template <class Atomics = StandardAtomics>
class BasicSubmission : public Job {
 public:
  // Notified once, on the thread that ends the job.
  struct Listener {
    void (*done)(Listener&) noexcept;
  };

  bool is_done() const noexcept { return listener_.load(std::memory_order_acquire) == &nobody; }
  bool has_value() const noexcept { return has_value_; }  // Valid when the job is done.
  Error& error() noexcept { return error_; }              // Valid when the job is done and has no value.

  // Prevents the job from running; the submission then ends with the error Cancelled. False: the job has already begun
  // or was cancelled earlier.
  bool cancel() noexcept;
  // From now on, the end of the job notifies `listener`. False: the job is already done.
  bool listen(Listener& listener) noexcept;
  // Prevents `listener` from being notified when the job ends. False: `listener` was already notified, or is being
  // notified at this moment.
  bool forget(Listener& listener) noexcept;
  // If called on a thread of the job's executor, runs the job inside this call when the job is due and has not begun.
  // True: the job has run inside this call.
  bool help() noexcept;
  // The time before which help() does not run the job on this thread; never() when this thread must not run the job at
  // all.
  Instant helps_at() const noexcept;
  // Releases the handle's share.
  void release() noexcept;

  // submit() calls refuse() when the executor has rejected the job; `reason` becomes the job's error.
  void refuse(Error&& reason) noexcept;

 protected:
  // Run calls the callable and keeps the value or the error, Drop destroys the callable, Free frees the block, and Due
  // returns the time at which the callable may begin.
  enum class Step : unsigned char { Run, Drop, Free, Due };
  using Take = Instant (*)(BasicSubmission&, Step) noexcept;
  BasicSubmission(Executor& executor, Take take) noexcept : Job(&run_it), executor_(&executor), take_(take) {}
  ~BasicSubmission() = default;
  void set_value() noexcept { has_value_ = true; }
  void set_error(Error&& error) noexcept { error_ = std::move(error); }

 private:
  static void run_it(Job& job) noexcept;
  bool claim() noexcept { return !is_claimed_.exchange(true, std::memory_order_acq_rel); }
  void run_claimed() noexcept;
  void end_with(Error&& error) noexcept;
  void complete() noexcept;

  template <class U>
  using Atomic = typename Atomics::template Atomic<U>;
  static Listener nobody;  // The address of `nobody` is stored as the listener once the job is done.
  Atomic<Listener*> listener_{nullptr};
  Executor* executor_;
  Take take_;
  Error error_{Code::Cancelled, "the job was cancelled before it began"};
  Atomic<bool> is_claimed_{false};  // True: a thread is running or cancelling the job, or has run or cancelled it.
  bool has_value_ = false;
  Atomic<unsigned char> owners_{2};  // Two owners: the executor and the handle.
};

extern template class BasicSubmission<>;

}  // namespace internal

// The part of a submitted job that does not depend on the type of its result. The executor and the handle share it.
using Submission = internal::BasicSubmission<>;

// The shared state of a submission whose callable returns a T.
template <class T>
class SubmissionOf : public Submission {
 public:
  using Stored = std::conditional_t<std::is_void_v<T>, char, T>;
  Result<T> take() {
    if (!has_value()) return Result<T>(std::move(error()));
    if constexpr (std::is_void_v<T>) {
      return Result<T>();
    } else {
      return Result<T>(std::move(value_));
    }
  }

 protected:
  SubmissionOf(Executor& executor, Submission::Take steps) noexcept : Submission(executor, steps) {}
  ~SubmissionOf() {
    if (has_value()) value_.~Stored();
  }
  template <class... U>
  void emplace(U&&... value) {
    ::new (static_cast<void*>(__builtin_addressof(value_))) Stored(std::forward<U>(value)...);
    set_value();
  }

 private:
  union {
    Stored value_;
  };
};

namespace internal {
// `at` is the time from which a submitted job may begin.
struct DueAtOnce {
  static constexpr Instant at{};
};
struct DueLater {
  Instant at;
};
DueLater due_after(Duration delay) noexcept;
}  // namespace internal

// The job of one submission: its callable and its result, in one block.
template <class T, class F, class Due = internal::DueAtOnce>
class SubmissionFor final : public SubmissionOf<T> {
  using Step = Submission::Step;
  static_assert(alignof(F) <= alignof(std::max_align_t) &&
                    alignof(typename SubmissionOf<T>::Stored) <= alignof(std::max_align_t),
                "neither the callable of a job nor the value that it returns may need a stricter alignment than malloc "
                "guarantees");

 public:
  template <class G>
  static SubmissionFor* make(Executor& executor, G&& callable, Due due = {}) {
    internal::JobBlock block(sizeof(SubmissionFor));
    auto* const made = new (block.get()) SubmissionFor(executor, std::forward<G>(callable), due);
    block.release();
    return made;
  }

 private:
  template <class G>
  SubmissionFor(Executor& executor, G&& callable, Due due)
      : SubmissionOf<T>(executor, &take_step), due_(due), callable_(std::forward<G>(callable)) {}
  ~SubmissionFor() {}  // Step::Drop has destroyed the callable.

  static Instant take_step(Submission& submission, Step step) noexcept {
    auto& self = static_cast<SubmissionFor&>(submission);
    if (step == Step::Due) return self.due_.at;
    if (step == Step::Free) {
      self.~SubmissionFor();
      job_free(&self, sizeof(SubmissionFor));
      return {};
    }
    if (step == Step::Run) self.call();
    self.callable_.~F();
    return {};
  }
  void call() noexcept {
    try {
      using R = std::invoke_result_t<F&>;
      if constexpr (!std::is_void_v<R>) {
        keep(callable_());
      } else {
        callable_();
        this->emplace();
      }
    } catch (...) {
      this->set_error(Error::from_exception());
    }
  }
  template <class U>
  void keep(Result<U>&& result) {
    if (!result.has_value()) return this->set_error(std::move(result.error()));
    if constexpr (std::is_void_v<U>) {
      this->emplace();
    } else {
      this->emplace(*std::move(result));
    }
  }
  template <class U>
  void keep(U&& value) {
    this->emplace(std::forward<U>(value));
  }

  [[no_unique_address]] Due due_;
  union {
    F callable_;
  };
};

namespace internal {

template <class R>
struct SubmittedValue {
  static_assert(!std::is_reference_v<R>,
                "a submitted callable must return a value: return a pointer to an object that lives elsewhere");
  static_assert(std::is_void_v<R> || std::is_move_constructible_v<R>,
                "a submitted callable must return a movable value; spawn a task into a Scope instead");
  using Type = R;
};
template <class T>
struct SubmittedValue<Result<T>> {
  using Type = T;
};

// Waits for `submission`. False: the submission is not done at `until`.
bool wait(Submission& submission, Instant until, std::source_location place);
// The index of a submission that is done; `count` when none is done at `until`.
std::size_t wait_any(std::size_t count, FunctionRef<Submission&(std::size_t)> at, Instant until,
                     std::source_location place);
Instant after(Duration delay) noexcept;
Error none_is_done() noexcept;

}  // namespace internal

template <class T = void>
class [[nodiscard]] Submitted {
 public:
  using Value = T;

  // Makes an empty handle; a handle that was moved from, or whose result was taken, is empty too. An empty handle may
  // only be assigned or destroyed.
  Submitted() noexcept = default;
  explicit Submitted(SubmissionOf<T>& submission) noexcept : submission_(&submission) {}
  Submitted(Submitted&& other) noexcept : submission_(std::exchange(other.submission_, nullptr)) {}
  Submitted& operator=(Submitted&& other) noexcept {
    if (this != &other) {
      reset();
      submission_ = std::exchange(other.submission_, nullptr);
    }
    return *this;
  }
  ~Submitted() { reset(); }

  // True unless the handle is empty. A handle is empty if it was made without a job, if it was moved from, or if its
  // result was taken.
  explicit operator bool() const noexcept { return submission_ != nullptr; }
  // True once the job has run, or was cancelled or rejected: get() then does not wait.
  bool is_done() const { return submission().is_done(); }
  // True: the job had not begun and never will begin; get() returns Cancelled, and the callable is destroyed. The
  // cancelled job stays in the queue until its turn comes. False: the job is running or done.
  bool cancel() { return submission().cancel(); }

  // Waits until the job is done.
  void wait(std::source_location place = std::source_location::current()) {
    internal::wait(submission(place), Instant::never(), place);
  }
  // False: the job was not done in time, and continues.
  bool wait_for(Duration limit, std::source_location place = std::source_location::current()) {
    return internal::wait(submission(place), internal::after(limit), place);
  }
  bool wait_until(Instant deadline, std::source_location place = std::source_location::current()) {
    return internal::wait(submission(place), deadline, place);
  }

  // Waits for the result and takes it; the handle is empty afterwards.
  Result<T> get(std::source_location place = std::source_location::current()) {
    wait(place);
    Result<T> result = static_cast<SubmissionOf<T>&>(submission()).take();
    std::exchange(submission_, nullptr)->release();
    return result;
  }

  // The submission, for wait_any() and awaiting code.
  Submission& submission(std::source_location place = std::source_location::current()) const {
    KEEL_EXPECT_AT(submission_ != nullptr,
                   "a handle cannot be used after its result was taken, or after the handle was moved from", place);
    return *submission_;
  }

 private:
  void reset() noexcept {
    if (submission_ == nullptr) return;
    submission_->cancel();
    std::exchange(submission_, nullptr)->release();
  }
  SubmissionOf<T>* submission_ = nullptr;
};

// `how` is the additional argument of the executor's offer(): a Priority for a ThreadPool. If the job was rejected, the
// handle is done.
template <class E, class F, class... How>
  requires std::is_base_of_v<Executor, E>
auto submit(E& executor, F&& callable, How... how) {
  using D = std::decay_t<F>;
  using T = typename internal::SubmittedValue<std::invoke_result_t<D&>>::Type;
  auto* const made = SubmissionFor<T, D>::make(executor, std::forward<F>(callable));
  Submitted<T> handle(*made);
  if (!executor.offer(*made, how...)) made->refuse(internal::executor_refused());
  return handle;
}

// Runs the callable once `delay` has passed (Executor::offer_after).
template <class F>
auto submit_after(Executor& executor, Duration delay, F&& callable) {
  using D = std::decay_t<F>;
  using T = typename internal::SubmittedValue<std::invoke_result_t<D&>>::Type;
  using Made = SubmissionFor<T, D, internal::DueLater>;
  auto* const made = Made::make(executor, std::forward<F>(callable), internal::due_after(delay));
  Submitted<T> handle(*made);
  if (!executor.offer_after(*made, delay)) made->refuse(internal::executor_refused_delayed(executor));
  return handle;
}

// Moves each callable out of `callables`, a range of one type. The executor accepts all jobs or none; when it rejects
// them, every handle is done and has the error.
template <class E, class Callables, class... How>
  requires std::is_base_of_v<Executor, E>
auto submit_all(E& executor, Callables&& callables, How... how) {
  using D = std::remove_cvref_t<decltype(*std::begin(callables))>;
  using T = typename internal::SubmittedValue<std::invoke_result_t<D&>>::Type;
  std::size_t count = 0;
  for (auto& callable : callables) {
    (void)callable;
    ++count;
  }
  std::vector<Submitted<T>> handles;
  handles.reserve(count);
  Job* first = nullptr;
  Job* last = nullptr;
  try {
    for (auto& callable : callables) {
      auto* const made = SubmissionFor<T, D>::make(executor, std::move(callable));
      handles.emplace_back(*made);
      (last == nullptr ? first : last->next) = made;
      last = made;
    }
  } catch (...) {
    for (Submitted<T>& handle : handles) handle.submission().refuse(internal::executor_refused());
    throw;
  }
  if (first != nullptr && !executor.offer_all(*first, *last, count, how...)) {
    for (Submitted<T>& handle : handles) handle.submission().refuse(internal::executor_refused());
  }
  return handles;
}

// Waits until all of `handles`, a range, are done. False: at `deadline`, at least one of the handles is not done.
template <class Handles>
bool wait_all(Handles&& handles, Instant deadline = Instant::never(),
              std::source_location place = std::source_location::current()) {
  for (auto& handle : handles) {
    if (!handle.wait_until(deadline, place)) return false;
  }
  return true;
}

// Returns the index of a handle that is done; `handles` is a vector, a span or an array, and must not be empty.
// DeadlineExceeded: no handle was done in time.
template <class Handles>
Result<std::size_t> wait_any(Handles&& handles, Instant deadline = Instant::never(),
                             std::source_location place = std::source_location::current()) {
  const std::size_t count = std::size(handles);
  const std::size_t index = internal::wait_any(
      count, [&](std::size_t i) -> Submission& { return handles[i].submission(place); }, deadline, place);
  if (index == count) return internal::none_is_done();
  return index;
}

}  // namespace keel
