// keel/task/task.h — Task<T>: a coroutine that completes with Result<T>.
//
//   Task<Page> load_page(UserId user) {
//     auto both = co_await with_timeout(200_ms, all(load_profile(user), load_feed(user)));
//     auto& [profile, feed] = both;                  // named first, bound second (a compiler defect, compiler_test.cc)
//     co_return Page{std::move(profile), std::move(feed)};
//   }
//
// co_await x     yields the value, or ends this coroutine with the error (its frame is not resumed, its locals are
//                destroyed by its owner). x is a Task, an operation (leaf.h), a stream's next(), a Result, or
//                fail(…). A Task or a Result that has a name is awaited once, as std::move(x).
// co_await attempt(x)   yields the Result itself.
// co_await this_task()  yields {executor, deadline, stop}.
// co_return      takes a T, a Result<T>, an Error or fail(…). A Task<> ends with an error by co_await fail(…).
//
// For each mistake in the use of tasks, the compiler prints one sentence (tests/mistakes).
//
// Result:    T, moved out once. An exception that leaves the body becomes the error (Error::from_exception()):
//            std::bad_alloc becomes Code::ResourceExhausted, and a Bug (base/bug.h) or any other exception becomes
//            Code::Internal. An exception that leaves the block of a Scope with running tasks ends the process, because
//            those tasks may still use the locals that the exception destroys.
// Ownership: a Task is lazy and immovable: it is awaited in the expression that made it, or passed to a Scope, Start or
//            group. The frame comes from the thread's pool (base/pool.h).
// Lifetime:  parameters are taken by value unless the caller awaits the task immediately. Do not use a lambda with
//            captures as a coroutine.
// Threads:   after any await the task is on the executor where it was, unless it awaited resume_on.
// Cancel:    an awaited operation ends with Cancelled or DeadlineExceeded; the task unwinds from there (context.h).
// Cost:      see task_bench.cc; an await that completes immediately does not go through a loop, and repeated awaits of
//            this kind do not use up the stack.

#pragma once

#include <concepts>
#include <coroutine>
#include <new>
#include <optional>
#include <source_location>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/result.h"
#include "keel/task/context.h"
#include "keel/task/frame.h"
#include "keel/task/leaf.h"

namespace keel {

template <class T>
class Promise;
template <class T>
class Start;
template <class T>
struct GeneratorNext;
template <class T, bool attempts>
class GeneratorAwait;
class Scope;

namespace internal {

template <class X>
inline constexpr bool is_never = false;

// The promise of a Task<> under the name that a compiler prints for `co_return fail(…)` in a Task<>, which C++ does not
// allow.
class A_Task_without_value_ends_with_an_error_by_co_await_fail;

template <class X>
struct ReturnedFromTask {
  static_assert(is_never<X>,
                "a task cannot use 'return' or KEEL_TRY: to end with an error, write co_return fail(...), or co_await "
                "fail(...) in a Task<>; to take the value of a Result, write auto value = co_await result()");
  static constexpr bool is_allowed = true;
};

// Member functions that the module of T adds to a Task<T>, for calls in the expression that made the task: for example,
// json() in client.get(url).json<Rate>() (http/client/client.h).
template <class T>
struct TaskVerbs {};

}  // namespace internal

template <class T = void>
class [[nodiscard("a task does nothing until it is awaited: co_await it, or give it to scope.spawn()")]] Task
    : public internal::TaskVerbs<T> {
  static_assert(!std::is_reference_v<T>,
                "the value of a Task cannot be a reference: return a pointer to an object that lives elsewhere");

 public:
  using Value = T;
  using promise_type =
      std::conditional_t<std::is_void_v<T>, internal::A_Task_without_value_ends_with_an_error_by_co_await_fail,
                         Promise<T>>;

  explicit Task(Promise<T>& promise) noexcept : promise_(&promise) {}
  // This overload exists for the compiler's message about KEEL_TRY and `return fail(…)` in a coroutine.
  template <std::same_as<std::unexpected<Error>> E>
    requires internal::ReturnedFromTask<E>::is_allowed
  Task(E&& error);
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (promise_ != nullptr) promise_->destroy();
  }

