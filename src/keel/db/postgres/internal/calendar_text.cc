#include "keel/db/postgres/internal/calendar_text.h"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "keel/base/ascii.h"
#include "keel/base/calendar.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

constexpr std::int64_t us_per_second = 1'000'000;
constexpr std::int64_t us_per_minute = 60 * us_per_second;
constexpr std::int64_t us_per_hour = 60 * us_per_minute;
constexpr std::int64_t us_per_day = 24 * us_per_hour;
constexpr std::int64_t epoch_days = 10'957;  // 2000-01-01, since 1970.
// The server accepts dates from 4714-11-24 BC on, the first day of the Julian day count.
constexpr std::int64_t date_min = -2'451'545;
constexpr std::int64_t date_max = 2'145'031'948;  // 5874897-12-31
constexpr std::int64_t timestamp_min = -211'813'488'000'000'000;
constexpr std::int64_t timestamp_end = 9'223'371'331'200'000'000;
constexpr std::int32_t date_infinity = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t date_minus_infinity = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t timestamp_infinity = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t timestamp_minus_infinity = std::numeric_limits<std::int64_t>::min();
constexpr std::string_view infinity_text = "infinity";
constexpr std::string_view minus_infinity_text = "-infinity";
constexpr std::string_view bc = " BC";

void append_padded(Buffer& to, std::uint64_t value, int width) {
  char text[20];
  const auto size = static_cast<int>(std::to_chars(text, text + sizeof text, value).ptr - text);
  for (int i = size; i < width; ++i) to.push_back('0');
  to.append({text, static_cast<std::size_t>(size)});
}

// Appends the date without " BC"; returns whether the caller must append " BC".
bool append_day(Buffer& to, std::int64_t days_since_2000) {
  const CalendarDate date = date_of(days_since_2000 + epoch_days);
  const bool is_bc = date.year <= 0;
  append_padded(to, static_cast<std::uint64_t>(is_bc ? 1 - date.year : date.year), 4);
  to.push_back('-');
  append_padded(to, static_cast<std::uint64_t>(date.month), 2);
  to.push_back('-');
  append_padded(to, static_cast<std::uint64_t>(date.day), 2);
  return is_bc;
}

void append_clock(Buffer& to, std::int64_t us) {
  append_padded(to, static_cast<std::uint64_t>(us / us_per_hour), 2);
  to.push_back(':');
  append_padded(to, static_cast<std::uint64_t>(us / us_per_minute % 60), 2);
  to.push_back(':');
  append_padded(to, static_cast<std::uint64_t>(us / us_per_second % 60), 2);
}

// Appends the fraction of a second without trailing zeros; appends nothing for 0.
void append_fraction(Buffer& to, std::int64_t us) {
  if (us == 0) return;
  to.push_back('.');
  append_padded(to, static_cast<std::uint64_t>(us), 6);
  while (to.data()[to.size() - 1] == '0') to.resize(to.size() - 1);
}

void append_part(Buffer& to, std::int64_t value, char unit) {
  if (value == 0) return;
  char text[24];
  to.append({text, static_cast<std::size_t>(std::to_chars(text, text + sizeof text, value).ptr - text)});
  to.push_back(unit);
}

