// keel/task/completion.h — the result of a submitted job, awaited by a task.
//
//   auto shrinking = submit(pool, [&image] { return shrink(image); });   // named first: GCC 12, task/compiler_test.cc
//   Image small = co_await completion(std::move(shrinking));
//   auto part = co_await attempt(with_timeout(50_ms, completion(std::move(other))));
//
// Result:  the value that the callable returned, or the errors of Submitted::get() (exec/submitted.h).
// Cancel:  a job that has not begun is cancelled, and the await ends with the reason. If the job is already running,
//          the await waits until the job has ended, so that the objects to which the job's callable refers may live in
//          the awaiting task.
// Threads: the task is on a serial executor, such as a loop or a SerialExecutor (checked). On a thread pool, call get()
//          of the handle instead of awaiting it; get() itself runs a job that has not begun.
// Cost:    in addition to the job, one job posted back to the loop; no allocation.

#pragma once

#include <utility>

#include "keel/exec/submitted.h"
#include "keel/task/leaf.h"

namespace keel {

// The part of a completion that does not depend on the type of the value.
class CompletionCore : public Leaf, private Submission::Listener {
 protected:
  CompletionCore() noexcept : Leaf(&cancel_submission), Listener{&on_done} {}
  ~CompletionCore() = default;
  bool begin(Submission& submission);

 private:
  // Posts the completion to the task's home.
  struct Arrival : keel::Job {
    explicit Arrival(CompletionCore& c) noexcept : Job(&run_it), completion(c) {}
    static void run_it(Job& job) noexcept { static_cast<Arrival&>(job).completion.wake(); }
    CompletionCore& completion;
  };
  static void on_done(Listener& listener) noexcept;
  static void cancel_submission(Leaf& leaf) noexcept;

  Submission* submission_ = nullptr;
  Executor* home_ = nullptr;
  Arrival arrival_{*this};
};

template <class T>
class [[nodiscard]] Completion : public CompletionCore {
 public:
  using Value = T;
  explicit Completion(Submitted<T>&& handle) noexcept : handle_(std::move(handle)) {}
  bool start() { return begin(handle_.submission()); }
  Result<T> take() noexcept { return handle_.get(); }

 private:
  Submitted<T> handle_;
};

template <class T>
Completion<T> completion(Submitted<T> handle) noexcept {
  return Completion<T>(std::move(handle));
}

}  // namespace keel
