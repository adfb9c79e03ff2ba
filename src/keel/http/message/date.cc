#include "keel/http/message/date.h"

#include <cstring>

#include "keel/base/ascii.h"
#include "keel/base/calendar.h"

namespace keel::http {
namespace {

constexpr std::int64_t day_seconds = 86'400;
constexpr std::int64_t last_second = 253'402'300'799;  // 9999-12-31 23:59:59

constexpr std::string_view days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::string_view long_days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

char* put(char* out, std::string_view text) noexcept {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* put_two(char* out, int value) noexcept {
  out[0] = static_cast<char>('0' + value / 10);
  out[1] = static_cast<char>('0' + value % 10);
  return out + 2;
}

// Reads a date from left to right; `ok` becomes false at the first unexpected character.
struct Reader {
  std::string_view rest;
  bool ok = true;

  void expect(std::string_view text) {
    if (!rest.starts_with(text)) {
      ok = false;
      return;
    }
    rest.remove_prefix(text.size());
  }
  int digits(std::size_t count) {
    if (rest.size() < count) {
      ok = false;
      return 0;
    }
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!ascii::is_digit(rest[i])) ok = false;
      value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(count);
    return value;
  }
  // If `rest` begins with one of `words`, removes this word from `rest` and returns its position in `words`, counted
  // from 1; otherwise sets `ok` to false.
  template <std::size_t N>
  int word(const std::string_view (&words)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      if (rest.starts_with(words[i])) {
        rest.remove_prefix(words[i].size());
        return static_cast<int>(i) + 1;
      }
    }
    ok = false;
    return 0;
  }
  int seconds_of_day() {
    const int hour = digits(2);
    expect(":");
    const int minute = digits(2);
    expect(":");
    const int second = digits(2);
    if (hour > 23 || minute > 59 || second > 60) ok = false;
    return hour * 3'600 + minute * 60 + second;
  }
};

// Adds the century to a year of two digits. In the year 2026, "94" is 1994 and "30" is 2030: RFC 9110 §5.6.7.
int full_year(int two_digits, std::int64_t now_seconds) noexcept {
  const int now = date_of((now_seconds < 0             ? 0
                           : now_seconds > last_second ? last_second
                                                       : now_seconds) /
                          day_seconds)
                      .year;
  const int year = now - now % 100 + two_digits;
  return year > now + 50 ? year - 100 : year;
}

}  // namespace

char* format_date(std::int64_t unix_seconds, char* out) noexcept {
  const std::int64_t at = unix_seconds < 0 ? 0 : unix_seconds > last_second ? last_second : unix_seconds;
  const std::int64_t day_number = at / day_seconds;
  const auto second = static_cast<int>(at % day_seconds);
  const CalendarDate date = date_of(day_number);
  out = put(out, days[(day_number + 4) % 7]);
  out = put(out, ", ");
  out = put_two(out, date.day);
  *out++ = ' ';
  out = put(out, months[date.month - 1]);
  *out++ = ' ';
  out = put_two(out, date.year / 100);
  out = put_two(out, date.year % 100);
  *out++ = ' ';
  out = put_two(out, second / 3'600);
  *out++ = ':';
  out = put_two(out, second / 60 % 60);
  *out++ = ':';
  out = put_two(out, second % 60);
  return put(out, " GMT");
}

Result<std::int64_t> parse_date(std::string_view text, std::int64_t now_seconds) noexcept {
  Reader reader{text};
  CalendarDate date;
  int second = 0;
  if (text.size() == date_bytes && text[3] == ',') {
    reader.word(days);
    reader.expect(", ");
    date.day = reader.digits(2);
    reader.expect(" ");
    date.month = reader.word(months);
    reader.expect(" ");
    date.year = reader.digits(4);
    reader.expect(" ");
    second = reader.seconds_of_day();
    reader.expect(" GMT");
  } else if (text.size() == 24 && text[3] == ' ') {
    reader.word(days);
    reader.expect(" ");
    date.month = reader.word(months);
    reader.expect(" ");
    if (reader.rest.starts_with(' ')) {
      reader.expect(" ");
      date.day = reader.digits(1);
    } else {
      date.day = reader.digits(2);
    }
    reader.expect(" ");
    second = reader.seconds_of_day();
    reader.expect(" ");
    date.year = reader.digits(4);
  } else {
    reader.word(long_days);
    reader.expect(", ");
    date.day = reader.digits(2);
    reader.expect("-");
    date.month = reader.word(months);
    reader.expect("-");
    date.year = full_year(reader.digits(2), now_seconds);
    reader.expect(" ");
    second = reader.seconds_of_day();
    reader.expect(" GMT");
  }
  if (!reader.ok || !reader.rest.empty() || date.day < 1 || date.day > days_in(date.month, date.year)) {
    return fail(Code::InvalidArgument, "not a date as defined by RFC 9110");
  }
  return days_of(date) * day_seconds + second;
}

}  // namespace keel::http
