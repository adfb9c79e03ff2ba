// keel/task/leaf.h — the operations that tasks wait for: the protocol between operations and coroutines.
//
// A timer, a socket read, a database statement: each is a class derived from Leaf, made in the awaiting expression
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
// start() may throw a Bug (base/bug.h) of place() before it has begun anything: the await throws it.
// The order of events: start() once; when it returned false, wake() exactly once, never inside start(); then take()
// once, and the object is destroyed. cancel() may be called at most once between start() and wake(), and may call
// wake() itself. When the task's context was stopped or is past its deadline, start() is not called at all and the
// await ends with the reason, unless the leaf was made with `WhenStopped::Begins`. A result Cancelled becomes
// DeadlineExceeded when the deadline was the reason.
//
// Operations that wait in large numbers may have
//
//   bool failed() const noexcept;                    // after completion, before take(): it will give an error
//
// and its take() is called as the task continues, or ends: then the task's frame needs no room for the Result. For an
// operation that yields nothing, take() must not be called unless it failed.
//
// Threads: start(), wake(), take() and cancel() on the executor that awaits. A completion on another thread posts a Job
//          there first, which calls wake().
// Cost:    wake() from a loop resumes the task immediately; from inside another task it posts to the executor.

#pragma once

#include <cstdint>
#include <source_location>
#include <typeinfo>
#include <utility>

#include "keel/exec/executor.h"

namespace keel {

class Context;
class Frame;
class ThreadPool;

class Leaf {
 public:
  using Cancel = void (*)(Leaf&) noexcept;
  enum class WhenStopped : std::uint8_t { IsRefused, Begins };

  // The functions that the awaiting coroutine uses.
  struct Kind {
    void (*arrive)(Leaf&) noexcept;  // Takes the result and resumes or ends the task.
    const std::type_info* type;
  };

  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;

  // Used by the awaiting coroutine.
  enum class Progress : std::uint8_t { Refused, Waits, Complete };
  void set_awaited(Frame& frame, const Kind& kind) noexcept {
    frame_ = &frame;
    kind_ = &kind;
  }
  bool begins_when_stopped() const noexcept { return when_stopped_ == WhenStopped::Begins; }
  void set_progress(Progress progress) noexcept { progress_ = progress; }
  Progress progress() const noexcept { return progress_; }
  void wait() noexcept;         // The task has suspended, until wake().
  void cancel_now() noexcept {  // From Context::stop.
    if (waiting_.cancel != nullptr) waiting_.cancel(*this);
  }
  // The task that waits, and the operation that it waits for.
  Frame& frame() const noexcept { return *frame_; }
  const std::type_info& type() const noexcept { return *kind_->type; }
  // The event-loop iteration in which the wait began; only while it waits at home.
  Instant since() const noexcept { return waiting_.since; }

 protected:
  // If `cancel` is null, a waiting operation is left alone: it ends soon without being cancelled, or because the task
  // that it waits for has a context below and is stopped with it.
  explicit Leaf(Cancel cancel = nullptr, WhenStopped when_stopped = WhenStopped::IsRefused) noexcept
      : waiting_{cancel, Instant()}, when_stopped_(when_stopped) {}
  ~Leaf() = default;

  // Complete: the task continues. The leaf may have been destroyed when this returns.
  void wake() noexcept;
  // Completes the operation on `executor`; called in suspended(), which a leaf may define instead of calling wake()
  // later; see ResumeOn.
  void wake_on(Executor& executor) noexcept;
  bool try_wake_on(ThreadPool& pool, Priority priority) noexcept;
  // The context of the awaiting task; set from start() on.
  Context& context() const noexcept;
  // The place of the await; also set from start() on.
  std::source_location place() const noexcept;

 private:
  friend class Trampoline;
  Job& job() noexcept;
  static void run_posted(Job& job) noexcept;

  struct WhileWaiting {
    Cancel cancel;
    Instant since;
  };
  union {
    WhileWaiting waiting_;
    // Posted, or put into the trampoline's queue, when the operation is complete. It is first, so that a Leaf and its
    // Job have the same address.
    Job job_;
  };
  const Kind* kind_ = nullptr;
  Frame* frame_ = nullptr;
  WhenStopped when_stopped_;
  Progress progress_ = Progress::Complete;
  bool registered_ = false;
};

}  // namespace keel
