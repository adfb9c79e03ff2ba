#include "keel/app/background_work.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/printable.h"
#include "keel/data/date.h"
#include "keel/data/timestamp.h"
#include "keel/observe/span.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::app {
namespace {

using Kind = WorkStatus::Kind;
using State = WorkStatus::State;

Instant now() noexcept { return Host::current().precise_now(); }

// A random duration from zero to `most`.
Duration random_part(Duration most) noexcept {
  const auto range = static_cast<std::uint64_t>(most.count_ns()) + 1;
  return Duration::nanoseconds(static_cast<std::int64_t>(Host::current().random() % range));
}

Duration pause_after(int failures, Duration first, Duration most) noexcept {
  Duration bound = std::min(first, most);
  for (int i = 1; i < failures && bound < most; ++i) bound = std::min(bound * 2, most);
  return bound - random_part(bound / 2);
}

// The number of scheduled runs before `at`; the first scheduled run is at `beat`.
std::uint64_t beats_before(Instant at, Instant beat, Duration period) noexcept {
  if (at <= beat) return 0;
  return static_cast<std::uint64_t>(((at - beat).count_ns() - 1) / period.count_ns() + 1);
}

// Parses "03:30" or "03:30:15" as a time after midnight.
std::optional<Duration> time_of_day(std::string_view text) noexcept {
  if (text.size() != 5 && text.size() != 8) return std::nullopt;
  int parts[3] = {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 2 ? text[i] != ':' : !ascii::is_digit(text[i])) return std::nullopt;
    if (i % 3 != 2) parts[i / 3] = parts[i / 3] * 10 + (text[i] - '0');
  }
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return std::nullopt;
  return parts[0] * 1_h + parts[1] * 1_min + parts[2] * 1_s;
}

// The first instant, not before `from`, that has this time of day in UTC.
Timestamp next_at(Timestamp from, Duration time_of_day) noexcept {
  const Timestamp today = Date::of(from).midnight() + time_of_day;
  return today >= from ? today : today + 1_d;
}

Timestamp wall_now() noexcept { return Timestamp::from_unix_ns(Host::current().wall_ns()); }

// If a callable that is not a coroutine throws an exception instead of returning a task, the exception becomes the
// error of this task.
Task<> call(const BackgroundWork::Work& work) { co_await work(); }

struct WorkMetrics {
  WorkMetrics(metrics::Registry& registry, std::string_view name)
      : runs(registry.counter("background_runs_total", "Runs of background work that have ended", {{"work", name}})),
        failures(
            registry.counter("background_failures_total", "Runs of background work that failed", {{"work", name}})),
        overrun(skipped(registry, name, "overrun")),
        backoff(skipped(registry, name, "backoff")),
        took(registry.histogram("background_run_seconds", "Duration of a run of background work",
                                {1_ms, 5_ms, 25_ms, 100_ms, 500_ms, 2_s, 10_s, 60_s, 300_s, 1800_s, 7200_s},
                                {{"work", name}})),
        running(registry.gauge("background_running", "Whether the background work is running", {{"work", name}})),
        last_success(registry.gauge("background_last_success_timestamp_seconds",
                                    "End time of the last successful run of background work", {{"work", name}})) {}
  static metrics::Counter skipped(metrics::Registry& registry, std::string_view name, std::string_view reason) {
    return registry.counter(
        "background_skipped_total",
        "Scheduled runs of repeated work that were skipped because an earlier run took too long or failed",
        {{"work", name}, {"reason", reason}});
  }

  metrics::Counter runs;
  metrics::Counter failures;
  metrics::Counter overrun;
  metrics::Counter backoff;
  metrics::Histogram took;
  metrics::Gauge running;
  metrics::Gauge last_success;
};

}  // namespace

std::string_view to_string(WorkStatus::Kind kind) noexcept {
  switch (kind) {
    case Kind::AtStart:
      return "at start";
    case Kind::Every:
      return "every";
    case Kind::Daily:
      return "daily";
    default:
      return "background";
  }
}