// Reads values from the front of a text.
class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}

  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  // Reads a number that has `least` to `most` digits.
  bool number(int least, int most, std::int64_t& value) {
    int count = 0;
    value = 0;
    while (count < most && !rest_.empty() && ascii::is_digit(rest_[0])) {
      value = value * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
      ++count;
    }
    return count >= least;
  }
  // Reads a decimal point and a fraction of at most 9 digits; rounds the fraction to microseconds. Also returns true if
  // there is no decimal point.
  bool fraction(std::int64_t& us) {
    us = 0;
    if (!take('.')) return true;
    const std::size_t before = rest_.size();
    std::int64_t value = 0;
    if (!number(1, 9, value)) return false;
    for (std::size_t digits = before - rest_.size(); digits < 9; ++digits) value *= 10;
    us = (value + 500) / 1'000;
    return rest_.empty() || !ascii::is_digit(rest_[0]);
  }
  bool day(CalendarDate& date) {
    std::int64_t year = 0;
    std::int64_t month = 0;
    std::int64_t of_month = 0;
    if (!number(4, 7, year) || !take('-') || !number(2, 2, month) || !take('-') || !number(2, 2, of_month)) {
      return false;
    }
    date = {static_cast<int>(year), static_cast<int>(month), static_cast<int>(of_month)};
    return month >= 1 && month <= 12 && of_month >= 1 && year >= 1;
  }
  // Reads a time of day, of at most 24:00:00.
  bool clock(std::int64_t& us) {
    std::int64_t hour = 0;
    std::int64_t minute = 0;
    std::int64_t second = 0;
    std::int64_t part = 0;
    if (!number(2, 2, hour) || !take(':') || !number(2, 2, minute) || !take(':') || !number(2, 2, second) ||
        !fraction(part)) {
      return false;
    }
    us = hour * us_per_hour + minute * us_per_minute + second * us_per_second + part;
    return minute < 60 && second < 60 && us <= us_per_day;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Computes the number of days from 2000-01-01 to a date; the date may be BC. Returns false if the date does not exist.
bool days_since_2000(CalendarDate date, bool is_bc, std::int64_t& days) {
  if (is_bc) date.year = 1 - date.year;
  if (date.day > days_in(date.month, date.year)) return false;
  days = days_of(date) - epoch_days;
  return true;
}

}  // namespace

bool append_date_text(std::string_view bytes, Buffer& to) {
  if (bytes.size() != 4) return false;
  const auto days = wire::load<std::int32_t>(bytes.data());
  if (days == date_infinity || days == date_minus_infinity) {
    to.append(days > 0 ? infinity_text : minus_infinity_text);
    return true;
  }
  if (days < date_min || days > date_max) return false;
  if (append_day(to, days)) to.append(bc);
  return true;
}

bool append_time_text(std::string_view bytes, Buffer& to) {
  if (bytes.size() != 8) return false;
  const auto us = wire::load<std::int64_t>(bytes.data());
  if (us < 0 || us > us_per_day) return false;
  append_clock(to, us);
  append_fraction(to, us % us_per_second);
  return true;
}

bool append_timestamp_text(std::string_view bytes, Buffer& to) {
  if (bytes.size() != 8) return false;
  const auto us = wire::load<std::int64_t>(bytes.data());
  if (us == timestamp_infinity || us == timestamp_minus_infinity) {
    to.append(us > 0 ? infinity_text : minus_infinity_text);
    return true;
  }
  if (us < timestamp_min || us >= timestamp_end) return false;
  std::int64_t days = us / us_per_day;
  std::int64_t of_day = us % us_per_day;
  if (of_day < 0) {
    of_day += us_per_day;
    --days;
  }
  const bool is_bc = append_day(to, days);
  to.push_back('T');
  append_clock(to, of_day);
  to.push_back('.');
  append_padded(to, static_cast<std::uint64_t>(of_day % us_per_second), 6);
  to.append("000Z");
  if (is_bc) to.append(bc);
  return true;
}

bool append_interval_text(std::string_view bytes, Buffer& to) {
  if (bytes.size() != 16) return false;
  const auto us = wire::load<std::int64_t>(bytes.data());
  const auto days = wire::load<std::int32_t>(bytes.data() + 8);
  const auto months = wire::load<std::int32_t>(bytes.data() + 12);
  if (us == timestamp_infinity && days == date_infinity && months == date_infinity) {
    to.append(infinity_text);  // From version 17 on, servers can send an infinite interval.
    return true;
  }
  if (us == timestamp_minus_infinity && days == date_minus_infinity && months == date_minus_infinity) {
    to.append(minus_infinity_text);
    return true;
  }
  if (us == 0 && days == 0 && months == 0) {
    to.append("PT0S");
    return true;
  }
  to.push_back('P');
  append_part(to, months / 12, 'Y');
  append_part(to, months % 12, 'M');
  append_part(to, days, 'D');
  if (us == 0) return true;
  to.push_back('T');
  append_part(to, us / us_per_hour, 'H');
  append_part(to, us / us_per_minute % 60, 'M');
  const std::int64_t seconds = us % us_per_minute;
  if (seconds != 0) {
    if (seconds < 0) to.push_back('-');
    const std::int64_t size = seconds < 0 ? -seconds : seconds;
    append_padded(to, static_cast<std::uint64_t>(size / us_per_second), 1);
    append_fraction(to, size % us_per_second);
    to.push_back('S');
  }
  return true;
}

