// keel/exec/serial_executor.h — one job at a time, in the order of posting, over any executor: a strand.
//
//   SerialExecutor account(pool);                            // a pool of many threads below
//   execute(account, [this] { balance_ += 5; });             // no lock: nothing else of this account runs meanwhile
//   co_await resume_on(account);                             // the same for a task
//
// While one of its jobs runs, it is the current executor. Many of them may share one executor; each runs at most 64
// jobs and then goes to the end of that executor's queue.
//
// A delayed job waits for its due time in the executor below and is then posted here.
//
// Errors:   offer(), and with it execute() and submit(), rejects when `queue_max` jobs wait; offer_after(), and with it
//           execute_after() and submit_after(), rejects when `queue_max` jobs wait for their time, or when the
//           underlying executor rejects. post() never rejects.
// Threads:  post(), offer(), offer_after() and queued() on any; jobs run on the threads of the executor below.
// Lifetime: the executor below outlives it. Its destructor discards jobs that are not due (Executor::discards) and
//           waits until everything else that was posted has run, so it must not run inside one of its own jobs
//           (checked). When the underlying executor is stopped, it discards this executor's delayed jobs; jobs that run
//           still run one at a time.
// Cost:     a short lock to post and one to run; one job below for each burst; no allocation. A delayed job takes a
//           block of job memory (exec/job_memory.h) besides its cost in the underlying executor, which keeps an entry
//           for it until its time even if the job was discarded here.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "keel/exec/executor.h"

namespace keel {

// Name and bounds of a SerialExecutor.
struct SerialExecutorOptions {
  std::size_t queue_max = 1024;  // How many jobs may wait before offer() rejects; a longer queue means a longer wait.
};

class SerialExecutor final : public Executor {
 public:
  explicit SerialExecutor(Executor& below, const SerialExecutorOptions& options = {}) noexcept;
  ~SerialExecutor() override;

  void post(Job& job) noexcept override;
  void post_all(Job& first, Job& last) noexcept override;
  bool offer(Job& job) noexcept override;
  bool offer_all(Job& first, Job& last, std::size_t count) noexcept override;
  bool offer_after(Job& job, Duration delay) noexcept override;
  bool has_clock() const noexcept override { return below_.has_clock(); }

  std::size_t queued() const noexcept;  // Jobs that wait.

 private:
  struct Turn : Job {
    explicit Turn(SerialExecutor& s) noexcept : Job(&run_it), serial(s) {}
    static void run_it(Job& job) noexcept { static_cast<Turn&>(job).serial.take_turn(); }
    SerialExecutor& serial;
  };
  struct Delayed;
  bool push(Job& first, Job& last, std::size_t queue_max) noexcept;
  void append(Job& first, Job& last, std::size_t count) noexcept;
  void take_turn() noexcept;
  void end_turn(std::unique_lock<std::mutex>& lock) noexcept;
  void arrive(Delayed& delayed) noexcept;
  void discard_delayed() noexcept;

  Executor& below_;
  const SerialExecutorOptions options_;
  Turn turn_{*this};
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  Job* first_ = nullptr;
  Job** last_ = &first_;
  std::size_t queued_ = 0;
  bool has_turn_ = false;  // Whether turn_ is posted to the executor below, or runs.
  List<Link> delayed_;     // Delayed jobs in the executor below.
  std::size_t delayed_count_ = 0;
  bool is_ending_ = false;
};

}  // namespace keel
