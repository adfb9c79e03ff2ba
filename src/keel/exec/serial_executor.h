// keel/exec/serial_executor.h — one job at a time, in the order of posting, over any executor: a strand.
//
//   SerialExecutor account(pool);                            // a pool of many threads below
//   execute(account, [this] { balance_ += 5; });             // no lock: nothing else of this account runs meanwhile
//   co_await resume_on(account);                             // the same for a task
//
// While a job of a SerialExecutor runs, the SerialExecutor is the current executor. Many SerialExecutors may share one
// executor below them; each runs at most 64 jobs and then goes to the end of that executor's queue.
//
// A delayed job first waits in the executor below until it is due, and is then posted to the SerialExecutor.
//
// Errors:   offer(), and with it execute() and submit(), rejects a job when `queue_max` jobs wait; offer_after(), and
//           with it execute_after() and submit_after(), rejects a job when `queue_max` delayed jobs wait, or when the
//           underlying executor rejects it. post() never rejects.
// Threads:  post(), offer(), offer_after() and queued() on any thread; jobs run on the threads of the executor below.
// Lifetime: the executor below outlives the SerialExecutor. The destructor discards jobs that are not due
//           (Executor::discards) and waits until all other posted jobs have run, so it must not be called inside one of
//           these jobs (checked). When the underlying executor is stopped, it discards the delayed jobs of the
//           SerialExecutor; the other jobs still run one at a time.
// Cost:     posting a job takes a short lock, and running the job takes another. Each burst of up to 64 jobs needs one
//           job in the executor below. No allocation. A delayed job takes a block of job memory (exec/job_memory.h), in
//           addition to its cost in the underlying executor. The underlying executor keeps an entry for the job until
//           the job's due time, even if the SerialExecutor has discarded the job.

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
  bool has_turn_ = false;  // True while turn_ is posted to the executor below or is running.
  List<Link> delayed_;     // Delayed jobs in the executor below.
  std::size_t delayed_count_ = 0;
  bool is_ending_ = false;
};

}  // namespace keel
