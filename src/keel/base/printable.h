// keel/base/printable.h — text from outside, made fit for a terminal and for a file of lines.
//
//   for_each_printable(exception.what(), [&](std::string_view piece) { out.append(piece); });
//   std::fprintf(stderr, "%s\n", printable(error.describe()).c_str());
//
// A line feed, a carriage return and a tab become \n, \r and \t, other control characters (C1, line separators,
// bidirectional overrides) \u{009b}, and bytes that are not UTF-8 (RFC 3629) \xff: nothing can begin a line of its own,
// move the cursor or turn the text around. Everything else stays as it is.
//
// Threads: functions of their argument; for_each_printable() and what it calls are async-signal-safe.
// Cost:    a look at each byte.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/function.h"

namespace keel {

// Gives `f` the printable text in pieces, which are valid during the call.
void for_each_printable(std::string_view text, FunctionRef<void(std::string_view)> f);
std::string printable(std::string_view text);

// A character of UTF-8 text, and how many bytes it takes.
struct CodePoint {
  std::uint32_t point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8.
};
// The first one of `text`, which is not empty.
CodePoint first_code_point(std::string_view text) noexcept;
// Characters that a terminal or a reader of lines could interpret as more than text.
bool is_control(std::uint32_t point) noexcept;

}  // namespace keel