std::string_view to_string(WorkStatus::State state) noexcept {
  switch (state) {
    case State::NotBegun:
      return "not begun";
    case State::Waits:
      return "waits";
    case State::Runs:
      return "runs";
    case State::BacksOff:
      return "backs off";
    default:
      return "ended";
  }
}

struct BackgroundWork::Piece : Start<void> {
  Piece(BackgroundWork& of, Work&& w) : owner(of), work(std::move(w)) {}
  static void ended(StartCore& start) noexcept {
    auto& piece = static_cast<Piece&>(start);
    // run() stores the errors of the work instead of returning them, so only a cancelled wait can have caused an error
    // here.
    (void)piece.take();
    piece.owner.note_over(piece);
  }

  BackgroundWork& owner;
  const Work work;
  EveryOptions options;
  std::optional<WorkMetrics> metrics;
  Span span;  // The trace of the current run.
  Result<> result;
  int failures = 0;  // Consecutive failures.
  Duration pause;
  Event over;         // Set once the work has begun and then ended.
  WorkStatus status;  // Guarded by mutex_.
};

BackgroundWork::BackgroundWork(metrics::Registry* registry) : registry_(registry), log_("app.background") {
  idle_.set();
}

BackgroundWork::~BackgroundWork() {
  KEEL_CHECK(running_ == 0, "background work must end before its owner is destroyed: await stop()");
}

// --- Registration.

BackgroundWork::Piece& BackgroundWork::add(WorkStatus::Kind kind, std::string name, Work work) {
  KEEL_CHECK(!has_started_, "background work must be added before App::run() starts it");
  KEEL_CHECK(!name.empty(), "background work needs a name, for logs and metrics");
  for (const auto& piece : pieces_) {
    if (piece->status.name != name) continue;
    const std::string text = "two pieces of background work have the name \"" + name + '"';
    check_failed("background work", 0, "the name of background work must be unique", text.c_str());
  }
  Piece& piece = *pieces_.emplace_back(std::make_unique<Piece>(*this, std::move(work)));
  if (registry_ != nullptr) piece.metrics.emplace(*registry_, name);
  piece.status.name = std::move(name);
  piece.status.kind = kind;
  return piece;
}

void BackgroundWork::at_start(std::string name, Work work) { add(Kind::AtStart, std::move(name), std::move(work)); }

void BackgroundWork::every(Duration period, std::string name, Work work, EveryOptions options) {
  KEEL_CHECK(period > Duration(), "repeated background work needs a period above zero");
  KEEL_CHECK(options.jitter >= Duration() && options.jitter <= period,
             "the jitter of repeated work must be from zero to its period");
  Piece& piece = add(Kind::Every, std::move(name), std::move(work));
  piece.options = options;
  piece.status.period = period;
}

void BackgroundWork::daily(std::string_view time, std::string name, Work work, DailyOptions options) {
  const std::optional<Duration> after_midnight = time_of_day(time);
  if (!after_midnight) {
    throw Misconfigured("the daily work \"" + name + "\" has an invalid time of day, \"" + printable(time) +
                        "\": expected hours and minutes in UTC such as 03:30");
  }
  KEEL_CHECK(options.jitter >= Duration() && options.jitter <= 12_h,
             "the jitter of daily work must be from zero to 12 hours");
  Piece& piece = add(Kind::Daily, std::move(name), std::move(work));
  piece.options.jitter = options.jitter;
  piece.options.time_limit = options.time_limit;
  piece.status.period = 1_d;
  piece.status.time_of_day = *after_midnight;
}

void BackgroundWork::background(std::string name, Work work, BackgroundOptions options) {
  Piece& piece = add(Kind::Background, std::move(name), std::move(work));
  piece.options.backoff_first = options.backoff_first;
  piece.options.backoff_max = options.backoff_max;
}

