// keel/io/loop.h — the event loop of one worker: an engine, a timer wheel and a queue of jobs.
//
// In an iteration (one call of turn()) the loop runs posted jobs, fires due timers, and then lets the engine submit
// operations, wait, and call done() for each completion. Deferred jobs run at two points of an iteration: before the
// engine waits, and at the end, before the next iteration runs posted jobs. While a loop runs, it is the thread's Host
// and the thread's Executor: now() is the time at which the completions of this iteration were collected, timers are on
// the loop's wheel, and post() wakes the loop from any thread.
//
// A delayed job (offer_after) waits on the wheel and runs when timers fire. While the loop is stopped, the job stays on
// the wheel; the end of the loop discards it (Executor::discards), on the thread that ends the loop.
//
// Threads:  post(), offer_after(), stop() and wake-ups from any thread; everything else on the loop's own thread.
// Lifetime: outlives its operations, timers and jobs.
// Cost:     one clock read for each iteration, but none for an iteration that finds nothing to do. On the loop's own
//           thread, post() takes two stores. On another thread, post() takes two atomic exchanges and, when the loop
//           may be waiting, one wake-up for all jobs posted in the meantime. Between workers on io_uring, the wake-up
//           needs no system call of its own: it is submitted with the other operations at the end of the posting
//           worker's iteration. If another thread posts before this wake-up is submitted, the other thread itself wakes
//           the loop.

#pragma once

#include <atomic>
#include <memory>

#include "keel/base/host.h"
#include "keel/base/mpsc_queue.h"
#include "keel/base/random_stream.h"
#include "keel/exec/delayed_jobs.h"
#include "keel/exec/executor.h"
#include "keel/io/engine.h"

namespace keel::io {

class Loop final : public Executor, public Host {
 public:
  // `outside` provides the clock, the calendar, the key of the loop's random numbers, and threads. `outside` is
  // Host::system() or the simulation.
  Loop(std::unique_ptr<Engine> engine, Host& outside, int index = 0);
  ~Loop() override;

  Engine& engine() noexcept { return *engine_; }
  int index() const noexcept { return index_; }

  // Runs iterations until stop(). While run() runs, this loop is the thread's current loop.
  void run();
  // Runs one iteration that does not wait beyond `until`; returns the number of jobs, timers and completions handled.
  int turn(Instant until);
  // Call it after the last run(): runs iterations until there is nothing more to do, for at most 0.1 s. A descriptor
  // that was closed in one of the last iterations stays open in the kernel until finish(), because the pending
  // operations on the descriptor have to be cancelled first.
  void finish();
  // Ends run() after the current iteration. Any thread.
  void stop() noexcept;

  // Runs `job` once, after everything else in this iteration and before the loop collects completions again. Use it to
  // end a state that lasts for one iteration, such as a shared read snapshot, or to batch the work of one iteration.
  void defer(Job& job) noexcept;

  void post(Job& job) noexcept override;
  void post_all(Job& first, Job& last) noexcept override;
  // The delay starts now, not at the beginning of the iteration. The number of delayed jobs has no limit: returns false
  // only if there is no memory.
  bool offer_after(Job& job, Duration delay) noexcept override;
  bool has_clock() const noexcept override { return true; }
  Instant now() noexcept override {
    if (stale_) read_clock();
    return turn_time_;
  }
  // Reads the clock, whereas now() returns the time of the iteration; use precise_now() to measure times within an
  // iteration. Costs a clock read.
  Instant precise_now() noexcept override { return outside_.now(); }
  std::int64_t wall_ns() noexcept override {
    const Instant at = now();
    return wall_offset_ns_ + at.ns();
  }
  // A number from base/random_stream.h, which computes the number instead of asking the kernel for it; the number
  // cannot be predicted from earlier numbers.
  std::uint64_t random() noexcept override { return random_.next(); }
  void secret(std::span<std::byte> out) noexcept override { outside_.secret(out); }
  void start_timer(Timer& timer, Instant at) noexcept override { wheel_.start(timer, at); }
  void stop_timer(Timer& timer) noexcept override { wheel_.stop(timer); }
  std::unique_ptr<Thread> start_thread(const char* name, Function<void()> body) override {
    return outside_.start_thread(name, std::move(body));
  }

  // The loop that runs on this thread, or null.
  static Loop* current() noexcept;

  // The number of iterations so far; metrics read this number on the loop's thread.
  std::uint64_t turns() const noexcept { return turns_; }
  int timers() const noexcept { return wheel_.running(); }
  // The time at which the current iteration had collected its completions; Instant() while the loop waits for more. May
  // be called on any thread.
  Instant busy_since() const noexcept { return Instant::from_ns(busy_since_ns_.load(std::memory_order_relaxed)); }

  // Makes this loop the thread's current host and executor for a scope. Used by run() and by the simulation.
  class Entered {
   public:
    explicit Entered(Loop& loop) noexcept;
    ~Entered();

   private:
    Loop* loop_before_;
    Host* host_before_;
    Executor* executor_before_;
  };

 private:
  struct Queue {
    Job* first = nullptr;
    Job** last = &first;
    bool empty() const noexcept { return first == nullptr; }
    void push(Job& job) noexcept {
      job.next = nullptr;
      *last = &job;
      last = &job.next;
    }
    Job* take_all() noexcept {
      Job* jobs = first;
      first = nullptr;
      last = &first;
      return jobs;
    }
  };
  void wake_for_posted() noexcept;
  int run_posted() noexcept;
  void run_deferred() noexcept;
  static int run_all(Job* jobs) noexcept;
  void read_clock() noexcept;
  void begin_work() noexcept;
  void end_work() noexcept;

  std::unique_ptr<Engine> engine_;
  Host& outside_;
  const int index_;
  // True: the last iteration found nothing to do, or no iteration has run yet, so the time has to be read from the
  // clock.
  bool stale_ = true;
  std::int64_t wall_offset_ns_ = 0;
  Instant wall_checked_;
  TimerWheel wheel_;
  Queue local_;
  Queue deferred_;
  std::uint64_t turns_ = 0;
  bool turning_ = false;
  std::atomic<std::int64_t> busy_since_ns_{0};
  MpscQueue<Job> remote_;
  std::atomic<bool> stopping_{false};
  RandomStream random_;
  // Declared last, so that it is destroyed before the objects that its jobs may still use.
  DelayedJobs delayed_{*this, wheel_};
};

}  // namespace keel::io
