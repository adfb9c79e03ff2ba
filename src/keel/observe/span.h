// keel/observe/span.h — the purpose of a piece of work: its trace, and the clock of its stages.
//
//   Span span{trace_id};                            // of a request, for as long as anything is done for it
//   const ScopedSpan scoped(span);                  // around code that runs for it: its log lines carry the trace
//
//   StageTimer timer(Stage::Database);              // in code that knows what stage of it this is
//
// A task inherits its span together with its deadline. A task runs under the span with which it was started
// (StartOptions::span), also after each suspension and on a thread pool; the same holds for everything that the task
// awaits.
//
// Few spans have a StageClock: measuring costs two clock reads for each stage, so a server measures one request
// in many. A StageTimer does nothing for a span without a StageClock.
//
// Lifetime: a span outlives the work that runs under it; work that outlives a request has its own span, or none.
// Threads:  ScopedSpan and StageTimer belong to the thread they are made on. Several threads may add to a StageClock.
// Cost:     a ScopedSpan takes a load and two stores; a StageTimer without a clock takes two loads. With KEEL_BARE=1,
//           nothing is timed.

#pragma once

#include <cstdint>
#include <utility>

#include "keel/base/time.h"

namespace keel {

namespace log {

// The id that all log lines of a request have in common. Zero: none.
struct TraceId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  explicit operator bool() const noexcept { return (high | low) != 0; }
  bool operator==(const TraceId&) const = default;
};

}  // namespace log

// The number of a stage; a stage is a part of the time that is spent for a span. The module that measures spans gives
// the stages their numbers and names (http/server/stage.h). The stages declared here are those to which other modules,
// such as the database, add time.
enum class Stage : std::uint8_t {
  DatabaseWait = 5,  // The time in the queue of the database's writer, or of the pool for reads.
  Database = 6,      // The time of statements, and of the commit of a write's group.
};
// The largest number of stages that a clock measures.
inline constexpr int stages_max = 10;

// The time of one span in each stage.
class StageClock {
 public:
  void add(Stage stage, Duration time) noexcept {
    __atomic_fetch_add(&ns_[static_cast<int>(stage)], time.count_ns(), __ATOMIC_RELAXED);
  }
  Duration of(Stage stage) const noexcept {
    return Duration::nanoseconds(__atomic_load_n(&ns_[static_cast<int>(stage)], __ATOMIC_RELAXED));
  }

 private:
  // Accessed with the compiler's atomic builtins, because including <atomic> would cost more compile time than the rest
  // of this header.
  std::int64_t ns_[stages_max] = {};
};

struct Span {
  log::TraceId trace;
  StageClock* stages = nullptr;  // Null: this request is not measured.
};

namespace internal {
constinit inline thread_local const Span* current_span = nullptr;
// The clock of the current Host; declared here because the header of Host costs more to compile than all of this
// header.
Instant precise_now() noexcept;
}  // namespace internal

// The span that the calling thread works for; null: none was set.
inline const Span* current_span() noexcept { return internal::current_span; }

// While a ScopedSpan lives, its span is the current span of this thread.
class ScopedSpan {
 public:
  explicit ScopedSpan(const Span& span) noexcept : ScopedSpan(&span) {}
  explicit ScopedSpan(const Span* span) noexcept : before_(std::exchange(internal::current_span, span)) {}
  ~ScopedSpan() { internal::current_span = before_; }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  const Span* before_;
};

// Measures the time until the StageTimer is destroyed, and adds this time to a stage of the current span. Use one
// StageTimer at a time: time within two nested timers would count twice. Do not use a StageTimer around a suspension
// during which other tasks run for the same span.
class StageTimer {
 public:
#ifdef KEEL_BARE
  explicit StageTimer(Stage) noexcept {}
  StageTimer(Stage, StageClock*) noexcept {}
#else
  explicit StageTimer(Stage stage) noexcept
      : StageTimer(stage, internal::current_span != nullptr ? internal::current_span->stages : nullptr) {}
  // Adds the time to a stage of `clock`, which may be null.
  StageTimer(Stage stage, StageClock* clock) noexcept : clock_(clock), stage_(stage) {
    if (clock_ != nullptr) [[unlikely]]
      began_ = internal::precise_now();
  }
  ~StageTimer() {
    if (clock_ != nullptr) [[unlikely]]
      clock_->add(stage_, internal::precise_now() - began_);
  }
#endif
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

#ifndef KEEL_BARE
 private:
  StageClock* clock_;
  Instant began_;
  Stage stage_;
#endif
};

}  // namespace keel
