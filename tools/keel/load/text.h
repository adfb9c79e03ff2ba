// Common functions for options: reads files, and numbers and times as people write them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::load {

// OutOfRange above `bytes_max`; otherwise the error of open(2) or read(2), with the path.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Accepts only digits.
std::optional<std::uint64_t> parse_count(std::string_view text) noexcept;
// "12.5": digits, optionally followed by a point and digits; finite.
std::optional<double> parse_number(std::string_view text) noexcept;
// "250ms", "10s", "1.5s", "2min", "1h", "500us"; nothing is returned without a unit.
std::optional<Duration> parse_duration(std::string_view text) noexcept;

// "12.4 us", "3.20 ms", "1.50 s": three significant digits.
std::string format_duration(Duration value);
// "1,234,567".
std::string format_count(std::uint64_t value);

}  // namespace keel::load
