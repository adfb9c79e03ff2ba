// keel/http/message/date.h — dates in header fields (RFC 9110 §5.6.7), from and to seconds since 1970.
//
// Pure: the caller passes the time. No locale, no time zone data, no allocation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/result.h"

namespace keel::http {

// The length of a formatted date.
inline constexpr std::size_t date_bytes = 29;

// Writes "Sun, 06 Nov 1994 08:49:37 GMT" (29 bytes, no NUL) to `out` and returns its end.
// Seconds before 1970 or after the year 9999 are moved to that bound, because the format has only four digits for the
// year.
char* format_date(std::int64_t unix_seconds, char* out) noexcept;

// Seconds since 1970 of a date in any of the three forms: IMF-fixdate, RFC 850 ("Sunday, 06-Nov-94 08:49:37 GMT")
// and asctime ("Sun Nov  6 08:49:37 1994"). `now_seconds` decides the century of RFC 850's two digits: at most 50
// years ahead. The name of the day must be valid, but is not compared with the date. A leap second counts as the
// second after it.
// Code::InvalidArgument for anything else; a server ignores such a field.
Result<std::int64_t> parse_date(std::string_view text, std::int64_t now_seconds) noexcept;

}  // namespace keel::http