  // release() is for code that takes ownership of the frame; promise() is for the awaiting code.
  Promise<T>& release() noexcept { return *std::exchange(promise_, nullptr); }
  Promise<T>& promise() const noexcept { return *promise_; }

 private:
  Promise<T>* promise_;
};

// A type that can be awaited inside a task by the protocol of leaf.h.
template <class L>
concept Operation = std::derived_from<std::remove_reference_t<L>, Leaf>;

// The result of attempt(): awaiting it yields a Result.
template <class X>
struct Attempt {
  X& awaited;
};

namespace internal {

// For expressions that cannot be awaited as written: the compiler prints one sentence that says what to write, and no
// further errors.
struct NotAwaited {
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}
};
template <class T>
struct NamedTask {
  static_assert(is_never<T>,
                "a Task must be awaited in the expression that made it; await a named one once, as std::move(task)");
};
template <class T>
struct NamedResult {
  static_assert(is_never<T>, "to await a named Result, write co_await std::move(result)");
};

}  // namespace internal

// attempt(x): the Result instead of the value; x is a task or an operation in the same expression.
template <class T>
Attempt<Task<T>> attempt(Task<T>&& task) noexcept {
  return {task};
}
template <Operation L>
Attempt<std::remove_reference_t<L>> attempt(L&& leaf) noexcept {
  return {leaf};
}
template <class T>
auto attempt(Task<T>& task) noexcept {
  static_cast<void>(internal::NamedTask<T>());
  return Attempt<Task<T>>{task};
}
template <class T>
auto attempt(Result<T>&&) noexcept {
  static_assert(internal::is_never<T>, "attempt() needs a Task or an operation: a Result is used without attempt()");
  return internal::NotAwaited();
}

// The executor, deadline and stop token of a running task.
struct TaskInfo {
  Executor* executor;  // The executor on which the body is running; null outside executors.
  Instant deadline;    // Instant::never() when there is no deadline.
  StopToken stop;
};
// The result of this_task(): awaiting it yields a TaskInfo.
struct ThisTask {};
inline ThisTask this_task() noexcept { return {}; }

// The awaiter of a Task.
template <class T, bool attempts>
class TaskAwait {
 public:
  TaskAwait(Frame& self, Promise<T>& child) noexcept : self_(self), child_(child) {}
  bool await_ready() noexcept {
    ended_ = child_.start_for(self_, attempts);
    return ended_ && (attempts || child_.has_value());
  }
  bool await_suspend(std::coroutine_handle<>) noexcept {
    if (!ended_) {
      if (self_.suspends()) return true;
      if (attempts || child_.has_value()) return false;
    }
    self_.fail(std::move(child_.error()));
    return true;
  }
  auto await_resume() {
    if constexpr (attempts) {
      return child_.take_result();
    } else if constexpr (!std::is_void_v<T>) {
      return child_.take_value();
    }
  }

 private:
  Frame& self_;
  Promise<T>& child_;
  bool ended_ = false;
};

// Whether the operation must not begin.
inline bool refuses(const Frame& self, const Leaf& leaf) noexcept {
  return !leaf.begins_when_stopped() && self.context().refuses();
}
// The error of an operation that has ended: the reason of the stop if the operation was cancelled because its context
// was stopped, otherwise `error`.
Error explained(const Frame& self, Error&& error) noexcept;

// The awaiter of an operation.
template <class L, bool attempts>
class LeafAwait {
  using T = typename L::Value;

