// keel/exec/internal/pool_state.h — the state that the threads of a ThreadPool share, and the rules by which they sleep
// and wake.
//
// Everything except the atomics is guarded by `mutex`. Every thread is in one of four states. A thread may run jobs
// (is_busy); it may search for jobs, which means that it is awake without a job (counted in `searching`); it may sleep
// (in the stack `asleep`); or it may be ending. Invariants:
//
//   A thread sleeps only when no job waits and no batch has a job left. It checks both under the lock.
//   A batch has more than one job only when no thread sleeps, so that each thread checks the batch before it sleeps.
//   A job that arrives while a thread sleeps wakes a thread, unless one thread searches for every 16 jobs that wait.
//   A thread that finds a job while more jobs wait wakes the next thread.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "keel/base/host.h"
#include "keel/base/list.h"
#include "keel/base/single_writer_counter.h"
#include "keel/exec/internal/job_batch.h"
#include "keel/exec/internal/job_lanes.h"
#include "keel/exec/internal/parker.h"
#include "keel/exec/internal/utilisation.h"
#include "keel/exec/thread_pool.h"

namespace keel {

struct alignas(64) ThreadPool::Worker {
  explicit Worker(int n) noexcept : number(n) {}

  const int number;
  internal::JobBatch batch;
  SingleWriterCounter executed;
  internal::Parker parker;
  std::unique_ptr<Thread> thread;  // Null: this worker has no thread now.

  // Guarded by the lock.
  Worker* below = nullptr;  // The next lower worker in the stack of sleeping workers.
  bool is_busy = false;     // Whether the worker has jobs.
  bool is_called = false;   // Whether the worker was woken to search for jobs.
  bool leaves = false;      // Whether the worker was woken to end.

  // Used only by the worker itself.
  std::size_t take_max = 1;       // The most jobs that the worker takes together.
  std::size_t taken = 0;          // The number of jobs that the worker took last time.
  Duration spin_for;              // How long a thread polls for work before it sleeps.
  unsigned turns = 0;             // The number of times that the thread has taken jobs.
  const Job* followed = nullptr;  // The job of the worker's batch whose time is measured.
  Instant followed_at;
  unsigned follow_every = 0;  // The new value for State::follow_every; 0: unchanged.
};

// The job that a pool without threads posts to its executor, once for each job of the pool.
struct ThreadPool::Errand : Job, Link {
  Errand(ThreadPool& p, Job* d) noexcept : Job(&run), pool(&p), due(d) {}
  static void run(Job& job) noexcept;

  ThreadPool* pool;  // Null: stopped.
  Job* due;          // The delayed job that is due; null: run the next waiting job.
};

struct ThreadPool::State {
  using Lock = std::unique_lock<std::mutex>;
  explicit State(ThreadPoolOptions&& from);

  // Locks; a thread that waits for the lock spins briefly before it sleeps, because the lock is held for only about ten
  // nanoseconds.
  Lock enter() const noexcept;

  // The functions from here on need the lock.
  bool has_room(std::size_t count) const noexcept;
  std::size_t queued() const noexcept;
  void push(Job& job, Priority priority) noexcept;
  void push_all(Job& first, Job& last, Priority priority) noexcept;
  bool fill(Worker& me) noexcept;   // Moves waiting jobs to `me`. False: no job waits.
  bool steal(Worker& me) noexcept;  // Moves to `me` a job that another worker has taken but not begun.
  void sleep(Worker& me) noexcept;
  Worker& wake_one() noexcept;  // Wakes the worker that began to sleep last.
  // The worker to unpark() after the lock is released; null: no worker has to be woken.
  Worker* call_searcher() noexcept;
  bool is_idle() const noexcept { return asleep_count == threads && lanes.size() == 0 && discarding == 0; }
  void note_idle() noexcept;
  void finish() noexcept;

  // Called without the lock.
  void spin(Worker& me) const noexcept;
  void park(Worker& me) const noexcept;
  void gather() const noexcept;  // Gives threads that post many jobs a moment to post more.

  // Data that is read for every job is in other cache lines than the data that every post changes.
  std::atomic<bool> is_discarding{false};
  std::atomic<std::uint64_t> in_caller{0};  // Jobs that ran on the thread of the caller.
  // While jobs run on the thread of the caller, one job in this many is measured.
  std::atomic<unsigned> caller_follow_every{1};
  ThreadPoolOptions options;
  Host& host = Host::current();
  const int threads_max;
  const bool has_processors;  // Whether there is more than one processor.

  alignas(64) mutable std::mutex mutex;
  internal::JobLanes lanes;
  std::vector<std::unique_ptr<Worker>> workers;  // There are threads_max workers.
  int threads = 0;                               // The number of threads, without threads that are leaving.
  int searching = 0;
  int asleep_count = 0;
  Worker* asleep = nullptr;
  bool is_stopping = false;
  int discarding = 0;        // The number of calls of stop() that may still run delayed jobs.
  bool is_finished = false;  // True: every thread has to end.
  std::uint64_t refused = 0;
  std::uint64_t discarded = 0;
  internal::Utilisation utilisation;
  std::condition_variable idle;  // Notified when no job waits or runs, or when is_finished.
  std::condition_variable room;  // Notified when there may be room in the queue.
  int blocked = 0;               // The number of calls of offer() that wait for room.

  const Job* followed = nullptr;  // The waiting job whose time is measured.
  Instant followed_at;
  unsigned follow_every = 1;
  unsigned follow_in = 0;

  // The clock: a thread that posts delayed jobs when they are due and changes the number of threads.
  std::condition_variable clock;
  std::mutex clock_start;  // Held while the clock is started, and locked before `mutex`.
  std::unique_ptr<Thread> clock_thread;
  bool has_clock = false;
  std::multimap<Instant, Job*> delayed;
  // True: the clock calls scale(), because all threads were busy, or because there are more threads than the minimum.
  bool is_scaling = false;
  Instant scale_at = Instant::never();  // The end of the current interval.

  List<Errand> errands;  // The errands that a pool without threads has posted and that have not run.

  alignas(64) std::atomic<std::size_t> waiting{0};  // lanes.size(), for spinning workers.
};

}  // namespace keel
