// keel/exec/executor.h — the interface of everything that runs jobs.
//
// A Job is intrusive: it lives in its owner until it has run, so that posting never allocates. An Executor runs jobs: a
// worker's loop (io/loop.h), a ThreadPool, a SerialExecutor, an InlineExecutor, or the simulation. Each thread that
// runs jobs has a current executor. Callables become jobs by execute() (exec/call.h) and submit() (exec/submitted.h).
//
// Threads:  post() may be called on any thread; an executor with one thread runs the jobs that one thread posts to it
//           in the order of posting.
// Lifetime: a Job must not move until its run() is called; run() may destroy it.

#pragma once

#include <cstddef>

#include "keel/base/list.h"
#include "keel/base/time.h"

namespace keel {

struct Job {
  using Run = void (*)(Job&) noexcept;
  explicit Job(Run r) noexcept : run(r) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Run run;
  Job* next = nullptr;  // Used by the executor.
};

// The priority of a job: on executors that have priorities (ThreadPool), it decides which waiting job starts first.
enum class Priority : unsigned char { High, Normal, Low };
// The number of priorities.
inline constexpr int priority_count = 3;

class Executor {
 public:
  Executor() noexcept = default;
  explicit Executor(Instant turn_time) noexcept : turn_time_(turn_time) {}
  virtual ~Executor();

  // Runs `job` soon, never inside this call.
  virtual void post(Job& job) noexcept = 0;

  // Posts several jobs of one sender, linked by `next` from `first` to `last`, with one wake-up for all of them.
  virtual void post_all(Job& first, Job& last) noexcept;

  // Does what post() does, for a job that may be rejected. False: `job` will not run. An executor with a bounded queue
  // documents what it does when the queue is full; other executors accept every job.
  virtual bool offer(Job& job) noexcept;
  // Does what offer() does, for `count` linked jobs: accepts all of them or none.
  virtual bool offer_all(Job& first, Job& last, std::size_t count) noexcept;

  // Does what offer() does, for a job that runs when `delay` has passed, or as soon as possible afterwards. False:
  // `job` will not run, because the limit of delayed jobs is reached, the executor has been stopped, there is no memory
  // for the job, or the executor has no clock, as in this base class. A job that is not due when the executor ends is
  // discarded; draining does not wait for such a job. May be called on any thread.
  virtual bool offer_after(Job& job, Duration delay) noexcept;
  // False: offer_after() never accepts a job.
  virtual bool has_clock() const noexcept { return false; }

  // True: the executor runs one job at a time, and a job posted while another job runs starts after that job has
  // returned. If several threads may resume a task, they need a handshake, which a serial executor makes unnecessary.
  virtual bool is_serial() const noexcept { return true; }

  // The executor whose job is running on this thread; null on other threads.
  static Executor* current() noexcept;
  // Sets the executor of this thread; returns the previous executor.
  static Executor* set_current(Executor* executor) noexcept;

  // Call it from a job that has begun to run. True: the executor is being stopped and has no time left for the job,
  // which should skip its work, notify its owner and return; the job then counts as discarded. A job that never calls
  // discards() runs normally.
  static bool discards() noexcept;

  // The time of this executor's current event-loop iteration; Instant() for an executor without a clock. Call it on the
  // executor's own thread.
  Instant turn_time() const noexcept { return turn_time_; }
  // The incomplete operations that code outside of coroutines has begun on this executor; the task module uses them
  // (task/live_task.h). Call it on the executor's own thread.
  List<Link>& waiting() noexcept { return waiting_; }

 protected:
  // Runs `job`, and discards() returns true during the run. Returns how many jobs have called discards() and got true.
  static std::size_t discard(Job& job) noexcept;
  friend class DelayedJobs;

  Instant turn_time_;

 private:
  List<Link> waiting_;
};

}  // namespace keel
