// keel/task/retry.h — repeats a task that failed with a transient error.
//
//   Retry payments({.attempts_max = 4});                     // one for each dependency and worker
//   const Receipt receipt = co_await payments.run([&] { return charge(order); });
//   co_await payments.run([&] { return with_timeout(300_ms, charge(order)); });     // a limit for each attempt
//
// run() calls the function for each attempt and awaits the task or operation that it returns. The operation must be
// idempotent: send a key by which the other side recognizes the second attempt.
//
// Three rules keep retries from making an outage worse: a call is retried only after an error for which options.when
// returns true, only while the budget lasts, and only after a random wait. The budget grows with the number of calls.
// The wait is uniform between zero and a bound that doubles ("full jitter"), so that callers do not all return at the
// same time.
//
// Result:   the result of the last attempt; its error is unchanged.
// Deadline: that of the awaiting task. If the wait would end after the deadline, there is no further attempt and no
//           wait.
// Lifetime: outlives its runs. A temporary closure is copied, and may capture only references and plain values; store
//           any other closure in a variable that outlives the run.
// Threads:  one loop.
// Cancel:   the attempt or the wait is stopped; there is no further attempt.
// Cost:     a frame from the task pool; no heap.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/base/time.h"
#include "keel/task/internal/closure.h"
#include "keel/task/task.h"
#include "keel/task/timing.h"

namespace keel::metrics {
class Registry;
}

namespace keel {

// Unavailable and DeadlineExceeded: the next attempt may succeed. ResourceExhausted is not transient: when a limit is
// reached, more calls do not help.
bool is_transient(const Error& error) noexcept;

// How often, and with which pauses, a call is tried again.
struct RetryOptions {
  int attempts_max = 3;  // Attempts of one call, the first included; 1: no retries.
  // The bound of the wait before the second attempt; the bound doubles with each further attempt.
  Duration backoff_first = 50_ms;
  Duration backoff_max = 2_s;  // The largest bound of a wait.
  double budget_ratio = 0.1;   // The average number of retries per call that the budget allows in the long run.
  // The number of retries that can be saved up in a quiet time and spent in a row later.
  std::uint32_t budget_max = 10;
  bool (*when)(const Error&) = &is_transient;  // The errors that are retried.
};

// The wait before attempt `attempt` (2, 3, …); `random` has 64 random bits.
Duration backoff(const RetryOptions& options, int attempt, std::uint64_t random) noexcept;

// Limits the total retries of many calls.
class RetryBudget {
 public:
  explicit RetryBudget(const RetryOptions& options) noexcept;

  // Records a call that is not a retry.
  void earn() noexcept;
  // Spends one retry if the budget allows it; returns whether it did.
  bool spend() noexcept;

 private:
  // One retry. The budget counts thousandths, so that sums of earned fractions are exact.
  static constexpr std::uint64_t one = 1000;
  std::uint64_t earned_by_call_;
  std::uint64_t max_;
  std::uint64_t saved_;
};

class Retry {
 public:
  // The attempts of one call, for code that awaits the attempts itself, as http::Client does:
  //   Retry::Attempts attempts(retry, (co_await this_task()).deadline);
  //   … the first attempt fails …
  //   const std::optional<Duration> wait = attempts.next_wait();
  //   if (!wait || !attempts.spend()) …                   // its error stands
  //   co_await sleep_for(*wait);
  class Attempts {
   public:
    Attempts(Retry& retry, Instant deadline) noexcept : retry_(retry), deadline_(deadline) { retry.budget_.earn(); }
    // The wait before the next attempt, at least `least`; nullopt after attempts_max attempts, or when the wait would
    // end after the deadline.
    std::optional<Duration> next_wait(Duration least = {}) noexcept;
    // Spends the next attempt if the budget allows it; returns whether it did.
    bool spend() noexcept;

   private:
    Retry& retry_;
    const Instant deadline_;
    int number_ = 1;  // The number of the current attempt, counted from 1.
  };
  struct Stats {
    std::uint64_t retries = 0;  // Attempts of a call after its first attempt.
    std::uint64_t refused = 0;  // Calls whose error was returned because the budget was spent.
  };

  explicit Retry(const RetryOptions& options = {}) noexcept;
  ~Retry();
  Retry(const Retry&) = delete;
  Retry& operator=(const Retry&) = delete;

  template <class F>
  Task<internal::AwaitedBy<F>> run(F&& call) {
    internal::check_closure<F>();
    return run_kept<F>(std::forward<F>(call));
  }

  const RetryOptions& options() const noexcept { return options_; }
  const Stats& stats() const noexcept { return stats_; }
  // Adds the metrics retries_total and retries_refused_total, which count from now on, with the label `name`. The
  // registry outlives the Retry.
  void expose(metrics::Registry& registry, std::string_view name);

 private:
  struct Exposed;
  template <class F>
  Task<internal::AwaitedBy<F>> run_kept(F call) {
    const TaskInfo task = co_await this_task();
    Attempts attempts(*this, task.deadline);
    while (true) {
      Result<internal::AwaitedBy<F>> result = co_await attempt(call());
      if (result || !options_.when(result.error())) co_return co_await std::move(result);
      const std::optional<Duration> wait = attempts.next_wait();
      if (!wait || !attempts.spend()) co_return co_await std::move(result);
      co_await sleep_for(*wait);
    }
  }

  const RetryOptions options_;
  RetryBudget budget_;
  Stats stats_;
  std::unique_ptr<Exposed> exposed_;
};

}  // namespace keel
