// keel/app/background_work.h — work that is independent of requests: it runs once before the service listens,
// repeatedly, or for as long as the service runs.
//
//   app.at_start("warm", [&]() -> Task<> { co_await cache.load(); });               // before the service listens
//   app.every(30_s, "expire", [&]() -> Task<> { co_await orders.expire(); });
//   app.daily("03:30", "tidy", [&]() -> Task<> { co_await orders.tidy(); });          // each day, in UTC
//   app.background("consume", [&]() -> Task<> { while (true) co_await handle(co_await queue.receive()); });
//
// All background work runs on one worker, so pieces of work can share data without a lock. If work would block this
// worker, move the work to a pool (task/resume_on.h). An App has its own BackgroundWork; use this class directly in a
// program without an App, in a simulation, or in a test:
//
//   BackgroundWork work;
//   work.every(30_s, "expire", [&] { return orders.expire(); });
//   co_await work.start();                          // on a loop, which it stays on
//   …
//   co_await work.stop();                           // ends everything, and waits for it
//
// at_start    Each piece runs once; the pieces run one after the other, in the order in which they were added. The
//             first error is the result of start(), and nothing else begins.
// every       The first run begins after first_after, and the others follow at multiples of `period` after the first
//             one (the beats), each a random time of up to `jitter` later. Runs never overlap: when one takes longer
//             than its period, the beats that it missed are skipped, not made up for, and counted (reason="overrun").
// daily       Runs each day at a time of day in UTC, "03:30" or "03:30:15", delayed by a random time of up to `jitter`,
//             but not at the start. The time is that of the Host's calendar; a change of the clock is noticed within a
//             minute. Missed runs are not made up for, whether the service was not running or the previous run took too
//             long; the latter are counted (reason="overrun"). Setting the clock back by less than a day does not
//             repeat a run; setting it forward past the time of day makes the run begin then, once for all days in
//             between. Local times are not supported, because daylight saving time makes a time of day occur twice on
//             one day of the year and not at all on another.
// background Begins when the at_start work has completed. Work that returns is complete and is not started again.
//             Work that fails is started again after a pause.
// Failures    An error or an exception ends only that run: it is logged once at level error and counted. After n
//             failures in a row the pause is backoff_first * 2^(n-1), at most backoff_max, shortened at random by up to
//             half. With every() the next run begins at the first beat after the pause (skipped beats have
//             reason="backoff"), so it never runs more often than its period says; with daily() the next run is that of
//             the next day. To try again sooner, retry within the run. A background task that has run for longer than
//             backoff_max starts its count again.
// Trace       Each run has its own trace: the log lines of the run carry the trace, and calls of an http::Client pass
//             it on.
// Metrics     background_runs_total, background_failures_total, background_skipped_total{reason},
//             background_run_seconds, background_running, background_last_success_timestamp_seconds, by `work`.
//
// Errors:    DeadlineExceeded if a run takes longer than time_limit; such a run is stopped and counts as failed.
//            start() returns the first error of the at_start work.
// Ownership: the callables are kept until the BackgroundWork ends, so the captures of a lambda, including a lambda that
//            is a coroutine, outlive each task that the lambda makes. Objects that a callable refers to must outlive
//            the BackgroundWork.
// Threads:   call at_start(), every(), daily() and background() before start(), all on the same thread (any thread);
//            start() and stop() on the loop; status() on any thread.
// Cancel:    stop() stops each run. The operation that the run awaits ends with Cancelled; this does not count as a
//            failure. A run that awaits nothing, or that catches errors and continues, must check (co_await
//            this_task()).stop. When the task of start() is cancelled, a run may still be active; stop() waits for the
//            end of the run.
// Lifetime:  once any work has begun, stop() must complete before the destructor is called (checked).
// Cost:      each piece of work has a task and, between runs, a timer; each run takes a lock and writes a log line at
//            level debug.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/observe/log.h"
#include "keel/observe/metric.h"
#include "keel/task/event.h"
#include "keel/task/task.h"

