// keel/db/postgres/internal/calendar_text.h — converts dates, times and intervals to the text that types.h describes,
// and back.
//
// The append_* functions append the text or the bytes to `to`. An append_* function returns false if the bytes, or the
// text, are not a value of the type; the bytes of `to` after its former end are then unspecified.
//
// Source: datetime.c, timestamp.c and date.c of the server, which count days and microseconds from 2000-01-01.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"

namespace keel::db::postgres {

[[nodiscard]] bool append_date_text(std::string_view bytes, Buffer& to);
[[nodiscard]] bool append_time_text(std::string_view bytes, Buffer& to);
// timestamp and timestamptz.
[[nodiscard]] bool append_timestamp_text(std::string_view bytes, Buffer& to);
[[nodiscard]] bool append_interval_text(std::string_view bytes, Buffer& to);

[[nodiscard]] bool append_date_bytes(std::string_view text, Buffer& to);
[[nodiscard]] bool append_time_bytes(std::string_view text, Buffer& to);
// If `needs_zone`, a text without an offset is rejected, because its meaning depends on the session's time zone.
[[nodiscard]] bool append_timestamp_bytes(std::string_view text, bool needs_zone, Buffer& to);
[[nodiscard]] bool append_interval_bytes(std::string_view text, Buffer& to);

}  // namespace keel::db::postgres
