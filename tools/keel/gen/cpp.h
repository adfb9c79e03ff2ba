// gen/cpp.h — C++ text in lines of at most 120 characters, formatted as by clang-format.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::gen {

inline constexpr std::size_t width = 120;

// Returns a quoted literal, which a compiler reads as exactly the bytes of `text`. Control characters of bidirectional
// text are escaped in a literal and left out of a comment, because they make an editor show a text that differs from
// the text that the compiler reads.
std::string literal(std::string_view text);
// Returns the literal of literal(), after `before` on the same line; if the line would be too long, splits the literal
// at blanks into several literals. `after` follows the last literal: ` return "…";`.
std::string literal_line(std::string_view before, std::string_view text, std::string_view after);
// Returns a comment with the first paragraph of a description, at most about 300 characters of it. Returns "" if the
// description is empty.
std::string comment(std::string_view indent, std::string_view description);
// Returns "before(a, b, c)after", on as few lines as possible.
std::string call(std::string_view before, std::string_view open, std::span<const std::string> arguments,
                 std::string_view after);
std::string call(std::string_view before, std::string_view open, std::initializer_list<std::string> arguments,
                 std::string_view after);
// Returns "before{a, b}after" on one line if it fits, else with one element per line.
std::string list(std::string_view indent, std::string_view before, std::span<const std::string> elements,
                 std::string_view after, bool is_always_long = false);
// Returns eight digits that depend only on the text.
std::string hash_of(std::string_view text);

}  // namespace keel::gen
