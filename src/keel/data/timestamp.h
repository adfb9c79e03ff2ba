// keel/data/timestamp.h — a point in calendar time, for people and for other programs (RFC 3339).
//
//   const Timestamp created = Timestamp::now();
//   out.key("created").string(created.text());                    // "2026-11-24T12:00:37.250Z"
//   KEEL_TRY(auto since, request.query_param<Timestamp>("since"));    // 400 when it is none
//   co_await session.query("select id from orders where created >= $1", on_row, created - 24_h);
//   const Timestamp created = row.get<Timestamp>(1);
//
// A count of nanoseconds in UTC, from the beginning of the year 0000 to the end of the year 9999; as in POSIX, leap
// seconds are not counted. To measure durations, use Instant (base/time.h), which is never set back.
//
// parse() accepts a date-time of RFC 3339 §5.6 and nothing else:
// - a year of four digits, a 'T' between date and time, and an offset are required; 't' and 'z' are accepted for 'T'
//   and 'Z'. A blank instead of the 'T' and a comma before a fraction are rejected.
// - an offset up to ±23:59 is applied but not kept: the result is in UTC. "-00:00" is UTC.
// - a fraction may have any number of digits; digits after the ninth are dropped.
// - the second 60 is accepted where a leap second can occur: at 23:59:60 UTC on the last day of a month. The second 60
//   becomes the first second of the next day, as in POSIX.
// - a day that does not exist in the month, and a time outside the years 0000 to 9999 in UTC, are invalid.
//
// text() writes the shortest form that is exact: without a fraction, or with a fraction of 3, 6 or 9 digits. Texts of
// the same length sort in the order of their times; texts of different lengths may be in another order. A Timestamp is
// therefore passed to SQL statements in the form of ordered_text(), with nine digits: `order by`, `<` and indexes in
// the database compare texts with nine digits correctly, and SQLite's date functions can read these texts.
//
// Arithmetic saturates at first() and last(); a difference saturates at the bounds of Duration (±292 years).
// Errors:  parse() returns InvalidArgument.
// Threads: a value.
// Cost:    16 bytes and no heap memory; reading or writing a text takes about 20 ns.

#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "keel/base/result.h"
#include "keel/base/text_value.h"
#include "keel/base/time.h"

namespace keel {

class Host;

class Timestamp {
 public:
  using Text = ShortText<30>;
  static constexpr const char* expected = "expected a time such as 2026-11-24T12:00:37.250Z (RFC 3339)";

  // 1970-01-01T00:00:00Z.
  constexpr Timestamp() = default;
  // A time beyond first() or last() becomes first() or last().
  static Timestamp from_unix_seconds(std::int64_t seconds) noexcept { return at(seconds, 0); }
  static Timestamp from_unix_ns(std::int64_t ns) noexcept { return Timestamp() + Duration::nanoseconds(ns); }
  static constexpr Timestamp first() noexcept { return Timestamp(-62'167'219'200, 0); }  // 0000-01-01T00:00:00Z
  static constexpr Timestamp last() noexcept {
    return Timestamp(253'402'300'799, 999'999'999);
  }  // 9999-12-31T23:59:59…

  // The current Host's calendar time, which is virtual in a simulation; on a worker, the time at which the current
  // event-loop iteration began.
  static Timestamp now() noexcept;
  static Timestamp now(Host& host) noexcept;

  static Result<Timestamp> parse(std::string_view text) noexcept;

  // The text of the time in UTC, with 'Z' at the end.
  Text text() const noexcept;
  // The text with a fraction of nine digits: always 30 characters.
  Text ordered_text() const noexcept;

  // The seconds are rounded down: for 1969-12-31T23:59:59.9Z they are -1, and the nanoseconds within the second are
  // 900'000'000.
  constexpr std::int64_t unix_seconds() const noexcept { return seconds_; }
  constexpr std::uint32_t nanosecond() const noexcept { return ns_; }

  constexpr auto operator<=>(const Timestamp&) const noexcept = default;
  friend Timestamp operator+(Timestamp time, Duration duration) noexcept { return time.moved(duration); }
  friend Timestamp operator-(Timestamp time, Duration duration) noexcept { return time.moved(-duration); }
  friend Duration operator-(Timestamp a, Timestamp b) noexcept { return a.since(b); }

 private:
  constexpr Timestamp(std::int64_t seconds, std::uint32_t ns) noexcept : seconds_(seconds), ns_(ns) {}
  static Timestamp at(std::int64_t seconds, std::uint32_t ns) noexcept;
  Timestamp moved(Duration by) const noexcept;
  Duration since(Timestamp other) const noexcept;
  Text text(int digits) const noexcept;

  std::int64_t seconds_ = 0;
  std::uint32_t ns_ = 0;
};

}  // namespace keel
