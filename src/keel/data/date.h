// keel/data/date.h — a calendar day without a time or a time zone (RFC 3339 §5.6, full-date).
//
//   const Date due = Date::today() + 14;                          // fourteen days later, in UTC
//   KEEL_TRY(auto day, request.query_param<Date>("day"));         // 400 when it is none
//   out.key("due").string(due.text());                            // "2026-12-08"
//   co_await session.execute("update invoices set due = $1 where id = $2", due, id);
//   const Date due = row.get<Date>(0);
//
// A field of a struct may be a Date in JSON, CBOR, rows, queries and forms, configurations and logs; in a contract it
// is a string of `format: date`. A Date is written as text everywhere. The column has the type `date` in PostgreSQL,
// and holds text in SQLite, where the texts sort by day and SQLite's date functions accept them. In CBOR the text has
// the tag 1004 (RFC 8943).
//
// parse() accepts only the form YYYY-MM-DD, and only a day that exists; it rejects times, blanks, weeks and shorter
// forms.
//
// The calendar is the Gregorian calendar, even for days before 1582 (ISO 8601). Arithmetic saturates at first() and
// last().
// Errors:  make() and parse() return InvalidArgument. PostgreSQL dates before the year 0001 or after 9999, and
//          infinity, do not fit into a Date: the query fails with an error that names the column (db/row.h).
// Threads: a value.
// Cost:    4 bytes and no heap memory; each conversion between days, dates and texts takes about 5 ns.

#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "keel/base/calendar.h"
#include "keel/base/result.h"
#include "keel/base/text_value.h"

namespace keel {

class Host;
class Timestamp;

// The days of the week, with the numbers of ISO 8601.
enum class Weekday : std::uint8_t { Monday = 1, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday };

class Date {
 public:
  using Text = ShortText<10>;
  static constexpr const char* expected = "expected a date such as 2026-11-24 (RFC 3339)";

  // 1970-01-01.
  constexpr Date() = default;
  // Fails for a day that does not exist, such as February 30.
  static Result<Date> make(int year, int month, int day) noexcept;
  static constexpr Date from_unix_days(std::int64_t days) noexcept {
    return Date(static_cast<std::int32_t>(days < first_day ? first_day : days > last_day ? last_day : days));
  }
  static constexpr Date first() noexcept { return Date(first_day); }  // 0000-01-01
  static constexpr Date last() noexcept { return Date(last_day); }    // 9999-12-31

  // The current day in UTC, by the current Host's clock, which is virtual in a simulation.
  static Date today() noexcept;
  static Date today(Host& host) noexcept;
  // The day in UTC in which `time` lies.
  static Date of(Timestamp time) noexcept;

  static Result<Date> parse(std::string_view text) noexcept;
  Text text() const noexcept;

  // Days since 1970-01-01.
  constexpr std::int32_t unix_days() const noexcept { return days_; }
  constexpr int year() const noexcept { return date_of(days_).year; }
  constexpr int month() const noexcept { return date_of(days_).month; }
  constexpr int day() const noexcept { return date_of(days_).day; }
  // The year, the month and the day; computing all three values costs as much as computing one value.
  constexpr CalendarDate calendar() const noexcept { return date_of(days_); }
  constexpr Weekday weekday() const noexcept {
    return static_cast<Weekday>((std::int64_t{days_} - first_day + 5) % 7 + 1);  // The day 0000-01-01 was a Saturday.
  }
  // The time at which the day begins in UTC.
  Timestamp midnight() const noexcept;

  // The same day of a later or earlier month; if that month is too short, its last day: one month after 2026-01-31 is
  // 2026-02-28.
  Date plus_months(std::int64_t months) const noexcept;

  constexpr auto operator<=>(const Date&) const noexcept = default;
  friend constexpr Date operator+(Date date, std::int64_t days) noexcept { return moved(date.days_, days); }
  friend constexpr Date operator-(Date date, std::int64_t days) noexcept {
    return days < -days_max ? last() : moved(date.days_, -days);
  }
  // The number of days from `b` to `a`.
  friend constexpr std::int64_t operator-(Date a, Date b) noexcept { return std::int64_t{a.days_} - b.days_; }

 private:
  static constexpr std::int32_t first_day = -719'528;
  static constexpr std::int32_t last_day = 2'932'896;
  static constexpr std::int64_t days_max = last_day - first_day;
  explicit constexpr Date(std::int32_t days) noexcept : days_(days) {}
  static constexpr Date moved(std::int32_t from, std::int64_t days) noexcept {
    return from_unix_days(from + (days < -days_max ? -days_max : days > days_max ? days_max : days));
  }

  std::int32_t days_ = 0;
};

}  // namespace keel
