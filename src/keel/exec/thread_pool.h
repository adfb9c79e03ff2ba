// keel/exec/thread_pool.h — threads for work that blocks or computes: a fixed number of threads, or as many as the work
// needs.
//
//   ThreadPool pool({.name = "database", .threads = 4, .queue_max = 256});
//   ThreadPool elastic({.name = "images", .threads = 2, .threads_max = 16});
//   KEEL_TRY(Image small, submit(pool, [&] { return shrink(image); }).get());      // exec/submitted.h, exec/call.h
//   if (!pool.try_post(job)) …                  // the queue is full: say so to the caller
//   co_await resume_on(pool);                   // a task moves here, task/resume_on.h
//
// All threads take jobs from one queue, which is ordered by priority (High before Normal before Low) and, within a
// priority, by the time of posting. If 16 jobs of other priorities were taken while a job waited, that job is taken
// next, so that no priority starves. While every thread is awake, a thread whose recent jobs were short takes a batch
// of jobs: as many as it expects to finish in 50 us, but at most 64. After a batch of several jobs, the thread waits up
// to 1 us for more jobs to be posted before it takes the next batch. A thread without work takes jobs from the batches
// of other threads before it sleeps. Therefore no job waits while a thread sleeps, and a pool of one thread starts jobs
// in the order of posting.
//
// An elastic pool has at least `threads` and at most `threads_max` threads. Utilisation is the share of the threads'
// time in which they do not sleep. After each `scale_interval` a thread is added when utilisation was above
// `grow_above` and jobs wait, and a thread ends when utilisation was below `shrink_below` for 16 intervals in a row.
//
// On the pool's threads, the pool is the current Executor. A thread without work polls for at most about 20 us, or for
// a shorter time if earlier polling found nothing, and then sleeps until it is woken: an idle pool uses no processor
// time.
//
// Errors:   `queue_max` bounds the jobs that are added by offer() and try_post(), including those added by functions
//           that call offer() or try_post(). When the queue is full, offer() does what `when_full` says, and try_post()
//           rejects. post() never rejects and is not bounded, because it brings tasks back to their executor.
// Threads:  post(), offer(), try_post(), drain() and the getters on any thread; construction and stop() on one thread.
//           Threads come from the constructing thread's Host.
// Lifetime: the pool outlives every task that runs on it, and every call of its functions. A Job must not move until it
//           runs.
// Cost:     a short lock to post a job, and another short lock to take one or several jobs. No allocation per job,
//           except one in offer_after().

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/exec/executor.h"

namespace keel {

// What offer() does while `queue_max` jobs wait.
enum class WhenFull : std::uint8_t {
  // Rejects the job, so that the caller can back off.
  Refuse,
  // Waits for room. On a worker, which must not wait, Block acts as Refuse; on the pool's own threads, which would wait
  // for themselves, Block acts as RunInCaller.
  Block,
  // Runs the job inside the call, on the caller's thread: a caller that submits too many jobs runs some of them itself.
  RunInCaller,
};

// Threads, queue and behavior of a ThreadPool.
struct ThreadPoolOptions {
  std::string name = "pool";  // Prefix of the thread names ("name-0", …); the system shows 15 characters.
  // The number of threads, and thus of jobs that run at the same time; an elastic pool keeps at least this many
  // threads.
  int threads = 1;
  // A number above `threads` makes the pool elastic, with up to `threads_max` threads. Each thread takes memory for its
  // stack.
  int threads_max = 0;
  std::size_t queue_max = 1024;  // How many jobs may wait; a longer queue means a longer wait.
  WhenFull when_full = WhenFull::Refuse;
  double grow_above = 0.8;  // Utilisation from 0 to 1 above which a thread is added.
  // Utilisation below which a thread ends. This value must be smaller than grow_above; while utilisation is between
  // shrink_below and grow_above, the number of threads does not change.
  double shrink_below = 0.2;
  // The time over which utilisation is measured; with a longer time, the pool reacts later and to fewer changes.
  Duration scale_interval = 20_ms;
  // Thread i runs only on CPU cpus[i % size]; empty: on any CPU that the system chooses. If the process is not allowed
  // to use a CPU, the threads for that CPU are not pinned.
  std::vector<int> cpus = {};
  // Called on the thread that ran a job, with the job's waiting time and run time. Jobs are sampled: one job at a time
  // is followed through the queue. While jobs take less than 10 us, one job in 64 is followed; while jobs take longer,
  // the next job may be followed as soon as the previous one has run. Jobs that ran on the thread of the caller did not
  // wait; these jobs are sampled in the same way. Several threads may call `measured` concurrently. Null: nothing is
  // measured.
  Function<void(Duration wait, Duration run)> measured = {};
  // This executor runs the jobs, one after the other, in place of threads; a simulation uses it for its pool. With an
  // executor, `threads` and `cpus` are ignored, nothing is measured, drain() does not wait, and stop() runs the
  // remaining jobs on the thread that calls stop(). All calls are on the executor's thread; the executor outlives the
  // pool.
  Executor* executor = nullptr;
};

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(ThreadPoolOptions options);
  ~ThreadPool() override;  // stop()

