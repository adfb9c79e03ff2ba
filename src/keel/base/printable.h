// keel/base/printable.h — makes text from outside safe for a terminal and for line-oriented files.
//
//   for_each_printable(exception.what(), [&](std::string_view piece) { out.append(piece); });
//   std::fprintf(stderr, "%s\n", printable(error.describe()).c_str());
//
// A line feed, a carriage return and a tab become \n, \r and \t, other control characters (C1, line separators,
// bidirectional overrides) become \u{009b} and the like, and bytes that are not UTF-8 (RFC 3629) become \xff and the
// like. Therefore the result cannot begin a new line, move the cursor or reverse the direction of text. All other
// characters are unchanged.
//
// Threads: any; the functions depend only on their argument; for_each_printable() and what it calls are
//          async-signal-safe.
// Cost:    one pass over the bytes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/function.h"

namespace keel {

// Calls `f` with the printable text in pieces, which are valid during the call.
void for_each_printable(std::string_view text, FunctionRef<void(std::string_view)> f);
std::string printable(std::string_view text);

// A character of UTF-8 text, and its number of bytes.
struct CodePoint {
  std::uint32_t point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8.
};
// The first character of `text`, which must not be empty.
CodePoint first_code_point(std::string_view text) noexcept;
// True if a terminal, or a program that reads lines, could interpret the character as more than text.
bool is_control(std::uint32_t point) noexcept;

}  // namespace keel
