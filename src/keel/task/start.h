// keel/task/start.h — begins a task from plain code: a connection's state machine, a test, main.
//
//   struct Connection {
//     Start<Response> handling;
//     void on_request() {
//       if (handling.begin(handler(request), &handled)) send(handling.take());
//     }
//     static void handled(StartCore& start) noexcept { … connection of start …; }
//   };
//
// begin() runs the task until it ends or first waits. True: the task has ended, take() has the result, and `done` is
// not called. False: done(start) is called once, later. The loop of the executor that began the task calls done(start),
// outside of the task's frame. Therefore the function `done` may take the result, begin the Start again or destroy it.
//
// Ownership: intrusive; owns the task's frame from begin() to take(). Immovable.
// Lifetime:  destroying a Start whose task still runs aborts the process; call stop() first, and wait until done is
//            called.
// Threads:   one serial executor; no executor is needed when the task never leaves this thread.
// Cost:      one frame from the pool, no heap; task_bench has the figures.

#pragma once

#include <type_traits>
#include <utility>

#include "keel/base/check.h"
#include "keel/task/context.h"
#include "keel/task/frame.h"
#include "keel/task/task.h"

namespace keel {

// The stop source, deadline and span of a task.
struct StartOptions {
  // Everything that the task awaits inherits the deadline. After the deadline no operation begins, but no timer is
  // started: to end an operation that is already waiting, the code that set the deadline has to call stop(), as
  // with_timeout does.
  Instant deadline = Instant::never();
  StopSource* stop = nullptr;  // Stops the task together with other tasks.
  // The span of the task's work; the span must outlive the task. Null: the span of the parent context is used.
  const Span* span = nullptr;
};

// The part of a Start that does not depend on the type of the task.
class StartCore {
 public:
  using Done = void (*)(StartCore&) noexcept;

  StartCore() = default;
  StartCore(const StartCore&) = delete;
  StartCore& operator=(const StartCore&) = delete;

  bool is_running() const noexcept { return context_.is_running_; }
  bool has_ended() const noexcept {
    return !is_running() && frame_ != nullptr && (frame_->has_value() || frame_->has_error());
  }
  // Asks the task to end; done is called as usual when it has ended. No effect if no task is running.
  void stop(Code reason = Code::Cancelled) noexcept {
    if (is_running()) context_.stop(reason);
  }

  // Used by Frame.
  Executor* home() const noexcept { return context_.home(); }
  void ended() noexcept;

 protected:
  ~StartCore() { reset(); }
  void hold(Frame& frame) noexcept;
  bool begin_held(Context* parent, const StartOptions& options, Done done) noexcept;
  void reset() noexcept;
  Frame* frame() const noexcept { return frame_; }
  Frame& give_back() noexcept { return *std::exchange(frame_, nullptr); }
  // The context below which the task was started.
  Context* parent() const noexcept { return context_.parent(); }

 private:
  Context context_;
  Frame* frame_ = nullptr;
  Done done_ = nullptr;
};

template <class T>
class Start : public StartCore {
 public:
  Start() = default;
  // Holds a task that is begun later, by begin_in.
  explicit Start(Task<T>&& task) noexcept { hold(task.release()); }

  bool begin(Task<T>&& task, Done done, const StartOptions& options = {}) noexcept {
    hold(task.release());
    return begin_held(options.stop != nullptr ? &options.stop->context() : nullptr, options, done);
  }
  // Begins the held task below `parent`; groups of tasks use this function.
  bool begin_in(Context& parent, Instant deadline, Done done) noexcept {
    return begin_held(&parent, {.deadline = deadline}, done);
  }

  // Returns the held task, which has not been started.
  Task<T> release() noexcept { return Task<T>(static_cast<Promise<T>&>(give_back())); }

  // Returns the result and frees the frame; call this function once, after the task has ended.
  Result<T> take() noexcept {
    KEEL_CHECK(has_ended(), "a result can be taken only once, after its task has ended");
    Result<T> result = static_cast<Promise<T>*>(frame())->take_result();
    reset();
    return result;
  }
};

}  // namespace keel
