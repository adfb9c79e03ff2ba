// keel/task/leaf.h — what a task finally waits for: the one protocol between operations and coroutines.
//
// A timer, a socket read, a turn at the database: each is a class derived from Leaf, made in the awaiting expression
// and living in the awaiting coroutine's frame until it is complete. Nothing is allocated.
//
//   class Read : public Leaf {
//    public:
//     using Value = std::size_t;                   // what co_await yields
//     explicit Read(Socket& s) : Leaf(&cancel), socket_(s) {}
//     bool start() noexcept;                       // true: complete already; false: wake() follows, later
//     Result<std::size_t> take() noexcept;         // after completion, once
//    private:
//     static void cancel(Leaf& leaf) noexcept;     // asks the operation to end soon; wake() must still follow
//   };
//
// The order of events: start() once; when it returned false, wake() exactly once, never inside start(); then take()
// once, and the object is destroyed. cancel() may come at most once between start() and wake(), and may call wake()
// itself. When the task's context was stopped or is late, start() is not called at all and the await ends with the
// reason, unless the leaf was made with `WhenStopped::Begins`. An answer Cancelled becomes DeadlineExceeded when the
// deadline was the reason.
//
// Threads: start(), wake(), take() and cancel() on the executor that awaits. A completion on another thread posts a Job
//          there first, which calls wake().
// Cost:    wake() from a loop resumes the task at once; from inside another task it posts to the executor.

#pragma once

#include <cstdint>
#include <typeinfo>
#include <utility>

#include "keel/exec/executor.h"

namespace keel {

class Context;
class Frame;
class ThreadPool;

class Leaf : private Job {
 public:
  using Cancel = void (*)(Leaf&) noexcept;
  enum class WhenStopped : std::uint8_t { IsRefused, Begins };

  // The awaiting side.
  struct Waiter {
    struct Kind {
      void (*arrive)(Waiter&) noexcept;  // Takes the result and resumes or ends the task.
      Frame& (*frame)(Waiter&) noexcept;
      const std::type_info* leaf;  // What it waits for.
    };
    const Kind* kind;
  };

  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;

  // For the awaiting side.
  bool begins(Context& context) noexcept;                     // False: refused.
  void wait(Waiter& waiter) noexcept;                         // The task has suspended, until wake().
  void leave(Waiter& waiter) noexcept { waiter_ = &waiter; }  // The same for one that has suspended().
  void cancel_now() noexcept {                                // From Context::stop.
    if (cancel_ != nullptr) cancel_(*this);
  }
  // Who waits, and for what.
  Waiter* waiter() const noexcept { return waiter_; }

 protected:
  // Without `cancel` a waiting operation is left alone: it ends soon by itself, or because what it waits for has a
  // context below and is stopped with it.
  explicit Leaf(Cancel cancel = nullptr, WhenStopped when_stopped = WhenStopped::IsRefused) noexcept
      : Job(&run_posted), cancel_(cancel), when_stopped_(when_stopped) {}
  ~Leaf() = default;

  // Complete: the task goes on. The leaf may be gone when this returns.
  void wake() noexcept;
  // Completes on `executor`: from suspended(), which a leaf may have instead of a later wake(); see ResumeOn.
  void wake_on(Executor& executor) noexcept;
  bool try_wake_on(ThreadPool& pool, Priority priority) noexcept;
  // Of the awaiting task; from start() on.
  Context& context() const noexcept { return *context_; }

 private:
  friend class Trampoline;
  static void run_posted(Job& job) noexcept;

  Waiter* waiter_ = nullptr;
  Context* context_ = nullptr;
  Cancel cancel_;
  WhenStopped when_stopped_;
  bool registered_ = false;
};

}  // namespace keel