 public:
  LeafAwait(Frame& self, L& leaf) noexcept : self_(self), leaf_(leaf) { leaf.set_awaited(self, kind); }
  bool await_ready() {
    if (refuses(self_, leaf_)) {
      result_.emplace(self_.context().reason());
    } else if (leaf_.start()) {
      take();
    } else {
      return false;
    }
    return attempts || result_->has_value();
  }
  bool await_suspend(std::coroutine_handle<>) noexcept {
    if (!result_) {
      const bool before = self_.set_suspended(true);
      self_.set_waiting(this);
      if constexpr (requires { leaf_.suspended(); }) {
        // True: the task continues on another thread, perhaps already, so its frame must not be accessed here.
        if (leaf_.suspended()) return true;
        self_.set_suspended(before);
        take();
        if (attempts || result_->has_value()) return false;
      } else {
        leaf_.wait();
        return true;
      }
    }
    self_.fail(std::move(result_->error()));
    return true;
  }
  auto await_resume() {
    if constexpr (attempts) {
      return Result<T>(std::move(*result_));
    } else if constexpr (!std::is_void_v<T>) {
      return T(*std::move(*result_));
    }
  }

 private:
  static void arrived(Leaf& leaf) noexcept {
    auto& await = *static_cast<LeafAwait*>(leaf.frame().waiting());
    await.take();
    if (attempts || await.result_->has_value()) {
      await.self_.resume();
    } else {
      await.self_.fail(std::move(await.result_->error()));
    }
  }
  void take() noexcept {
    result_.emplace(leaf_.take());
    if (!result_->has_value()) [[unlikely]]
      result_.emplace(explained(self_, std::move(result_->error())));
  }

  static constexpr Leaf::Kind kind = {&arrived, &typeid(L)};
  Frame& self_;
  L& leaf_;
  std::optional<Result<T>> result_;
};

// The awaiter of an operation that has the function failed(); this awaiter needs room only for a pointer.
template <class L>
concept TellsFailure = requires(const L& leaf) {
  { leaf.failed() } -> std::same_as<bool>;
};
template <TellsFailure L, bool attempts>
class LeafAwait<L, attempts> {
  using T = typename L::Value;
  using Progress = Leaf::Progress;

 public:
  LeafAwait(Frame& self, L& leaf) noexcept : leaf_(leaf) { leaf.set_awaited(self, kind); }
  bool await_ready() {
    if (refuses(leaf_.frame(), leaf_)) [[unlikely]] {
      leaf_.set_progress(Progress::Refused);
      return attempts;
    }
    if (leaf_.start()) return attempts || !leaf_.failed();
    leaf_.set_progress(Progress::Waits);
    return false;
  }
  bool await_suspend(std::coroutine_handle<>) noexcept {
    if (leaf_.progress() == Progress::Waits) [[likely]] {
      leaf_.frame().set_suspended(true);
      leaf_.wait();
    } else {
      leaf_.frame().fail(error_of(leaf_));
    }
    return true;
  }
  auto await_resume() {
    if constexpr (attempts) {
      if (leaf_.progress() == Progress::Refused || leaf_.failed()) return Result<T>(error_of(leaf_));
      return leaf_.take();
    } else if constexpr (!std::is_void_v<T>) {
      return T(*leaf_.take());
    }
  }

 private:
  static void arrived(Leaf& arrived) noexcept {
    auto& leaf = static_cast<L&>(arrived);
    if (attempts || !leaf.failed()) [[likely]] {
      leaf.frame().resume();
    } else {
      leaf.frame().fail(error_of(leaf));
    }
  }
  static Error error_of(L& leaf) noexcept {
    if (leaf.progress() == Progress::Refused) return leaf.frame().context().reason();
    return explained(leaf.frame(), std::move(leaf.take().error()));
  }

  static constexpr Leaf::Kind kind = {&arrived, &typeid(L)};
  L& leaf_;
};

