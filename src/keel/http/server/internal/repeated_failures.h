// keel/http/server/internal/repeated_failures.h — logs requests that fail for the same reason: the first failure in
// full, then the number of failures each minute, and a line when the failures have stopped.
//
// Internal to http. If each failure were logged, an outage of a database would cause a line for each request, and thus
// thousands of lines per second.
//
// Two failures have the same reason if their message, error code, errno, route, statement and place are the same. Among
// failures with the same reason, each of the first texts_max different error texts is logged in full as well; texts
// that differ only in their numbers are treated as the same text. Failures below level warn, which clients can cause,
// are not counted but logged one by one.
//
// Threads: the worker. If a middleware has moved its task to another thread, each failure on that thread is logged,
//          even one that repeats an earlier failure.
// Lifetime: the loop and the logger outlive this object; stop() must be called before this object is destroyed.
// Cost:    nothing until a request fails. A failure that is only counted allocates nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/error.h"
#include "keel/base/member.h"
#include "keel/base/wheel.h"
#include "keel/io/loop.h"
#include "keel/observe/failure.h"
#include "keel/observe/log.h"
#include "keel/observe/repeated_state.h"
#include "keel/observe/span.h"

namespace keel::http {

class RepeatedFailures {
 public:
  static constexpr std::size_t texts_max = 8;
  // The number of different kinds of failures that are counted at the same time. All further kinds of failures are
  // counted as one kind.
  static constexpr std::size_t kinds_max = 256;

  RepeatedFailures(io::Loop& loop, const log::Logger& log) noexcept : loop_(loop), log_(log) {}
  RepeatedFailures(const RepeatedFailures&) = delete;

  // Logs `error` with `fields`, or only counts it if it repeats an earlier failure. `message` must be a string literal.
  template <class... F>
  void log(log::Message message, const Error& error, std::string_view route, const F&... fields) {
    log(message, error, log::Failure::level_of(error), route, fields...);
  }
  template <class... F>
  void log(log::Message message, const Error& error, Level level, std::string_view route, const F&... fields) {
    if (!log_.is_on(level) || (level >= Level::Warn && !is_news(message, error, level, route))) return;
    log::Failure(error, level).log(log_, message, fields..., log::field("route", route));
  }

  // Logs the counts that have not been logged yet. Failures after this call are still counted, but the new counts are
  // logged only by another call of stop().
  void stop() noexcept;

 private:
  // A kind of failure: all failures that have the same reason.
  struct Kind {
    std::uint64_t hash;
    Level level;
    std::string_view message;
    std::string route;
    Error error;  // The last error that was logged.
    log::TraceId trace = {};
    log::RepeatedState state = {};
    std::uint64_t texts[texts_max] = {};  // Hashes of the texts that were logged.
    std::size_t text_count = 0;
    std::uint64_t suppressed = 0;
    std::uint64_t said = 0;  // The value of `suppressed` in the last log line.
  };
  // False: counted.
  bool is_news(log::Message message, const Error& error, Level level, std::string_view route) noexcept;
  Kind& kind_of(std::uint64_t hash, log::Message message, const Error& error, Level level, std::string_view route);
  void look();
  void say_continues(Kind& kind) noexcept;
  void say_over(const Kind& kind) noexcept;

  io::Loop& loop_;
  const log::Logger& log_;
  std::vector<Kind> kinds_;
  Member<Timer, RepeatedFailures, &RepeatedFailures::look> timer_{*this};
  bool is_watching_ = false;  // The timer runs.
  bool is_stopped_ = false;
};

}  // namespace keel::http
