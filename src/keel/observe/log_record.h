// keel/observe/log_record.h — a record as the reader of a ring sees it.
//
// Lifetime: a record and its texts are valid during the call that Reader::drain makes; component, message, file and
//           field names live as long as the process.
// Threads:  the reader's.
// Cost:     fields are decoded as for_each passes them.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

#include "keel/base/error.h"
#include "keel/base/time.h"
#include "keel/observe/log.h"

namespace keel::log {

// The kind of a field's value.
using FieldKind = internal::Kind;

// A field of a record: its name and its value.
struct FieldView {
  std::string_view name;
  // Two fields have the same key if and only if their names are the same literal and their kinds are the same.
  std::uint64_t key = 0;
  FieldKind kind = FieldKind::Bool;
  // The kind decides which member has the value: `word` for Bool, Int, Uint and Duration (nanoseconds), `number` for
  // Double, `text` for String and Error.
  std::uint64_t word = 0;
  double number = 0;
  std::string_view text;       // The memory after the text is readable up to the next multiple of eight bytes.
  Code code = Code::Internal;  // Error
  int errno_value = 0;         // the errno of an Error, or 0
};

// A log record in its ring.
class Record {
 public:
  explicit Record(const internal::RecordHeader& header) noexcept : header_(header) {}

  Level level() const noexcept { return static_cast<Level>(header_.level & ~internal::has_trace); }
  std::int64_t wall_ns() const noexcept { return header_.wall_ns; }
  std::string_view component() const noexcept { return header_.component->name(); }
  std::string_view message() const noexcept { return {header_.message, header_.message_bytes}; }
  const std::source_location& where() const noexcept { return header_.where; }
  TraceId trace() const noexcept;
  int field_count() const noexcept { return header_.fields; }
  // The size of the record in its ring, including the record's texts.
  std::uint32_t bytes() const noexcept { return header_.bytes; }

  // Calls f(const FieldView&) in the order of the fields; the fields of Logger::with() come first.
  template <class F>
  void for_each(F&& f) const;

 private:
  const internal::RecordHeader& header_;
};

template <class F>
[[gnu::always_inline]] inline void Record::for_each(F&& f) const {
  const char* at = reinterpret_cast<const char*>(&header_) + sizeof header_;
  if (header_.level & internal::has_trace) at += sizeof(TraceId);
  for (int i = 0; i < header_.fields; ++i) {
    std::uint64_t words[2];
    std::memcpy(words, at, sizeof words);
    at += sizeof words;
    FieldView view;
    view.key = words[0];
    view.name = {reinterpret_cast<const char*>(words[0] >> 16), (words[0] >> 8) & 0xff};
    view.kind = static_cast<FieldKind>(words[0] & 0xff);
    view.word = words[1];
    if (view.kind == FieldKind::Double) view.number = std::bit_cast<double>(words[1]);
    if (view.kind == FieldKind::String || view.kind == FieldKind::Error) {
      const auto bytes = static_cast<std::uint32_t>(words[1]);
      view.text = {at, bytes};
      at += internal::rounded(bytes);
      view.code = static_cast<Code>((words[1] >> 32) & 0xff);
      view.errno_value = static_cast<int>(words[1] >> 40);
    }
    f(static_cast<const FieldView&>(view));
  }
}

}  // namespace keel::log
