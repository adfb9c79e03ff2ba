// keel/task/leaf.h — the operations that tasks wait for: the protocol between operations and coroutines.
//
// Each operation, such as a timer, a socket read or a database statement, is an object of a class derived from Leaf.
// The awaiting expression makes the object, which lives in the awaiting coroutine's frame until the operation is
// complete. Nothing is allocated.
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
// Before the operation has begun, start() may throw a Bug (base/bug.h) with the place(); the await then throws that
// Bug. The order of events: start() is called once; if start() returned false, wake() is called exactly once, and never
// inside start(); after that, take() is called once, and the object is destroyed. cancel() may be called at most once
// between start() and wake(), and may call wake() itself. When the task's context was stopped or is past its deadline,
// start() is not called at all and the await ends with the reason, unless the leaf was made with `WhenStopped::Begins`.
// A result Cancelled becomes DeadlineExceeded when the deadline was the reason for the stop.
//
// An operation class of which many objects wait at the same time may have this function:
//
//   bool failed() const noexcept;                    // after completion, before take(): it will give an error
//
// If the class has the function failed(), take() is called only when the task continues or ends, so that the task's
// frame needs no room for the Result. For an operation that yields nothing, take() must be called only if the operation
// failed.
//
// Threads: start(), wake(), take() and cancel() are called on the executor that awaits. An operation that completes on
//          another thread first posts a Job to that executor, and the Job calls wake().
// Cost:    wake() from a loop resumes the task immediately; from inside another task, wake() posts to the executor.

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
  // Called when the task has suspended; from then until wake(), the leaf is registered with its context.
  void wait() noexcept;
  void cancel_now() noexcept {  // Called by Context::stop().
    if (waiting_.cancel != nullptr) waiting_.cancel(*this);
  }
  // The task that waits, and the operation that it waits for.
  Frame& frame() const noexcept { return *frame_; }
  const std::type_info& type() const noexcept { return *kind_->type; }
  // The time of the event-loop iteration in which the wait began; valid only while the task waits on its home.
  Instant since() const noexcept { return waiting_.since; }

 protected:
  // If `cancel` is null, a stop does nothing to a waiting operation, because the operation ends soon anyway, or because
  // it waits for a task in a nested context, which the same stop reaches.
  explicit Leaf(Cancel cancel = nullptr, WhenStopped when_stopped = WhenStopped::IsRefused) noexcept
      : waiting_{cancel, Instant()}, when_stopped_(when_stopped) {}
  ~Leaf() = default;

  // Call wake() when the operation is complete: the task continues. The leaf may have been destroyed when wake()
  // returns.
  void wake() noexcept;
  // Completes the operation on `executor`. Call wake_on() in suspended(), which a leaf such as ResumeOn may define
  // instead of calling wake() later.
  void wake_on(Executor& executor) noexcept;
  bool try_wake_on(ThreadPool& pool, Priority priority) noexcept;
  // The context of the awaiting task; set from start() on.
  Context& context() const noexcept;
  // The place of the await; like context(), it is set from start() on.
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
    // The job is posted, or put into the trampoline's queue, when the operation is complete. The job is the first
    // member, so that a Leaf and its Job have the same address.
    Job job_;
  };
  const Kind* kind_ = nullptr;
  Frame* frame_ = nullptr;
  WhenStopped when_stopped_;
  Progress progress_ = Progress::Complete;
  bool registered_ = false;
};

}  // namespace keel