// The awaiter of a Result.
template <class T>
class ResultAwait {
 public:
  ResultAwait(Frame& self, Result<T>&& result) noexcept : self_(self), result_(std::move(result)) {}
  bool await_ready() const noexcept { return result_.has_value(); }
  void await_suspend(std::coroutine_handle<>) noexcept { self_.fail(std::move(result_.error())); }
  auto await_resume() {
    if constexpr (!std::is_void_v<T>) return T(*std::move(result_));
  }

 private:
  Frame& self_;
  Result<T> result_;
};

// The awaiter of this_task().
class ThisTaskAwait {
 public:
  explicit ThisTaskAwait(Frame& self) noexcept : self_(self) {}
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  TaskInfo await_resume() const noexcept {
    return {Executor::current(), self_.context().deadline(), StopToken(self_.context())};
  }

 private:
  Frame& self_;
};

class PromiseCore;
namespace internal {

// A task whose value type the awaiting code does not know: the code that created the task takes the value from its
// promise.
class AnyTask {
 public:
  template <class T>
  explicit AnyTask(Task<T>&& task) noexcept : promise_(&task.release()) {}
  AnyTask(const AnyTask&) = delete;
  AnyTask& operator=(const AnyTask&) = delete;
  ~AnyTask();
  PromiseCore& promise() const noexcept { return *promise_; }

 private:
  PromiseCore* promise_;
};
class AnyTaskAwait {
 public:
  AnyTaskAwait(Frame& self, PromiseCore& child) noexcept : self_(self), child_(child) {}
  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<>) noexcept;
  void await_resume() const noexcept {}

 private:
  Frame& self_;
  PromiseCore& child_;
  bool ended_ = false;
};

}  // namespace internal

// The part of a task's promise that does not depend on the type of the task's value.
class PromiseCore : public Frame {
 public:
  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> handle) const noexcept {
      handle.promise().end();
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { set_exception(); }

  // `place` is the place of the await. If the await yields an error of the environment or a bug, the place is recorded
  // in that error.
  using Place = internal::PlaceOfAwait;
  template <class U>
  TaskAwait<U, false> await_transform(Task<U>&& task, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, task.promise()};
  }
  template <class U>
  TaskAwait<U, true> await_transform(Attempt<Task<U>> attempted, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, attempted.awaited.promise()};
  }
  template <Operation L>
  LeafAwait<std::remove_reference_t<L>, false> await_transform(L&& leaf, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, leaf};
  }
  template <Operation L>
  LeafAwait<L, true> await_transform(Attempt<L> attempted, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, attempted.awaited};
  }
  template <class U>
  GeneratorAwait<U, false> await_transform(GeneratorNext<U>&& asked, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, asked.generator};
  }
  template <class U>
  GeneratorAwait<U, true> await_transform(Attempt<GeneratorNext<U>> attempted,
                                          Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, attempted.awaited.generator};
  }
  template <class U>
  ResultAwait<U> await_transform(Result<U>&& result, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, std::move(result)};
  }
  ResultAwait<void> await_transform(std::unexpected<Error>&& error, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, std::move(error)};
  }
  ResultAwait<void> await_transform(Error&& error, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, std::move(error)};
  }
  internal::AnyTaskAwait await_transform(internal::AnyTask& task, Place place = KEEL_PLACE_OF_AWAIT) noexcept {
    set_place(place);
    return {*this, task.promise()};
  }
  ThisTaskAwait await_transform(ThisTask) noexcept { return ThisTaskAwait(*this); }

  // Expressions that are written by mistake, with a message for each. The overload also takes a place, because
  // otherwise GCC finds the call ambiguous.
  internal::NotAwaited await_transform(internal::NotAwaited, Place = {}) noexcept { return {}; }
  template <class U>
  auto await_transform(Task<U>& task, Place = {}) noexcept {
    static_cast<void>(internal::NamedTask<U>());
    return TaskAwait<U, false>(*this, task.promise());
  }
  template <class U>
  auto await_transform(Result<U>& result, Place = {}) noexcept {
    static_cast<void>(internal::NamedResult<U>());
    return ResultAwait<U>(*this, std::move(result));
  }
  template <class X>
  auto await_transform(X&&, Place = {}) noexcept {
    static_assert(internal::is_never<X>,
                  "a task can await only a Task, an operation, next() of a Generator, a Result or fail(...): call a "
                  "plain function without co_await");
    return internal::NotAwaited();
  }
};

