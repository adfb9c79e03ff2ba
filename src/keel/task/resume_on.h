// keel/task/resume_on.h — moves a task to another executor, and gives other tasks a turn.
//
//   Executor& home = *(co_await this_task()).executor;
//   co_await resume_on(pool);                          // heavy or blocking work leaves the loop
//   std::string hash = digest(file);
//   co_await resume_on(home);                          // and comes back
//
// After resume_on(executor) the task continues as a job of `executor`, or immediately if it is already on that
// executor. A task that was asked to stop is rejected (Cancelled, DeadlineExceeded), except when it goes home, to the
// executor where it began.
// resume_on(pool)      the same for a ThreadPool, with an optional Priority. ResourceExhausted, on the task's present
//                      executor, when the pool's queue is full; Cancelled, on the pool, when the pool is stopped with a
//                      deadline and has not begun the task by then.
// checkpoint()         lets everything else that waits on this executor run once; ends the task when it was asked to
//                      stop.
//
// On a pool, a task may await tasks, resume_on and checkpoint, but not timers, scopes, groups and sockets, which belong
// to the task's loop. A stop does not interrupt a task on a pool; long computations poll this_task().stop. When a task
// ends on an executor other than its parent's, the parent still continues on its own executor.
//
// Cost: one post, no allocation.

#pragma once

#include "keel/base/result.h"
#include "keel/exec/executor.h"
#include "keel/task/leaf.h"

namespace keel {

class ThreadPool;

class [[nodiscard]] ResumeOn : public Leaf {
 public:
  using Value = void;
  explicit ResumeOn(Executor& target) noexcept : Leaf(nullptr, WhenStopped::Begins), target_(target) {}
  ResumeOn(ThreadPool& pool, Priority priority) noexcept;
  bool start() noexcept;
  bool suspended() noexcept;
  Result<> take() noexcept;

 private:
  enum class Outcome : unsigned char { Moved, Rejected, Full };
  Executor& target_;
  ThreadPool* pool_ = nullptr;
  Outcome outcome_ = Outcome::Moved;
  Priority priority_ = Priority::Normal;
};

inline ResumeOn resume_on(Executor& target) noexcept { return ResumeOn(target); }
inline ResumeOn resume_on(ThreadPool& pool, Priority priority = Priority::Normal) noexcept {
  return ResumeOn(pool, priority);
}

// The operation of checkpoint().
class [[nodiscard]] Checkpoint : public Leaf {
 public:
  using Value = void;
  Checkpoint() noexcept = default;
  bool start() noexcept { return false; }
  bool suspended() noexcept;
  Result<> take() noexcept;
};

inline Checkpoint checkpoint() noexcept { return {}; }

}  // namespace keel