bool append_date_bytes(std::string_view text, Buffer& to) {
  if (text == infinity_text || text == minus_infinity_text) {
    wire::append(to, text[0] == '-' ? date_minus_infinity : date_infinity);
    return true;
  }
  Text from(text);
  CalendarDate date;
  std::int64_t days = 0;
  if (!from.day(date)) return false;
  const bool is_bc = from.take(bc);
  if (!from.rest().empty() || !days_since_2000(date, is_bc, days) || days < date_min || days > date_max) return false;
  wire::append(to, static_cast<std::int32_t>(days));
  return true;
}

bool append_time_bytes(std::string_view text, Buffer& to) {
  Text from(text);
  std::int64_t us = 0;
  if (!from.clock(us) || !from.rest().empty()) return false;
  wire::append(to, us);
  return true;
}

bool append_timestamp_bytes(std::string_view text, bool needs_zone, Buffer& to) {
  if (text == infinity_text || text == minus_infinity_text) {
    wire::append(to, text[0] == '-' ? timestamp_minus_infinity : timestamp_infinity);
    return true;
  }
  Text from(text);
  CalendarDate date;
  std::int64_t of_day = 0;
  if (!from.day(date) || !from.take('T') || !from.clock(of_day)) return false;
  std::int64_t offset = 0;
  if (from.rest().starts_with('+') || from.rest().starts_with('-')) {
    const bool is_west = from.take('-');
    if (!is_west) from.take('+');
    std::int64_t hour = 0;
    std::int64_t minute = 0;
    if (!from.number(2, 2, hour) || !from.take(':') || !from.number(2, 2, minute) || hour > 23 || minute > 59) {
      return false;
    }
    offset = (hour * us_per_hour + minute * us_per_minute) * (is_west ? -1 : 1);
  } else if (!from.take('Z') && needs_zone) {
    return false;
  }
  const bool is_bc = from.take(bc);
  std::int64_t days = 0;
  std::int64_t us = 0;
  if (!from.rest().empty() || !days_since_2000(date, is_bc, days) || __builtin_mul_overflow(days, us_per_day, &us) ||
      __builtin_add_overflow(us, of_day - offset, &us) || us < timestamp_min || us >= timestamp_end) {
    return false;
  }
  wire::append(to, us);
  return true;
}

bool append_interval_bytes(std::string_view text, Buffer& to) {
  std::int64_t us = 0;
  std::int64_t days = 0;
  std::int64_t months = 0;
  Text from(text);
  if (!from.take('P') || from.rest().empty()) return false;
  // The units must appear in this order, each at most once.
  constexpr std::string_view units = "YMWDHMS";
  std::size_t next_unit = 0;
  bool is_time = false;
  while (!from.rest().empty()) {
    if (!is_time && from.take('T')) {
      is_time = true;
      next_unit = 4;
      if (from.rest().empty()) return false;
    }
    const bool is_negative = from.take('-');
    std::int64_t value = 0;
    std::int64_t part = 0;
    if (!from.number(1, 18, value)) return false;
    const bool has_fraction = from.rest().starts_with('.');
    if (!from.fraction(part) || from.rest().empty()) return false;
    const char unit = from.rest()[0];
    const std::size_t at = units.find(unit, next_unit);
    if (at == std::string_view::npos || (at >= 4) != is_time || (has_fraction && unit != 'S')) return false;
    from.take(unit);
    next_unit = at + 1;
    if (is_negative) {
      value = -value;
      part = -part;
    }
    constexpr std::int64_t factors[] = {12, 1, 7, 1, us_per_hour, us_per_minute, us_per_second};
    std::int64_t& sum = at < 2 ? months : at < 4 ? days : us;
    if (__builtin_mul_overflow(value, factors[at], &value) || __builtin_add_overflow(sum, value, &sum) ||
        __builtin_add_overflow(sum, part, &sum)) {
      return false;
    }
  }
  const auto fits = [](std::int64_t value) { return value == static_cast<std::int32_t>(value); };
  if (!fits(days) || !fits(months)) return false;
  wire::append(to, us);
  wire::append(to, static_cast<std::int32_t>(days));
  wire::append(to, static_cast<std::int32_t>(months));
  return true;
}

}  // namespace keel::db::postgres
