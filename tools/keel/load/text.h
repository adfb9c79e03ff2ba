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

// Errors: OutOfRange if the file is larger than `bytes_max`, and the errors of open(2) and read(2), with the path.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Accepts only digits.
std::optional<std::uint64_t> parse_count(std::string_view text) noexcept;
// Reads a finite number such as "12.5": digits, optionally followed by a point and digits.
std::optional<double> parse_number(std::string_view text) noexcept;
// Reads a time such as "250ms", "10s", "1.5s", "2min", "1h" or "500us"; returns nothing if there is no unit.
std::optional<Duration> parse_duration(std::string_view text) noexcept;

// Writes a time with three significant digits: "12.4 us", "3.20 ms", "1.50 s".
std::string format_duration(Duration value);
// "1,234,567".
std::string format_count(std::uint64_t value);

}  // namespace keel::load