inline internal::AnyTask::~AnyTask() { promise_->destroy(); }
inline bool internal::AnyTaskAwait::await_ready() noexcept {
  ended_ = child_.start_for(self_, false);
  return ended_ && child_.has_value();
}
inline bool internal::AnyTaskAwait::await_suspend(std::coroutine_handle<>) noexcept {
  if (!ended_) {
    if (self_.suspends()) return true;
    if (child_.has_value()) return false;
  }
  self_.fail(std::move(child_.error()));
  return true;
}

// The promise of a Task's coroutine.
template <class T>
class Promise final : public PromiseCore {
 public:
  Promise() noexcept {
    static_assert(alignof(Promise) <= 2 * sizeof(void*),
                  "the type of a task's value must not need a stricter alignment than malloc guarantees");
  }
  ~Promise() {
    if (has_value()) value_.~T();
  }
  Task<T> get_return_object() noexcept { return Task<T>(*this); }

  template <class U = T>
    requires(std::is_constructible_v<T, U> && !std::is_same_v<std::remove_cvref_t<U>, Result<T>> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> &&
             !std::is_same_v<std::remove_cvref_t<U>, std::unexpected<Error>>)
  void return_value(U&& value) {
    emplace(std::forward<U>(value));
  }
  // These functions are templates, so that the braces in `co_return {…}` make a T.
  template <std::same_as<Result<T>> R>
  void return_value(R&& result) {
    if (result.has_value()) {
      emplace(*std::move(result));
    } else {
      set_error(std::move(result.error()));
    }
  }
  template <std::same_as<Error> E>
  void return_value(E&& error) noexcept {
    set_error(std::move(error));
  }
  template <std::same_as<std::unexpected<Error>> E>
  void return_value(E&& error) noexcept {
    set_error(std::move(error).error());
  }

  T& value() noexcept { return value_; }
  T take_value() { return std::move(value_); }
  Result<T> take_result() {
    if (has_value()) return Result<T>(std::move(value_));
    return Result<T>(std::move(error()));
  }

 private:
  template <class U>
  void emplace(U&& value) {
    ::new (static_cast<void*>(__builtin_addressof(value_))) T(std::forward<U>(value));
    set_value();
  }
  union {
    T value_;
  };
};

template <>
class Promise<void> : public PromiseCore {
 public:
  Task<void> get_return_object() noexcept { return Task<void>(*this); }
  void return_void() noexcept { set_value(); }

  Result<> take_result() {
    if (has_value()) return Result<>();
    return Result<>(std::move(error()));
  }
};

class internal::A_Task_without_value_ends_with_an_error_by_co_await_fail final : public Promise<void> {};

}  // namespace keel

// This specialization exists only for the compiler's message.
template <class T, class... A>
struct std::coroutine_traits<keel::Result<T>, A...> {
  static_assert(
      keel::internal::is_never<T>,
      "a function that awaits must return a Task<T>: only a plain function can return a Result and use KEEL_TRY");
};
template <class T>
class std::allocator<keel::Task<T>> {
  static_assert(keel::internal::is_never<T>,
                "a Task cannot be moved or stored in a container: spawn many into a Scope, or await all(...)");
};

namespace keel {

// An operation as a separate task; `leaf` lives until the task has ended.
template <Operation L>
Task<typename L::Value> as_task(L& leaf) {
  if constexpr (std::is_void_v<typename L::Value>) {
    co_await leaf;
  } else {
    co_return co_await leaf;
  }
}

}  // namespace keel
