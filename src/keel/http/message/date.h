// keel/http/message/date.h — converts dates in header fields (RFC 9110 §5.6.7) from and to seconds since 1970.
//
// Pure functions: the caller passes the time. The functions use no locale and no time zone data, and allocate nothing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/result.h"

namespace keel::http {

// The length of a formatted date.
inline constexpr std::size_t date_bytes = 29;

// Writes "Sun, 06 Nov 1994 08:49:37 GMT" (29 bytes, no NUL) to `out` and returns its end.
// A time before 1970 becomes the first second of 1970, and a time after the year 9999 becomes its last second, because
// the format has only four digits for the year.
char* format_date(std::int64_t unix_seconds, char* out) noexcept;

// Returns the seconds since 1970 for a date in any of three forms: IMF-fixdate, RFC 850 ("Sunday, 06-Nov-94 08:49:37
// GMT") and asctime ("Sun Nov 6 08:49:37 1994"). `now_seconds`, the current time, decides the century of a year with
// two digits (RFC 850): the year is at most 50 years in the future. The name of the day must be valid, but is not
// compared with the date. A leap second (:60) is treated as the second after it. Any other text is an error with
// Code::InvalidArgument; a server ignores a field whose date is invalid.
Result<std::int64_t> parse_date(std::string_view text, std::int64_t now_seconds) noexcept;

}  // namespace keel::http
