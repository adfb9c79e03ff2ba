// keel/task/timing.h — waits for time, and limits the duration of operations.
//
// A duration is measured from the time of the call, not from the beginning of the event-loop iteration.
//
// Threads: the thread of an event loop, which owns the timers.
// Cost:    a clock read, some 20 ns, and a timer on the wheel; with_timeout adds one frame if it limits an operation
//          that is not a Task, or if it is converted to a Task.

#pragma once

#include <utility>

#include "keel/base/time.h"
#include "keel/base/wheel.h"
#include "keel/task/leaf.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel {

// The awaitable that sleep_for() returns.
class [[nodiscard]] SleepFor : public Leaf, private Timer {
 public:
  using Value = void;
  explicit SleepFor(Duration duration) noexcept : Leaf(&cancel), Timer(&fired), duration_(duration) {}
  bool start() noexcept;
  Result<> take() noexcept;

 private:
  static void fired(Timer& timer) noexcept { static_cast<SleepFor&>(timer).wake(); }
  static void cancel(Leaf& leaf) noexcept;
  Duration duration_;
  bool cancelled_ = false;
};

// Completes after `duration`, never earlier; immediately when `duration` is not positive. Fails with Cancelled or
// DeadlineExceeded when the task is stopped.
inline SleepFor sleep_for(Duration duration) noexcept { return SleepFor(duration); }

// The part of with_timeout that does not depend on the type.
class TimeLimit : public Leaf, private Timer {
 protected:
  explicit TimeLimit(Duration limit) noexcept : Timer(&fired), limit_(limit) {}
  // False: the time limit is already over. True: `deadline` is set to the end of the time limit.
  bool limits(Instant& deadline) const noexcept;
  void start_timer(Instant deadline, StartCore& child) noexcept;
  void finish() noexcept;
  void expire() noexcept { expired_ = true; }
  bool is_expired() const noexcept { return expired_; }
  Duration limit() const noexcept { return limit_; }
  static Error expiry() noexcept { return Error(Code::DeadlineExceeded, "the time limit has passed"); }

 private:
  static void fired(Timer& timer) noexcept;
  Duration limit_;
  StartCore* limited_ = nullptr;
  bool expired_ = false;
};

// `owns`: true if the Timed limits a task that it owns, false if it limits an operation of the same expression.
template <class T, bool owns = true>
class [[nodiscard]] Timed : public TimeLimit {
 public:
  using Value = T;
  Timed(Duration limit, Task<T>&& task) noexcept : TimeLimit(limit), child_(*this, std::move(task)) {}
  bool start() {
    context().expect_home(place());
    Instant deadline;
    if (!limits(deadline)) {
      expire();
      return true;
    }
    began_ = true;
    if (child_.begin_in(context(), deadline, &done)) return true;
    start_timer(deadline, child_);
    return false;
  }
  // Converts to a Task, for functions that take a Task: scope.spawn(with_timeout(1_s, talk(peer))).
  operator Task<T>() && noexcept
    requires owns;

  Result<T> take() noexcept {
    if (!began_) return expiry();
    Result<T> result = child_.take();
    if (is_expired() && !result.has_value() && result.error().code() == Code::Cancelled) return expiry();
    return result;
  }

 private:
  struct Child : Start<T> {
    Child(Timed& t, Task<T>&& task) noexcept : Start<T>(std::move(task)), timed(t) {}
    Timed& timed;
  };
  static void done(StartCore& start) noexcept { static_cast<Child&>(start).timed.finish(); }
  Child child_;
  bool began_ = false;
};

namespace internal {
// A task that has not started, as a parameter of another task.
template <class T>
class HeldTask {
 public:
  explicit HeldTask(Task<T>&& task) noexcept : promise_(&task.release()) {}
  HeldTask(HeldTask&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  ~HeldTask() {
    if (promise_ != nullptr) promise_->destroy();
  }
  Task<T> release() noexcept { return Task<T>(*std::exchange(promise_, nullptr)); }

 private:
  Promise<T>* promise_;
};
template <class T>
Task<T> timed_task(Duration limit, HeldTask<T> held) {
  Timed<T> timed(limit, held.release());
  co_return co_await timed;
}
}  // namespace internal

template <class T, bool owns>
Timed<T, owns>::operator Task<T>() && noexcept
  requires owns
{
  return internal::timed_task(limit(), internal::HeldTask<T>(child_.release()));
}

// Awaits a task or an operation for at most `limit`. When the limit expires, the operation is cancelled and waited for,
// and the error is DeadlineExceeded; an operation that succeeded anyway keeps its result. Deadlines can only get
// shorter: the inherited deadline still applies.
template <class T>
Timed<T> with_timeout(Duration limit, Task<T>&& task) noexcept {
  return Timed<T>(limit, std::move(task));
}
template <class T>
Timed<T> with_timeout(Duration limit, Timed<T>&& limited) noexcept {
  return Timed<T>(limit, std::move(limited));
}
template <Operation L>
Timed<typename std::remove_reference_t<L>::Value, false> with_timeout(Duration limit, L&& leaf) noexcept {
  return Timed<typename std::remove_reference_t<L>::Value, false>(limit, as_task(leaf));
}
template <class T>
auto with_timeout(Duration limit, Task<T>& task) noexcept {
  static_cast<void>(internal::NamedTask<T>());
  return Timed<T>(limit, std::move(task));
}
template <class X>
  requires(!Operation<X>)
auto with_timeout(Duration, X&&) noexcept {
  static_assert(internal::is_never<X>,
                "with_timeout() needs a Task or an operation: pass next() of a Generator as as_task(all.next()), and "
                "call a plain function without with_timeout()");
  return internal::NotAwaited();
}

}  // namespace keel
