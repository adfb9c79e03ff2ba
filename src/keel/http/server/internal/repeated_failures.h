// keel/http/server/internal/repeated_failures.h — what a worker's log says about requests that fail for the same
// reason: the first failure in full, then their number each minute, and a line when they have stopped.
//
// Internal to http. Otherwise, an outage of a database would write a line for each request, thousands per second.
//
// Failures are the same if they have the same message, error code, errno, route, statement and place. Among the same
// failures, an error whose text differs from the earlier ones in more than its numbers is logged in full, for the first
// texts_max texts. Clients can cause failures below level warn, so those are logged one by one.
//
// Threads: the worker. On another thread, to which a middleware has moved its task, each failure is logged.
// Lifetime:the loop and the logger outlive it; stop() is called before it is destroyed.
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
  // The number of different failures that are counted at the same time. All further failures are counted as one kind.
  static constexpr std::size_t kinds_max = 256;

  RepeatedFailures(io::Loop& loop, const log::Logger& log) noexcept : loop_(loop), log_(log) {}
  RepeatedFailures(const RepeatedFailures&) = delete;

  // Logs `error` with `fields`, or counts it. `message` is a literal.
  template <class... F>
  void log(log::Message message, const Error& error, std::string_view route, const F&... fields) {
    log(message, error, log::Failure::level_of(error), route, fields...);
  }
  template <class... F>
  void log(log::Message message, const Error& error, Level level, std::string_view route, const F&... fields) {
    if (!log_.is_on(level) || (level >= Level::Warn && !is_news(message, error, level, route))) return;
    log::Failure(error, level).log(log_, message, fields..., log::field("route", route));
  }

  // Logs the counts that have not been logged. From now on failures are still counted, but only stop() says so.
  void stop() noexcept;

 private:
  // Failures that are the same.
  struct Kind {
    std::uint64_t hash;
    Level level;
    std::string_view message;
    std::string route;
    Error error;  // The error that was logged last.
    log::TraceId trace = {};
    log::RepeatedState state = {};
    std::uint64_t texts[texts_max] = {};  // Hashes of the texts that were logged.
    std::size_t text_count = 0;
    std::uint64_t suppressed = 0;
    std::uint64_t said = 0;  // The value of `suppressed` that was logged last.
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
