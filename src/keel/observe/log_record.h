// keel/observe/log_record.h — a record as the reader of a ring sees it.
//
// Lifetime: valid during the call that Reader::drain makes; its texts as well, except component, message, file and
//           field names, which live as long as the process.
// Threads:  the reader's.  Cost: fields are decoded as for_each passes them.

#pragma once

#include <cstdint>
#include <source_location>
#include <string_view>

#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/observe/log.h"

namespace keel::log {

using FieldKind = internal::Kind;

struct FieldView {
  std::string_view name;
  FieldKind kind = FieldKind::Bool;
  // By kind: Bool, Int, Uint and Duration (nanoseconds) in `word`, Double in `number`, String and Error in `text`.
  std::uint64_t word = 0;
  double number = 0;
  std::string_view text;
  Code code = Code::Internal;  // Error
  int errno_value = 0;         // Error: 0 when it has none
};

class Record {
 public:
  explicit Record(const internal::RecordHeader& header) noexcept : header_(header) {}

  Level level() const noexcept { return static_cast<Level>(header_.level & ~internal::has_trace); }
  std::int64_t wall_ns() const noexcept { return header_.wall_ns; }
  std::string_view component() const noexcept { return header_.component->name(); }
  std::string_view message() const noexcept { return {header_.message, header_.message_bytes}; }
  const std::source_location& where() const noexcept { return header_.where; }
  TraceId trace() const noexcept;

  // In the order they were written; those of Logger::with first.
  void for_each(FunctionRef<void(const FieldView&)> f) const;

 private:
  const internal::RecordHeader& header_;
};

}  // namespace keel::log
