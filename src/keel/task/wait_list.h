// keel/task/wait_list.h — tasks of one loop that wait in order: the base of Event, Semaphore, Gate and Channel.
//
//   class Turnstile {
//    public:
//     class [[nodiscard]] Pass : public Waiting {
//      public:
//       using Value = void;
//       explicit Pass(Turnstile& t) noexcept : turnstile_(t) {}
//       bool start() noexcept { return turnstile_.open_ || wait_in(turnstile_.waiting_); }
//       Result<> take() noexcept { return taken(); }
//      …
//     void let_one_pass() noexcept { waiting_.wake_first(); }
//
// Threads: one loop.
// Cancel:  a waiting task leaves the list immediately and ends with Cancelled.
// Cost:    nothing is allocated; entering, leaving and waking are O(1).

#pragma once

#include <cstddef>

#include "keel/base/list.h"
#include "keel/base/result.h"
#include "keel/task/leaf.h"

namespace keel {

class WaitList;

// An operation that may have to wait in a WaitList.
class Waiting : public Leaf, public Link {
 protected:
  Waiting() noexcept : Leaf(&cancel) {}
  ~Waiting() = default;

  // Appends the task to `list` and returns false; call this function in start(), and return its value there, because
  // the task has to wait.
  bool wait_in(WaitList& list) noexcept;
  // Returns an error if the wait was cancelled; call this function in take().
  Result<> taken() const noexcept {
    if (cancelled_) return fail(Code::Cancelled, "a wait was cancelled");
    return {};
  }
  bool is_cancelled() const noexcept { return cancelled_; }

 private:
  friend class WaitList;
  static void cancel(Leaf& leaf) noexcept;
  WaitList* list_ = nullptr;
  bool cancelled_ = false;
};

class WaitList {
 public:
  WaitList() = default;
  // No task may be waiting at this point.
  ~WaitList() { KEEL_CHECK(list_.empty(), "an object must outlive the tasks that wait for it"); }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  // Removes the task that has waited longest and returns it; null when no task waits. The caller has to call wake() on
  // the returned task.
  Waiting* pop() noexcept {
    Waiting* first = list_.pop_front();
    if (first != nullptr) --size_;
    return first;
  }
  // Continues the task: immediately if wake() is not called from a task, otherwise as a job of the task's executor.
  static void wake(Waiting& waiting) noexcept { waiting.wake(); }
  bool wake_first() noexcept;
  // Wakes the tasks that wait now, but no task that begins to wait during the call.
  void wake_all() noexcept;

 private:
  friend class Waiting;
  List<Waiting> list_;
  std::size_t size_ = 0;
};

}  // namespace keel
