// keel/task/scope.h — child tasks that run concurrently with the declaring task, and end before it.
//
//   Task<> serve(Listener& listener) {
//     Scope connections;
//     while (true) connections.spawn(echo(co_await listener.accept()));
//   }                                               // an error of accept() ends and joins the connections first
//
// spawn() runs the task until it ends or first waits. join() completes when all tasks of the scope have ended; a scope
// may be used again afterwards. When an awaited error ends the declaring coroutine while children run, the children are
// stopped and joined before the error is passed upward. A coroutine must join before it returns.
//
// An exception must not leave the declaring coroutine while children run, and destroying a Scope with live children
// ends the process. When an exception leaves the coroutine, C++ destroys its locals before any code of Keel runs, and
// nothing can wait at that point. But children refer to the coroutine's locals, and the kernel may be reading or
// writing buffers in these locals. If the process continued, it would use freed memory, whether Keel resumed, detached
// or forgot the children. Therefore code that may throw while children run belongs in a separate Task, which is
// awaited. An exception in the separate Task, even a Bug (base/bug.h), ends that Task, and the code that awaits the
// Task gets an error:
//
//   Task<Page> load_page(UserId user) {
//     Profile profile;
//     Scope scope;
//     scope.spawn(load(user, profile));
//     co_return co_await render(user, scope, profile);    // throws: the child is stopped and joined before it goes up
//   }
//
// The separate Task must not pass references to its own locals to the children. If nothing else runs concurrently with
// the children, use all() (task/group.h) instead of a Scope.
//
// Errors:   a child's error does not stop the other children. join() reports the first error, but ignores errors of
//           children spawned with OnError::Ignore, and Cancelled after stop(). If join() does not report a bug (because
//           the error is ignored, is not the first, or comes after the last join()), the bug is logged and counted
//           (observe/unhandled.h).
// Threads:  the loop where the declaring task began.
// Lifetime: a local variable of a coroutine.
// Cancel:   children are stopped with the declaring task; join() still waits for all children, then ends with the
//           reason.
// Cost:     a spawned task that ends immediately costs its frame and one block of the pool.

#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <source_location>
#include <utility>

#include "keel/base/pool.h"
#include "keel/base/result.h"
#include "keel/task/leaf.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel {

// Whether join() reports the error of a child.
enum class OnError : std::uint8_t { Report, Ignore };

class Scope : private Context {  // The context of the child tasks.
 public:
  class Join;

  // Throws a Bug (base/bug.h) outside of a task, and on a loop other than the one where the task began.
  explicit Scope(std::source_location place = std::source_location::current());
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  template <class T>
  void spawn(Task<T>&& task, OnError on_error = OnError::Report) {
    auto* child = new (pool_allocate(sizeof(Child<T>))) Child<T>(std::move(task));
    ++running_;
    const auto done = on_error == OnError::Report ? &Child<T>::template done<OnError::Report>
                                                  : &Child<T>::template done<OnError::Ignore>;
    if (child->begin_in(*this, Instant::never(), done)) done(*child);
  }
  // Takes arguments that convert to a Task, such as with_timeout(…).
  template <class X>
  void spawn(X&& made, OnError on_error = OnError::Report) {
    if constexpr (requires { Task<typename X::Value>(std::forward<X>(made)); }) {
      spawn(Task<typename X::Value>(std::forward<X>(made)), on_error);
    } else {
      static_assert(internal::is_never<X>,
                    "a Scope can spawn only a Task: if the Task is a variable, pass std::move(task); if it is another "
                    "operation, write a Task that awaits it");
    }
  }

  // co_await scope.join(): waits for all children; yields the first error that has to be reported.
  [[nodiscard]] Join join() noexcept;
  // Asks all children to end; join() waits for them. Children that are spawned after stop() begin no operations.
  void stop(Code reason = Code::Cancelled) noexcept { Context::stop(reason); }
  std::size_t running() const noexcept { return running_; }

 private:
  friend class Frame;
  // There may be many children, so a Child stores nothing that its context already has.
  template <class T>
  struct Child final : Start<T> {
    using Start<T>::Start;
    template <OnError on_error>
    static void done(StartCore& start) noexcept {
      auto& child = static_cast<Child&>(start);
      auto& scope = static_cast<Scope&>(*child.parent());
      Result<T> result = child.take();
      if (!result.has_value()) [[unlikely]] {
        if (on_error == OnError::Report) {
          scope.note(std::move(result.error()));
        } else {
          ignore(result.error());
        }
      }
      child.~Child();
      pool_free(&child, sizeof(Child));
      scope.child_ended();
    }
  };
  void note(Error&& error) noexcept;
  static void ignore(const Error& error) noexcept;
  void child_ended() noexcept;
  [[noreturn, gnu::cold, gnu::noinline]] void destroyed_with_children() noexcept;

  Frame& frame_;
  Scope* outer_;
  std::size_t running_ = 0;
  std::optional<Error> first_error_;
  Join* joining_ = nullptr;
  const std::source_location place_;  // The place where the Scope is declared.
};

class Scope::Join : public Leaf {
 public:
  using Value = void;
  explicit Join(Scope& scope) noexcept : Leaf(nullptr, WhenStopped::Begins), scope_(scope) {}
  bool start();
  Result<> take() noexcept;

 private:
  friend class Scope;
  Scope& scope_;
};

inline Scope::Join Scope::join() noexcept { return Join(*this); }

}  // namespace keel
