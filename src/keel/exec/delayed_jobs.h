// keel/exec/delayed_jobs.h — the jobs that wait for their due time, for an executor of one thread with a timer wheel.
//
//   bool Loop::offer_after(Job& job, Duration delay) noexcept {
//     return is_mine() ? delayed_.start(job, now() + delay) : delayed_.send(job, now() + delay);
//   }
//
// A job runs inside TimerWheel::advance(), when the job's timer fires.
//
// Lifetime: executor and wheel outlive a DelayedJobs. The destructor accepts no more jobs. The destructor runs the jobs
//           that are not due, on the calling thread, and Executor::discards() returns true for these jobs; a job that
//           does not check discards() runs normally.
// Threads:  send() on any thread; all other functions on the executor's thread.
// Cost:     a block of job memory (exec/job_memory.h) and a timer for each job. Jobs that are sent before the executor
//           reads the queue share one posted job.

#pragma once

#include <atomic>

#include "keel/base/list.h"
#include "keel/base/mpsc_queue.h"
#include "keel/base/wheel.h"
#include "keel/exec/executor.h"

namespace keel {

class DelayedJobs {
 public:
  DelayedJobs(Executor& executor, TimerWheel& wheel) noexcept;
  ~DelayedJobs();
  DelayedJobs(const DelayedJobs&) = delete;
  DelayedJobs& operator=(const DelayedJobs&) = delete;

  // Runs `job` at `due` or later. False: there is no memory for the job, or this object is being destroyed.
  bool start(Job& job, Instant due) noexcept;
  // Does what start() does, but may be called on any thread.
  bool send(Job& job, Instant due) noexcept;

 private:
  struct Waiting;
  struct Kept : Link {};  // The link in `kept_`; Timer has another link, for the wheel.
  struct Bring : Job {
    explicit Bring(DelayedJobs& d) noexcept
        : Job([](Job& job) noexcept { static_cast<Bring&>(job).jobs.bring(); }), jobs(d) {}
    DelayedJobs& jobs;
  };
  Waiting* make(Job& job, Instant due) noexcept;
  static Job& take(Waiting& waiting) noexcept;
  void keep(Waiting& waiting) noexcept;
  void bring() noexcept;

  Executor& executor_;
  TimerWheel& wheel_;
  List<Kept> kept_;
  MpscQueue<Job> sent_;
  Bring bring_{*this};
  std::atomic<bool> is_posted_{false};  // Whether `bring_` is posted.
  bool is_ending_ = false;
};

}  // namespace keel
