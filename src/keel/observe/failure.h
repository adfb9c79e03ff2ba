// keel/observe/failure.h — the log line of an Error that was not handled.
//
//   log::Failure(error).log(log, "request failed", log::field("path", path));
//
// Errors of the environment and bugs are logged at level error. The line names the place of the failed call instead of
// the place that logs, and contains everything that the Error records: the SQL statement, the places that passed the
// error on, and the stack. An error whose origin is the application is logged at the level of its code.
//
// Lifetime: the Error outlives the Failure.
// Threads:  any.
// Cost:     for a bug, the names of the functions on its stack are looked up (base/stack.h).

#pragma once

#include <string>
#include <string_view>

#include "keel/base/error.h"
#include "keel/observe/log.h"

namespace keel::log {

class Failure {
 public:
  explicit Failure(const Error& error);
  // Logs at `level`.
  Failure(const Error& error, Level level);

  // The level at which an error is logged.
  static Level level_of(const Error& error) noexcept;

  template <class... F>
  void log(const Logger& log, Message message, const F&... fields) const {
    const Level level = level_;
    if (!log.is_on(level)) return;
    const Message said = places_.empty() ? message : message.at(error_.place());
    const auto places = field("places", places_);
    if (error_.stack() != nullptr) {
      log.log(level, said, fields..., error_, places, field("stack", stack()));
    } else if (!statement_.empty()) {
      log.log(level, said, fields..., error_, field("statement", statement_), places);
    } else if (!places_.empty()) {
      log.log(level, said, fields..., error_, places);
    } else {
      log.log(level, said, fields..., error_);
    }
  }

 private:
  std::string stack() const;

  const Error& error_;
  const Level level_;
  const std::string statement_;  // The statement on one line, shortened.
  const std::string places_;
};

}  // namespace keel::log
