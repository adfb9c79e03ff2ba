#include "load/text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "keel/base/ascii.h"

namespace keel::load {

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error::from_errno("open", errno).because(path);
  std::string text;
  ssize_t got = 0;
  do {
    const std::size_t before = text.size();
    text.resize(before + 64 * 1024);
    got = ::read(fd, text.data() + before, 64 * 1024);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  } while (got > 0 && text.size() <= bytes_max);
  const int error = errno;
  ::close(fd);
  if (got < 0) return Error::from_errno("read", error).because(path);
  if (text.size() > bytes_max) {
    return Error::text(Code::OutOfRange, path + ": more than " + std::to_string(bytes_max) + " bytes");
  }
  return text;
}

std::optional<std::uint64_t> parse_count(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) noexcept {
  double value = 0;
  if (text.empty() || !ascii::is_digit(text.front())) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Duration> parse_duration(std::string_view text) noexcept {
  const std::pair<std::string_view, double> units[] = {
      {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const auto& [unit, ns] : units) {
    if (text.substr(digits) == unit && *number * ns < 9e18) return Duration::nanoseconds(std::llround(*number * ns));
  }
  return std::nullopt;
}

std::string format_duration(Duration value) {
  const std::pair<const char*, double> units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const auto ns = static_cast<double>(value.count_ns());
  std::size_t unit = 0;
  while (unit < 3 && ns >= 999.5 * units[unit].second) ++unit;
  const double shown = ns / units[unit].second;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s",
                shown >= 99.95 || unit == 0 ? 0
                : shown >= 9.995            ? 1
                                            : 2,
                shown, units[unit].first);
  return text;
}

std::string format_count(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace keel::load
