// keel/exec/thread_pool.h — a fixed number of threads for work that blocks or computes.
//
//   ThreadPool pool({.name = "database", .threads = 4, .queue_max = 256});
//   if (!pool.try_post(job)) …                  // the queue is full: say so to the caller
//
// Jobs start in the order they were posted and run on any of the threads; on these threads the pool is the current
// Executor. Tasks come here with co_await resume_on(pool), which fails with ResourceExhausted when the queue is full.
//
// Errors:   a full queue is the answer of try_post(); post() never refuses (it brings a task home) and is not bounded.
// Threads:  post(), try_post() and the getters on any; construction and stop() on one. Threads come from the
//           constructing thread's Host.
// Lifetime: outlives every task that is on it. A Job stays where it is until it runs.
// Cost:     one lock to post, one to take; no allocation per job.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "keel/base/host.h"
#include "keel/exec/executor.h"

namespace keel {

struct ThreadPoolOptions {
  std::string name = "pool";     // Of the threads ("name-0", …): the system shows 15 characters.
  int threads = 1;               // How many jobs run at once.
  std::size_t queue_max = 1024;  // Jobs that may wait before try_post refuses; a longer queue is a longer wait.
};

class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options);
  ~ThreadPool() override;  // stop()

  void post(Job& job) noexcept override;
  // False, and `job` will not run: `queue_max` jobs wait already, or the pool has been stopped.
  bool try_post(Job& job) noexcept;
  bool is_serial() const noexcept override { return false; }

  // Runs what waits, then ends and joins the threads. Idempotent. Posting afterwards is a bug.
  void stop() noexcept;

  const std::string& name() const noexcept { return options_.name; }
  int threads() const noexcept { return options_.threads; }
  std::size_t queue_max() const noexcept { return options_.queue_max; }
  std::size_t queued() const noexcept;      // Jobs that wait.
  int running() const noexcept;             // Jobs that run.
  std::uint64_t executed() const noexcept;  // Jobs that have returned, since the beginning.
  std::uint64_t refused() const noexcept;   // Jobs that try_post() has refused.

 private:
  void push(Job& job) noexcept;
  void work() noexcept;

  const ThreadPoolOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Job* first_ = nullptr;
  Job** last_ = &first_;
  std::size_t queued_ = 0;
  int running_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t refused_ = 0;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace keel