// --- From start() to stop().

Task<> BackgroundWork::start() {
  KEEL_CHECK(!has_started_, "background work can be started only once");
  has_started_ = true;
  for (const auto& piece : pieces_) {
    if (piece->status.kind != Kind::AtStart) continue;
    if (is_stopping_) co_await fail(Code::Cancelled, "background work was stopped while it started");
    begin(*piece);
    co_await piece->over.wait();
    if (piece->result) continue;
    Error error = std::move(piece->result).error().because("at_start \"" + piece->status.name + '"');
    co_await Result<>(std::move(error));
  }
  if (is_stopping_) co_await fail(Code::Cancelled, "background work was stopped while it started");
  for (const auto& piece : pieces_) {
    if (piece->status.kind != Kind::AtStart) begin(*piece);
  }
}

void BackgroundWork::begin(Piece& piece) {
  ++running_;
  idle_.reset();
  const auto task = [&] {
    if (piece.status.kind == Kind::Every) return repeat(piece);
    if (piece.status.kind == Kind::Daily) return repeat_daily(piece);
    return piece.status.kind == Kind::Background ? keep_up(piece) : run(piece, Duration::forever());
  };
  if (piece.Start<void>::begin(task(), &Piece::ended, {.span = &piece.span})) Piece::ended(piece);
}

void BackgroundWork::request_stop() noexcept {
  is_stopping_ = true;
  for (const auto& piece : pieces_) piece->stop();
}

Task<> BackgroundWork::stop() {
  request_stop();
  co_await idle_.wait();
}

// --- One piece of work.

Task<> BackgroundWork::repeat(Piece& piece) {
  const EveryOptions& options = piece.options;
  const Duration period = piece.status.period;
  Instant beat = now() + options.first_after;
  while (!is_stopping_) {
    const Instant at = beat + random_part(options.jitter);
    co_await sleep_for(at - now());
    co_await run(piece, options.time_limit);
    const Instant ended = now();
    beat = beat + period;
    const std::uint64_t overrun = beats_before(ended, beat, period);
    beat = beat + period * static_cast<std::int64_t>(overrun);
    const std::uint64_t backoff = beats_before(ended + piece.pause, beat, period);
    beat = beat + period * static_cast<std::int64_t>(backoff);
    note_skipped(piece, overrun, backoff);
  }
}

Task<> BackgroundWork::repeat_daily(Piece& piece) {
  const Duration at = piece.status.time_of_day;
  constexpr Duration look_every = 60_s;  // A change of the system clock is noticed within this time.
  Timestamp beat = next_at(wall_now(), at);
  while (!is_stopping_) {
    const Duration later = random_part(piece.options.jitter);
    for (Timestamp clock = wall_now(); clock < beat + later; clock = wall_now()) {
      if (beat - clock > 2_d) beat = next_at(clock, at);  // The clock was set back by more than a day.
      co_await sleep_for(std::min(beat + later - clock, look_every));
    }
    // If the clock was set forward by several days, this run counts as the run of the last of these days; the days
    // before it do not count as missed runs.
    beat = std::max(beat, next_at(wall_now(), at) - 1_d);
    co_await run(piece, piece.options.time_limit);
    const Timestamp next = std::max(next_at(wall_now(), at), beat + 1_d);
    note_skipped(piece, static_cast<std::uint64_t>((next - beat) / 1_d - 1), 0);
    beat = next;
  }
}

Task<> BackgroundWork::keep_up(Piece& piece) {
  while (!is_stopping_) {
    co_await run(piece, Duration::forever());
    if (piece.result) {
      log_.info("background work is done", log::field("work", piece.status.name));
      co_return;
    }
    co_await sleep_for(piece.pause);
  }
}