  void post(Job& job) noexcept override { post(job, Priority::Normal); }
  void post(Job& job, Priority priority) noexcept;
  void post_all(Job& first, Job& last) noexcept override;
  // False: `job` will not run, because the pool has been stopped, or because `queue_max` jobs wait already and
  // `when_full` says to reject the job.
  bool offer(Job& job) noexcept override { return offer(job, Priority::Normal); }
  bool offer(Job& job, Priority priority) noexcept;
  // Queues all of the jobs or none. More than `queue_max` jobs in one call are always rejected, unless the caller runs
  // them.
  bool offer_all(Job& first, Job& last, std::size_t count) noexcept override {
    return offer_all(first, last, count, Priority::Normal);
  }
  bool offer_all(Job& first, Job& last, std::size_t count, Priority priority) noexcept;
  // Adds the job to the queue as offer() does, but always rejects the job when the queue is full: for callers that must
  // neither wait nor run the job.
  bool try_post(Job& job, Priority priority = Priority::Normal) noexcept;
  // False when `queue_max` delayed jobs wait already, the pool has been stopped, there is no memory, or the thread for
  // the clock cannot be started.
  bool offer_after(Job& job, Duration delay) noexcept override;
  bool has_clock() const noexcept override { return true; }
  bool is_serial() const noexcept override { return false; }

  // Waits until no job is queued or running; delayed jobs that are not due do not count. False: `limit` passed first.
  // The pool stays open; the call also waits for jobs that are posted in the meantime.
  bool drain(Duration limit);
  // Accepts no more jobs, runs the waiting jobs, then ends and joins the threads. Delayed jobs that are not due are
  // discarded immediately (Executor::discards); other jobs are discarded if they have not begun after `limit`. A
  // running job cannot be ended, so stop() waits for it. Returns the number of discarded jobs. A discarded job of
  // submit(), or a task that resume_on() is moving here, gets the result Cancelled; a callable of execute() is dropped;
  // jobs posted in other ways run anyway. Idempotent. Like drain(), stop() throws a Bug (base/bug.h) on a thread of the
  // pool. Posting after stop() is a bug.
  std::size_t stop(Duration limit = Duration::forever());

  const std::string& name() const noexcept;
  int threads() const noexcept;  // The current number of threads.
  std::size_t queue_max() const noexcept;
  std::size_t queued() const noexcept;      // Jobs that wait.
  int running() const noexcept;             // How many threads of the pool run jobs.
  std::uint64_t executed() const noexcept;  // Jobs that have returned, since the beginning.
  // How many of the executed jobs ran on the thread of the caller (WhenFull::RunInCaller).
  std::uint64_t ran_in_caller() const noexcept;
  std::uint64_t refused() const noexcept;    // Jobs that were rejected.
  std::uint64_t discarded() const noexcept;  // Jobs that were discarded by stop().
  double busy_seconds() const noexcept;      // The time in which threads did not sleep, summed over all of them.

 private:
  struct State;
  struct Worker;
  struct Errand;
  void start_thread(Worker& worker);
  void start_clock();
  void keep_time() noexcept;
  void scale(std::unique_lock<std::mutex>& lock, Instant at) noexcept;
  [[gnu::noinline]] void work(Worker& me) noexcept;
  bool next(Worker& me) noexcept;
  void run(Worker& me) noexcept;
  void run_in_caller(Job& first, Job& last) noexcept;
  bool admit(Job& first, Job& last, std::size_t count, Priority priority, WhenFull when_full) noexcept;
  void send_errands(std::size_t count) noexcept;
  void run_here(Job& job) noexcept;
  std::size_t stop_errands() noexcept;

  const std::unique_ptr<State> state_;
};

}  // namespace keel
