#include "keel/exec/delayed_jobs.h"

#include <new>
#include <utility>

#include "keel/exec/job_memory.h"

namespace keel {

// Derives from Job only to be linked in `sent_`.
struct DelayedJobs::Waiting final : Job, Timer, Kept {
  Waiting(Job& job, Instant due) noexcept : Job(nullptr), Timer(&fired), delayed(job) { at = due; }
  static void fired(Timer& timer) noexcept {
    Job& due = take(static_cast<Waiting&>(timer));
    due.run(due);
  }
  Job& delayed;
};

DelayedJobs::DelayedJobs(Executor& executor, TimerWheel& wheel) noexcept : executor_(executor), wheel_(wheel) {}

DelayedJobs::~DelayedJobs() {
  is_ending_ = true;
  bring();
  while (Kept* const kept = kept_.pop_front()) {
    auto& waiting = static_cast<Waiting&>(*kept);
    wheel_.stop(waiting);
    Executor::discard(take(waiting));
  }
}

// Null: there is no memory, or this object is being destroyed.
DelayedJobs::Waiting* DelayedJobs::make(Job& job, Instant due) noexcept {
  if (is_ending_) return nullptr;
  try {
    return new (job_allocate(sizeof(Waiting))) Waiting(job, due);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Destroys `waiting`, and returns its job.
Job& DelayedJobs::take(Waiting& waiting) noexcept {
  Job& job = waiting.delayed;
  if (waiting.Kept::linked()) waiting.Kept::unlink();
  waiting.~Waiting();
  job_free(&waiting, sizeof(Waiting));
  return job;
}

void DelayedJobs::keep(Waiting& waiting) noexcept {
  kept_.push_back(waiting);
  wheel_.start(waiting, waiting.at);
}

bool DelayedJobs::start(Job& job, Instant due) noexcept {
  Waiting* const waiting = make(job, due);
  if (waiting == nullptr) return false;
  keep(*waiting);
  return true;
}

bool DelayedJobs::send(Job& job, Instant due) noexcept {
  Waiting* const waiting = make(job, due);
  if (waiting == nullptr) return false;
  sent_.push(*waiting);
  // Whether to post is decided by the flag `is_posted_` and not by the result of push(): take_all() releases nothing,
  // so push() would not order the executor's last use of `bring_` before the next post().
  if (!is_posted_.exchange(true, std::memory_order_acq_rel)) executor_.post(bring_);
  return true;
}

void DelayedJobs::bring() noexcept {
  // The flag is reset before the queue is read, so that the next send() posts `bring_` again.
  is_posted_.exchange(false, std::memory_order_acq_rel);
  for (Job* job = sent_.take_all(); job != nullptr;) {
    Job* const next = job->next;
    keep(static_cast<Waiting&>(*job));
    job = next;
  }
}

}  // namespace keel
