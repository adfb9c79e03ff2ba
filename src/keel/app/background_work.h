// keel/app/background_work.h — work beside the requests: work before the start, repeated work, and work that runs as
// long as the service.
//
//   app.at_start("warm", [&]() -> Task<> { co_await cache.load(); });               // before the service listens
//   app.every(30_s, "expire", [&]() -> Task<> { co_await orders.expire(); });
//   app.daily("03:30", "tidy", [&]() -> Task<> { co_await orders.tidy(); });          // each day, in UTC
//   app.background("consume", [&]() -> Task<> { while (true) co_await handle(co_await queue.receive()); });
//
// All of it runs on one worker, so pieces of work can share data without a lock. Move work that would block
// this worker to a pool (task/resume_on.h). An App has its own BackgroundWork; use this class to run it elsewhere, in a
// simulation or a test:
//
//   BackgroundWork work;
//   work.every(30_s, "expire", [&] { return orders.expire(); });
//   co_await work.start();                          // on a loop, which it stays on
//   …
//   co_await work.stop();                           // ends everything, and waits for it
//
// at_start    Once, in the order added, one after the other. The first error is that of start(); nothing else begins.
// every       The first run begins after first_after, the others in a fixed rhythm of `period` from there, each up to
//             `jitter` later at random. A run never overlaps itself: when one takes longer than its period, the beats
//             that it has missed are left out, not made up for, and counted (reason="overrun").
// daily       Runs each day at a time of day in UTC, "03:30" or "03:30:15", up to `jitter` later at random, but not at
//             the start. The time is that of the Host's calendar; a clock that is set is noticed within a minute. Runs
//             that are missed are not made up for: those while the service is not running, and those during a longer
//             run, which are counted (reason="overrun"). A clock that is set back by less than a day does not repeat a
//             run; one that is set forward past the time lets it begin then, once for all days in between. Local times
//             are not supported, because with summer time one day a year has such a time twice, and one not at all.
// background Begins when at_start is done. Work that returns is complete and not started again; work that fails
//             is, after a wait.
// Failures    An error, or an exception, ends that run alone: it is logged once at level error and counted. After n
//             failures in a row backoff_first * 2^(n-1) go by, at most backoff_max, or at random up to half of that
//             less. With every() the next run is the first beat after that (those left out: reason="backoff"), so
//             it never runs more often than its period says; with daily() it is that of the next day. To try again
//             sooner, retry within the run. A background task that has run for longer than backoff_max
//             starts its count again.
// Trace       Each run has a trace of its own: its log lines carry it, and calls of an http::Client pass it on.
// Metrics     background_runs_total, background_failures_total, background_skipped_total{reason},
//             background_run_seconds, background_running, background_last_success_timestamp_seconds, by `work`.
//
// Errors:    DeadlineExceeded: a run that took longer than time_limit was stopped; it is a failure. The result of
//            start().
// Ownership: the callables are kept until the BackgroundWork ends, so a lambda's captures outlive each task that it
//            makes, coroutine lambdas too. Objects that a callable refers to must outlive the BackgroundWork.
// Threads:   at_start(), every(), daily() and background() before start(), on any one thread; start() and stop() on the
//            loop; status() on any.
// Cancel:    stop() stops each run: the operation that it awaits ends with Cancelled, which does not count as a
//            failure. A run that awaits nothing, or that catches errors and continues, must check (co_await
//            this_task()).stop. A start() that is stopped leaves a run for stop() to wait for.
// Lifetime:  stop() must have completed before the destructor, if any work has begun (checked).
// Cost:      a task for each piece of work, a timer while it waits; a lock and a log line at debug for each run.

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
  Duration first_after = Duration();          // The time from start() to the first run; zero: it begins immediately.
  Duration jitter = Duration();               // A run begins up to this much later; at most a period.
  Duration time_limit = Duration::forever();  // Time limit of one run; then the run is stopped and counts as failed.
  Duration backoff_first = 1_s;               // The pause after a first failure.
  Duration backoff_max = 300_s;
};

// When a run of daily() begins within its day, and how long it may take.
struct DailyOptions {
  Duration jitter = Duration();               // A run begins up to this much later; at most 12 hours.
  Duration time_limit = Duration::forever();  // Time limit of one run; then the run is stopped and counts as failed.
};

// The pause after a run of background() that failed.
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
  Duration period = {};                   // The period of every(); a day for daily().
  Duration time_of_day = {};              // daily(): the time after midnight in UTC.
  std::uint64_t runs = 0;                 // Runs that have ended, with or without success.
  std::uint64_t failures = 0;             // Runs that failed.
  std::uint64_t skipped = 0;              // Beats that were skipped, for any reason.
  std::string last_error = {};            // The error of the last failure.
  Duration last_took = {};                // Duration of the last run that has ended.
  std::int64_t last_success_wall_ns = 0;  // The time of the last success; 0: none yet.
};
// The name of a kind or a state, as admin pages and the log show it.
std::string_view to_string(WorkStatus::Kind kind) noexcept;
std::string_view to_string(WorkStatus::State state) noexcept;

class BackgroundWork {
 public:
  using Work = Function<Task<>()>;

  // The registry outlives it; null: no metrics.
  explicit BackgroundWork(metrics::Registry* registry = nullptr);
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // A name that is used already, and a period that is not positive, are bugs. The name stands in metrics as a label,
  // and in log lines.
  void at_start(std::string name, Work work);
  void every(Duration period, std::string name, Work work, EveryOptions options = {});
  // `time_of_day` is "HH:MM" or "HH:MM:SS" in UTC; any other text is Misconfigured (base/bug.h), because it may come
  // from the configuration.
  void daily(std::string_view time_of_day, std::string name, Work work, DailyOptions options = {});
  void background(std::string name, Work work, BackgroundOptions options = {});

  // Runs the at_start work, and begins the rest. Call it once.
  Task<> start();
  // Asks everything to end; start() then begins nothing more. Idempotent.
  void request_stop() noexcept;
  // Asks everything to end, and completes when no work runs any more. It may be awaited again when the wait was
  // stopped.
  Task<> stop();

  bool empty() const noexcept { return pieces_.empty(); }
  std::vector<WorkStatus> status() const;
  // The names of the work that runs now: for a report when stop() takes too long.
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
  mutable std::mutex mutex_;  // Guards the status of each piece.
  std::vector<std::unique_ptr<Piece>> pieces_;
  int running_ = 0;
  Event idle_;  // This event is set while no work runs.
  bool has_started_ = false;
  bool is_stopping_ = false;
};

}  // namespace keel::app