// Stores an error in the piece of work instead of returning the error to the caller.
Task<> BackgroundWork::run(Piece& piece, Duration time_limit) {
  const Instant began = now();
  note_begin(piece);
  if (time_limit == Duration::forever()) {
    piece.result = co_await attempt(call(piece.work));
  } else {
    piece.result = co_await attempt(with_timeout(time_limit, call(piece.work)));
  }
  note_end(piece, now() - began);
}

void BackgroundWork::note_begin(Piece& piece) {
  piece.span.trace = {Host::current().random(), Host::current().random() | 1};
  if (piece.metrics) piece.metrics->running.set(1);
  const std::lock_guard lock(mutex_);
  piece.status.state = State::Runs;
}

void BackgroundWork::note_end(Piece& piece, Duration took) {
  const EveryOptions& options = piece.options;
  const bool is_stopped = is_stopping_ && !piece.result && piece.result.error().code() == Code::Cancelled;
  const bool has_failed = !piece.result && !is_stopped;
  const bool was_well = piece.status.kind == Kind::Background && took > options.backoff_max;
  piece.failures = has_failed ? (was_well ? 1 : piece.failures + 1) : 0;
  // Daily work that failed does not back off: its next run is on the next day.
  const bool backs_off = has_failed && piece.status.kind != Kind::Daily;
  piece.pause = backs_off ? pause_after(piece.failures, options.backoff_first, options.backoff_max) : Duration();
  if (piece.metrics) {
    piece.metrics->running.set(0);
    piece.metrics->runs.add();
    piece.metrics->took.observe(took);
    if (has_failed) piece.metrics->failures.add();
    if (piece.result) piece.metrics->last_success.set(static_cast<double>(Host::current().wall_ns() / 1'000'000) / 1e3);
  }
  {
    const std::lock_guard lock(mutex_);
    WorkStatus& status = piece.status;
    status.state = backs_off ? State::BacksOff : State::Waits;
    status.last_took = took;
    ++status.runs;
    if (piece.result) status.last_success_wall_ns = Host::current().wall_ns();
    if (has_failed) {
      ++status.failures;
      status.last_error = piece.result.error().describe();
    }
  }
  if (!has_failed) {
    log_.debug("background work has run", log::field("work", piece.status.name), log::field("took", took),
               log::field("stopped", is_stopped));
  } else if (piece.status.kind == Kind::Daily) {
    log_.error("background work failed", log::field("work", piece.status.name), log::field("took", took),
               log::field("failures", piece.failures), piece.result.error());
    // The error of at_start work is not logged here, because start() returns the error.
  } else if (piece.status.kind != Kind::AtStart) {
    log_.error("background work failed", log::field("work", piece.status.name), log::field("took", took),
               log::field("failures", piece.failures), log::field("pause", piece.pause), piece.result.error());
  }
}

void BackgroundWork::note_skipped(Piece& piece, std::uint64_t overrun, std::uint64_t backoff) {
  if (overrun + backoff == 0 || is_stopping_) return;
  if (piece.metrics) {
    piece.metrics->overrun.add(overrun);
    piece.metrics->backoff.add(backoff);
  }
  const std::lock_guard lock(mutex_);
  piece.status.skipped += overrun + backoff;
}

void BackgroundWork::note_over(Piece& piece) {
  {
    const std::lock_guard lock(mutex_);
    piece.status.state = State::Ended;
  }
  piece.over.set();
  if (--running_ == 0) idle_.set();
}

// --- Status.

std::vector<WorkStatus> BackgroundWork::status() const {
  std::vector<WorkStatus> all;
  const std::lock_guard lock(mutex_);
  for (const auto& piece : pieces_) all.push_back(piece->status);
  return all;
}

std::string BackgroundWork::running() const {
  std::string names;
  const std::lock_guard lock(mutex_);
  for (const auto& piece : pieces_) {
    if (piece->status.state == State::Runs) names += (names.empty() ? "" : ", ") + piece->status.name;
  }
  return names;
}

}  // namespace keel::app
