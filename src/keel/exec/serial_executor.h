// keel/exec/serial_executor.h — one job at a time, in the order of posting, over any executor: a strand.
//
//   SerialExecutor account(pool);                            // a pool of many threads below
//   execute(account, [this] { balance_ += 5; });             // no lock: nothing else of this account runs meanwhile
//   co_await resume_on(account);                             // the same for a task
//
// While one of its jobs runs, it is the current executor. Many may share one executor; each takes at most 64 turns and
// then goes to the end of the queue below.
//
// Errors:   offer(), and with it execute() and submit(), refuses when `queue_max` jobs wait; post() never refuses.
// Threads:  post(), offer() and queued() on any; jobs run on the threads of the executor below.
// Lifetime: the executor below outlives it. Its end waits until everything that was posted has run, so it does not end
//           inside one of its own jobs (checked).
// Cost:     a short lock to post and one to run; one job below for each burst; no allocation.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "keel/exec/executor.h"

namespace keel {

struct SerialExecutorOptions {
  std::size_t queue_max = 1024;  // Jobs that may wait before offer() refuses; a longer queue is a longer wait.
};

class SerialExecutor final : public Executor {
 public:
  explicit SerialExecutor(Executor& below, const SerialExecutorOptions& options = {}) noexcept;
  ~SerialExecutor() override;

  void post(Job& job) noexcept override;
  void post_all(Job& first, Job& last) noexcept override;
  bool offer(Job& job) noexcept override;
  bool offer_all(Job& first, Job& last, std::size_t count) noexcept override;

  std::size_t queued() const noexcept;  // Jobs that wait.

 private:
  struct Turn : Job {
    explicit Turn(SerialExecutor& s) noexcept : Job(&run_it), serial(s) {}
    static void run_it(Job& job) noexcept { static_cast<Turn&>(job).serial.take_turn(); }
    SerialExecutor& serial;
  };
  bool push(Job& first, Job& last, std::size_t queue_max) noexcept;
  void take_turn() noexcept;

  Executor& below_;
  const SerialExecutorOptions options_;
  Turn turn_{*this};
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  Job* first_ = nullptr;
  Job** last_ = &first_;
  std::size_t queued_ = 0;
  bool has_turn_ = false;  // The turn is posted below, or runs.
};

}  // namespace keel
