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

class Scope : private Context {  // That of its tasks.
 public:
  class Join;

  Scope() noexcept;
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

  // co_await scope.join(): waits for all children; the first error that is to be reported.
  [[nodiscard]] Join join() noexcept;
  // Asks all children to end; join() waits for them. A stopped scope begins no operations in later children either.
  void stop(Code reason = Code::Cancelled) noexcept { Context::stop(reason); }
  std::size_t running() const noexcept { return running_; }

 private:
  friend class Frame;
  // There may be many, so it has nothing that its context knows.
  template <class T>
  struct Child final : Start<T> {
    using Start<T>::Start;
    template <OnError on_error>
    static void done(StartCore& start) noexcept {
      auto& child = static_cast<Child&>(start);
      auto& scope = static_cast<Scope&>(*child.parent());
      Result<T> result = child.take();
      if (on_error == OnError::Report && !result.has_value()) scope.note(std::move(result.error()));
      child.~Child();
      pool_free(&child, sizeof(Child));
      scope.child_ended();
    }
  };
  void note(Error&& error) noexcept;
  void child_ended() noexcept;

  Frame& frame_;
  Scope* outer_;
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
