// keel/telemetry/log_line.h — a log record as one line of text.
//
// Json:  {"time":"2026-11-21T03:31:00.123456Z","level":"info","component":"http.server","message":"request",
//         "method":"GET","status":200,"duration":0.000017,"trace":"000…1"}
// Text:  2026-11-21T03:31:00.123456Z INFO  http.server: request method=GET status=200 duration=0.000017 trace=000…1
//
// A Duration is written as a number of seconds. An Error is written as its whole text; the code of the Error is in a
// second field `<name>_code`. A double that is not a number is written as null. A record is always one line, whatever
// its fields contain: control characters (including C1, line separators and bidirectional overrides) and bytes that are
// not UTF-8 are escaped. In Text, the escapes are \xNN and \u{NNNN}.
//
// Threads: one LineFormatter is used by one thread at a time.
// Cost:    about 0.06 us per line (log_line_bench); a formatter has 4 KB.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/observe/log_record.h"
#include "keel/telemetry/internal/literal_cache.h"

namespace keel::telemetry {

// The form of a log line.
enum class LineFormat : std::uint8_t { Json, Text };

// Makes the text of log records.
class LineFormatter {
 public:
  // Records of `source_level` and above contain the place in the source ("source":"server.cc:120").
  LineFormatter(LineFormat format, Level source_level) noexcept : format_(format), source_level_(source_level) {}

  // Appends the line for `record`, and a '\n'.
  void append(Buffer& out, const log::Record& record);

 private:
  // The text before the value of a field, made once for each place that logs.
  struct Key {
    std::uint8_t bytes = 0;
    char text[80] = {};
  };
  // The text between the time and the fields, made once for each place that logs.
  struct Opening {
    const char* component = nullptr;
    Level level = {};
    std::uint8_t bytes = 0;
    char text[128] = {};
  };
  const Key& keep_key(const log::FieldView& field);
  const Key& key_of(const log::FieldView& field);
  const Opening* keep_opening(std::uint64_t id, const log::Record& record);
  const Opening* opening_of(const log::Record& record);
  char* put_time(char* at, std::int64_t wall_ns);

  LineFormat format_;
  Level source_level_;
  std::int64_t second_ = INT64_MIN;
  char second_text_[20] = {};  // "2026-11-21T03:31:00" of second_.
  LiteralCache<Key, 32> keys_;
  LiteralCache<Opening, 8> openings_;
};

}  // namespace keel::telemetry