namespace keel::app {

// When the runs of every() begin, how long each may take, and the pause after a failure.
struct EveryOptions {
  // The time from start() to the first run; zero: the first run begins immediately.
  Duration first_after = Duration();
  // Each run is delayed at random by up to this time, which is at most one period.
  Duration jitter = Duration();
  // The time limit of a run; a run that exceeds it is stopped and counts as failed.
  Duration time_limit = Duration::forever();
  Duration backoff_first = 1_s;  // The pause after the first failure.
  Duration backoff_max = 300_s;
};

// When a run of daily() begins within its day, and how long the run may take.
struct DailyOptions {
  // Each run is delayed at random by up to this time, which is at most 12 hours.
  Duration jitter = Duration();
  // The time limit of a run; a run that exceeds it is stopped and counts as failed.
  Duration time_limit = Duration::forever();
};

// How long the next run of background() waits after a run that failed.
struct BackgroundOptions {
  Duration backoff_first = 1_s;
  Duration backoff_max = 60_s;
};

// The current state of a piece of work.
struct WorkStatus {
  enum class Kind : std::uint8_t { AtStart, Every, Daily, Background };
  enum class State : std::uint8_t { NotBegun, Waits, Runs, BacksOff, Ended };
  std::string name;
  Kind kind = Kind::Every;
  State state = State::NotBegun;
  Duration period = {};                   // every(): the period; daily(): one day.
  Duration time_of_day = {};              // daily(): the time after midnight in UTC.
  std::uint64_t runs = 0;                 // Runs that ended, whether they succeeded or failed.
  std::uint64_t failures = 0;             // Runs that failed.
  std::uint64_t skipped = 0;              // Scheduled runs that were skipped, for any reason.
  std::string last_error = {};            // The error of the last failure.
  Duration last_took = {};                // Duration of the last run that ended.
  std::int64_t last_success_wall_ns = 0;  // The time of the last success; 0: no run has succeeded yet.
};
// The name of a kind or a state, as admin pages and the log show it.
std::string_view to_string(WorkStatus::Kind kind) noexcept;
std::string_view to_string(WorkStatus::State state) noexcept;

class BackgroundWork {
 public:
  using Work = Function<Task<>()>;

  // `registry` must outlive the BackgroundWork; null: no metrics.
  explicit BackgroundWork(metrics::Registry* registry = nullptr);
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // A name that is already in use, or a period that is not positive, is a bug. `name` appears as a label of metrics and
  // in log lines.
  void at_start(std::string name, Work work);
  void every(Duration period, std::string name, Work work, EveryOptions options = {});
  // `time_of_day` is "HH:MM" or "HH:MM:SS" in UTC; any other text throws Misconfigured (base/bug.h) and not a Bug,
  // because the text may come from the configuration.
  void daily(std::string_view time_of_day, std::string name, Work work, DailyOptions options = {});
  void background(std::string name, Work work, BackgroundOptions options = {});

  // Runs the at_start work, and then begins all other work. Call it once.
  Task<> start();
  // Asks all work to end; after that, start() begins no more work. Idempotent.
  void request_stop() noexcept;
  // Asks all work to end, and completes when no work is running. If the wait is cancelled, stop() may be awaited again.
  Task<> stop();

  bool empty() const noexcept { return pieces_.empty(); }
  std::vector<WorkStatus> status() const;
  // The names of the work that is running now, for a report when stop() takes too long.
  std::string running() const;

 private:
  struct Piece;
  Piece& add(WorkStatus::Kind kind, std::string name, Work work);
  void begin(Piece& piece);
  Task<> repeat(Piece& piece);
  Task<> repeat_daily(Piece& piece);
  Task<> keep_up(Piece& piece);
  Task<> run_first(Piece& piece);
  Task<> run(Piece& piece, Duration time_limit);
  void note_begin(Piece& piece);
  void note_end(Piece& piece, Duration took);
  void note_skipped(Piece& piece, std::uint64_t overrun, std::uint64_t backoff);
  void note_over(Piece& piece);

  metrics::Registry* const registry_;
  const log::Logger log_;
  mutable std::mutex mutex_;  // Guards the status of each piece of work.
  std::vector<std::unique_ptr<Piece>> pieces_;
  int running_ = 0;
  Event idle_;  // Set while no work runs.
  bool has_started_ = false;
  bool is_stopping_ = false;
};

}  // namespace keel::app
