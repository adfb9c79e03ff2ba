#include "keel/data/timestamp.h"

#include "keel/base/ascii.h"
#include "keel/base/calendar.h"
#include "keel/base/host.h"

namespace keel {
namespace {

constexpr std::int64_t day_seconds = 86'400;
constexpr std::int64_t second_ns = 1'000'000'000;

// The quotient, rounded down; `rest` is never negative.
std::int64_t divide_down(std::int64_t value, std::int64_t by, std::int64_t& rest) noexcept {
  std::int64_t quotient = value / by;
  rest = value % by;
  if (rest < 0) {
    --quotient;
    rest += by;
  }
  return quotient;
}

char* put(char* to, int value, int digits) noexcept {
  for (int i = digits; i-- > 0; value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + digits;
}

// Reads a text from left to right; `ok` becomes false at the first unexpected character, and then stays false.
struct Parts {
  std::string_view rest;
  bool ok = true;

  bool take(char c) noexcept {
    if (!rest.starts_with(c)) return false;
    rest.remove_prefix(1);
    return true;
  }
  void expect(char c) noexcept { ok = take(c) && ok; }
  int digits(std::size_t count, int least, int most) noexcept {
    int value = 0;
    if (rest.size() < count) return ok = false, 0;
    for (std::size_t i = 0; i < count; ++i) {
      ok = ok && ascii::is_digit(rest[i]);
      value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(count);
    ok = ok && value >= least && value <= most;
    return ok ? value : 0;
  }
  std::uint32_t fraction() noexcept {
    std::uint32_t ns = 0;
    std::size_t count = 0;
    for (; count < rest.size() && ascii::is_digit(rest[count]); ++count) {
      if (count < 9) ns = ns * 10 + static_cast<std::uint32_t>(rest[count] - '0');
    }
    for (std::size_t i = count; i < 9; ++i) ns *= 10;
    ok = ok && count > 0;
    rest.remove_prefix(count);
    return ns;
  }
  int offset_seconds() noexcept {
    if (take('Z') || take('z')) return 0;
    const bool is_behind = take('-');
    if (!is_behind) expect('+');
    const int hours = digits(2, 0, 23);
    expect(':');
    const int seconds = (hours * 60 + digits(2, 0, 59)) * 60;
    return is_behind ? -seconds : seconds;
  }
};

}  // namespace

Timestamp Timestamp::now() noexcept { return now(Host::current()); }
Timestamp Timestamp::now(Host& host) noexcept { return from_unix_ns(host.wall_ns()); }

Timestamp Timestamp::at(std::int64_t seconds, std::uint32_t ns) noexcept {
  if (seconds < first().seconds_) return first();
  if (seconds > last().seconds_) return last();
  return {seconds, ns};
}

Timestamp Timestamp::moved(Duration by) const noexcept {
  std::int64_t rest = 0;
  std::int64_t seconds = seconds_ + divide_down(by.count_ns(), second_ns, rest);
  rest += ns_;
  if (rest >= second_ns) {
    rest -= second_ns;
    ++seconds;
  }
  return at(seconds, static_cast<std::uint32_t>(rest));
}

Duration Timestamp::since(Timestamp other) const noexcept {
  return Duration::seconds(seconds_ - other.seconds_) +
         Duration::nanoseconds(std::int64_t{ns_} - std::int64_t{other.ns_});
}

Result<Timestamp> Timestamp::parse(std::string_view text) noexcept {
  Parts parts{text};
  CalendarDate date;
  date.year = parts.digits(4, 0, 9999);
  parts.expect('-');
  date.month = parts.digits(2, 1, 12);
  parts.expect('-');
  date.day = parts.digits(2, 1, parts.ok ? days_in(date.month, date.year) : 31);
  if (!parts.take('T')) parts.expect('t');
  const int hour = parts.digits(2, 0, 23);
  parts.expect(':');
  const int minute = parts.digits(2, 0, 59);
  parts.expect(':');
  const int second = parts.digits(2, 0, 60);
  const std::uint32_t ns = parts.take('.') ? parts.fraction() : 0;
  const int offset = parts.offset_seconds();
  if (!parts.ok || !parts.rest.empty()) return fail(Code::InvalidArgument, expected);

  const std::int64_t seconds = days_of(date) * day_seconds + hour * 3600 + minute * 60 + second - offset;
  if (second == 60) {
    std::int64_t of_day = 0;
    const std::int64_t day = divide_down(seconds, day_seconds, of_day);
    if (of_day != 0 || date_of(day).day != 1) return fail(Code::InvalidArgument, expected);
  }
  if (seconds < first().seconds_ || seconds > last().seconds_) return fail(Code::InvalidArgument, expected);
  return Timestamp(seconds, ns);
}

Timestamp::Text Timestamp::text(int digits) const noexcept {
  std::int64_t of_day = 0;
  const CalendarDate date = date_of(divide_down(seconds_, day_seconds, of_day));
  Text text;
  char* to = put(text.data(), date.year, 4);
  *to++ = '-';
  to = put(to, date.month, 2);
  *to++ = '-';
  to = put(to, date.day, 2);
  *to++ = 'T';
  to = put(to, static_cast<int>(of_day / 3600), 2);
  *to++ = ':';
  to = put(to, static_cast<int>(of_day / 60 % 60), 2);
  *to++ = ':';
  to = put(to, static_cast<int>(of_day % 60), 2);
  if (digits > 0) {
    *to++ = '.';
    int fraction = static_cast<int>(ns_);
    for (int i = digits; i < 9; ++i) fraction /= 10;
    to = put(to, fraction, digits);
  }
  *to++ = 'Z';
  text.resize(static_cast<std::size_t>(to - text.data()));
  return text;
}

Timestamp::Text Timestamp::text() const noexcept {
  if (ns_ == 0) return text(0);
  if (ns_ % 1'000'000 == 0) return text(3);
  return text(ns_ % 1'000 == 0 ? 6 : 9);
}

Timestamp::Text Timestamp::ordered_text() const noexcept { return text(9); }

}  // namespace keel
