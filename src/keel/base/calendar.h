// keel/base/calendar.h — converts days since 1970-01-01 to a year, month and day, and back (proleptic Gregorian
// calendar).
//
// Threads: any; the functions depend only on their arguments.
// Cost:    about 5 ns; no table of years.

#pragma once

#include <cstdint>

namespace keel {

// A date of the proleptic Gregorian calendar.
struct CalendarDate {
  int year = 0;
  int month = 0;  // 1 to 12
  int day = 0;    // 1 to 31
};

// The date of any day within ±5 million years. The computation counts in eras of 400 years that begin in March, so that
// the leap day is the last day of its year.
constexpr CalendarDate date_of(std::int64_t days_since_1970) noexcept {
  const std::int64_t shifted = days_since_1970 + 719'468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const auto of_era = static_cast<int>(shifted - era * 146'097);
  const int year_of_era = (of_era - of_era / 1'460 + of_era / 36'524 - of_era / 146'096) / 365;
  const int of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int march_month = (5 * of_year + 2) / 153;
  CalendarDate date;
  date.day = of_year - (153 * march_month + 2) / 5 + 1;
  date.month = march_month < 10 ? march_month + 3 : march_month - 9;
  date.year = static_cast<int>(era) * 400 + year_of_era + (date.month <= 2 ? 1 : 0);
  return date;
}

// The days from 1970-01-01 to `date`; negative for an earlier date.
constexpr std::int64_t days_of(const CalendarDate& date) noexcept {
  const int year = date.month <= 2 ? date.year - 1 : date.year;
  const int era = (year >= 0 ? year : year - 399) / 400;
  const int year_of_era = year - era * 400;
  const int of_year = (153 * (date.month > 2 ? date.month - 3 : date.month + 9) + 2) / 5 + date.day - 1;
  const int of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
  return std::int64_t{era} * 146'097 + of_era - 719'468;
}

// Whether `year` has 366 days.
constexpr bool is_leap(int year) noexcept { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

// `month` is 1 to 12.
constexpr int days_in(int month, int year) noexcept {
  constexpr int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : lengths[month - 1];
}

}  // namespace keel
