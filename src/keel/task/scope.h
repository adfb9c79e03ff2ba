// keel/task/scope.h — tasks that run beside the one that declares it, and end before it does.
//
//   Task<> serve(Listener& listener) {
//     Scope connections;
//     while (true) connections.spawn(echo(co_await listener.accept()));
//   }                                               // an error of accept() ends and joins the connections first
//
// spawn() runs the task until it ends or first waits. join() completes when all have ended; a scope may be used again
// afterwards. When an awaited error ends the declaring coroutine while children run, they are stopped and joined before
// the error goes up. A coroutine that returns, or throws, joins before: destroying a Scope with live children aborts,
// because children may refer to what is being destroyed.
//
// Errors:   a child's error does not stop the others. join() reports the first one, except those of children spawned
//           with OnError::Ignore, and Cancelled after stop().
// Threads:  the loop where the declaring task began.
// Lifetime: a local variable of a coroutine.
// Cancel:   children are stopped with the declaring task; join() still waits for all, then ends with the reason.
// Cost:     a spawned task that ends at once costs its frame and one block of the pool.

#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <utility>

#include "keel/base/pool.h"
#include "keel/base/result.h"
#include "keel/task/leaf.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel {

enum class OnError : std::uint8_t { Report, Ignore };

class Scope {
 public:
  class Join;

  Scope() noexcept;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope();

  template <class T>
  void spawn(Task<T>&& task, OnError on_error = OnError::Report) {
    void* block = pool_allocate(sizeof(Child<T>));
    auto* child = new (block) Child<T>(*this, std::move(task), on_error);
    ++running_;
    if (child->begin_in(context_, Instant::never(), &Child<T>::done)) Child<T>::finish(*child);
  }

  // co_await scope.join(): waits for all children; the first error that is to be reported.
  [[nodiscard]] Join join() noexcept;
  // Asks all children to end; join() waits for them. A stopped scope begins no operations in later children either.
  void stop(Code reason = Code::Cancelled) noexcept { context_.stop(reason); }
  std::size_t running() const noexcept { return running_; }

 private:
  friend class Frame;
  template <class T>
  struct Child final : Start<T> {
    Child(Scope& s, Task<T>&& task, OnError on) noexcept : Start<T>(std::move(task)), scope(s), on_error(on) {}
    static void done(StartCore& start) noexcept { finish(static_cast<Child&>(start)); }
    static void finish(Child& child) noexcept {
      Scope& scope = child.scope;
      Result<T> result = child.take();
      if (!result.has_value() && child.on_error == OnError::Report) scope.note(std::move(result.error()));
      child.~Child();
      pool_free(&child, sizeof(Child));
      scope.child_ended();
    }
    Scope& scope;
    OnError on_error;
  };
  void note(Error&& error) noexcept;
  void child_ended() noexcept;

  Frame& frame_;
  Scope* outer_;
  Context context_;
  std::size_t running_ = 0;
  std::optional<Error> first_error_;
  Join* joining_ = nullptr;
};

class Scope::Join : public Leaf {
 public:
  using Value = void;
  explicit Join(Scope& scope) noexcept : Leaf(nullptr, WhenStopped::Begins), scope_(scope) {}
  bool start() noexcept;
  Result<> take() noexcept;

 private:
  friend class Scope;
  Scope& scope_;
};

inline Scope::Join Scope::join() noexcept { return Join(*this); }

}  // namespace keel
