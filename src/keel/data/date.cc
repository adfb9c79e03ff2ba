#include "keel/data/date.h"

#include "keel/base/ascii.h"
#include "keel/base/host.h"
#include "keel/data/timestamp.h"

namespace keel {
namespace {

constexpr std::int64_t seconds_of_day = 86'400;

// Returns -1 if the text does not consist of `size` digits.
int digits(const char* at, int size) noexcept {
  int value = 0;
  for (int i = 0; i < size; ++i) {
    if (!ascii::is_digit(at[i])) return -1;
    value = value * 10 + (at[i] - '0');
  }
  return value;
}

char* put_digits(char* to, int value, int size) noexcept {
  for (int i = size; i-- > 0; value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + size;
}

}  // namespace

Result<Date> Date::make(int year, int month, int day) noexcept {
  if (year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 || day > days_in(month, year)) {
    return fail(Code::InvalidArgument, "this date does not exist");
  }
  return from_unix_days(days_of({year, month, day}));
}

Date Date::today() noexcept { return of(Timestamp::now()); }
Date Date::today(Host& host) noexcept { return of(Timestamp::now(host)); }

Date Date::of(Timestamp time) noexcept {
  const std::int64_t seconds = time.unix_seconds();
  return from_unix_days(seconds / seconds_of_day - (seconds % seconds_of_day < 0 ? 1 : 0));
}

Result<Date> Date::parse(std::string_view text) noexcept {
  if (text.size() == 10 && text[4] == '-' && text[7] == '-') {
    if (Result<Date> date = make(digits(text.data(), 4), digits(text.data() + 5, 2), digits(text.data() + 8, 2))) {
      return date;
    }
  }
  return fail(Code::InvalidArgument, expected);
}

Date::Text Date::text() const noexcept {
  const CalendarDate date = calendar();
  Text text;
  char* to = put_digits(text.data(), date.year, 4);
  *to++ = '-';
  to = put_digits(to, date.month, 2);
  *to++ = '-';
  to = put_digits(to, date.day, 2);
  text.resize(static_cast<std::size_t>(to - text.data()));
  return text;
}

Timestamp Date::midnight() const noexcept { return Timestamp::from_unix_seconds(days_ * seconds_of_day); }

Date Date::plus_months(std::int64_t months) const noexcept {
  constexpr std::int64_t months_max = 12 * 10'000;
  if (months < -months_max) return first();
  if (months > months_max) return last();
  const CalendarDate date = calendar();
  const std::int64_t month = date.year * 12 + date.month - 1 + months;
  if (month < 0) return first();
  if (month >= months_max) return last();
  CalendarDate moved = {static_cast<int>(month / 12), static_cast<int>(month % 12) + 1, date.day};
  const int length = days_in(moved.month, moved.year);
  if (moved.day > length) moved.day = length;
  return from_unix_days(days_of(moved));
}

}  // namespace keel
