// keel/base/time.h — Duration and Instant: strong 64-bit counts of nanoseconds.
//
// Duration is a signed span of time (about ±292 years). Instant is a point on the monotonic clock of the current
// Host (base/host.h); it has no relation to the calendar. Arithmetic saturates: forever() + x is forever(). A Duration
// can be multiplied by an integer on either side (days * 24_h), and divided by an integer or by another Duration.
//
// Threads: values.
// Cost:    integer arithmetic.

#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace keel {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanoseconds(std::int64_t count) { return Duration(count); }
  static constexpr Duration microseconds(std::int64_t count) { return scaled(count, 1'000); }
  static constexpr Duration milliseconds(std::int64_t count) { return scaled(count, 1'000'000); }
  static constexpr Duration seconds(std::int64_t count) { return scaled(count, 1'000'000'000); }
  static constexpr Duration minutes(std::int64_t count) { return scaled(count, 60'000'000'000); }
  static constexpr Duration hours(std::int64_t count) { return scaled(count, 3'600'000'000'000); }
  // A day is 24 hours, whatever a calendar says.
  static constexpr Duration days(std::int64_t count) { return scaled(count, 86'400'000'000'000); }
  static constexpr Duration forever() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t count_ns() const { return ns_; }
  constexpr std::int64_t count_us() const { return ns_ / 1'000; }
  constexpr std::int64_t count_ms() const { return ns_ / 1'000'000; }
  constexpr double count_seconds() const { return static_cast<double>(ns_) / 1e9; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator-() const { return Duration() - *this; }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(add(a.ns_, b.ns_)); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(subtract(a.ns_, b.ns_)); }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }
  constexpr Duration& operator-=(Duration other) { return *this = *this - other; }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return scaled(n, a.ns_); }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return scaled(n, a.ns_); }
  friend constexpr Duration operator/(Duration a, std::int64_t n) { return n == -1 ? -a : Duration(a.ns_ / n); }
  // The quotient of `a` by `b`, rounded toward zero: 90_min / 1_h is 1.
  friend constexpr std::int64_t operator/(Duration a, Duration b) { return (a / b.ns_).ns_; }
  // The remainder of the division of `a` by `b`: 90_min % 1_h is 30_min.
  friend constexpr Duration operator%(Duration a, Duration b) { return Duration(b.ns_ == -1 ? 0 : a.ns_ % b.ns_); }

 private:
  explicit constexpr Duration(std::int64_t ns) : ns_(ns) {}
  static constexpr std::int64_t add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) {
      return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
    }
    return sum;
  }
  static constexpr std::int64_t subtract(std::int64_t a, std::int64_t b) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a, b, &difference)) {
      return b < 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
    }
    return difference;
  }
  static constexpr Duration scaled(std::int64_t count, std::int64_t unit) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(count, unit, &product)) {
      return Duration((count < 0) == (unit < 0) ? std::numeric_limits<std::int64_t>::max()
                                                : std::numeric_limits<std::int64_t>::min());
    }
    return Duration(product);
  }
  std::int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant from_ns(std::int64_t ns) { return Instant(ns); }
  static constexpr Instant never() { return Instant(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ns() const { return ns_; }
  constexpr bool is_never() const { return *this == never(); }

  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Instant operator+(Instant at, Duration d) { return from_ns((at.since_zero() + d).count_ns()); }
  friend constexpr Instant operator-(Instant at, Duration d) { return from_ns((at.since_zero() - d).count_ns()); }
  constexpr Instant& operator+=(Duration d) { return *this = *this + d; }
  constexpr Instant& operator-=(Duration d) { return *this = *this - d; }
  friend constexpr Duration operator-(Instant a, Instant b) { return a.since_zero() - b.since_zero(); }

 private:
  explicit constexpr Instant(std::int64_t ns) : ns_(ns) {}
  constexpr Duration since_zero() const { return Duration::nanoseconds(ns_); }
  std::int64_t ns_ = 0;
};

inline namespace literals {
constexpr Duration operator""_ns(unsigned long long n) { return Duration::nanoseconds(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_us(unsigned long long n) { return Duration::microseconds(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_ms(unsigned long long n) { return Duration::milliseconds(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_s(unsigned long long n) { return Duration::seconds(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_min(unsigned long long n) { return Duration::minutes(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_h(unsigned long long n) { return Duration::hours(static_cast<std::int64_t>(n)); }
constexpr Duration operator""_d(unsigned long long n) { return Duration::days(static_cast<std::int64_t>(n)); }
}  // namespace literals

}  // namespace keel
