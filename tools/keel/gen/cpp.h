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

// A quoted literal, which a compiler reads as exactly these bytes. Control characters of bidirectional text are escaped
// in a literal and left out of a comment, because they would make the text look different from what the compiler reads.
std::string literal(std::string_view text);
// The same literal, after `before` on the same line; if the line would be too long, the literal is split at blanks into
// several. `after` follows it: ` return "…";`.
std::string literal_line(std::string_view before, std::string_view text, std::string_view after);
// A comment made of a description: its first paragraph, at most about 300 characters. "" when there is none.
std::string comment(std::string_view indent, std::string_view description);
// "before(a, b, c)after", on as few lines as possible.
std::string call(std::string_view before, std::string_view open, std::span<const std::string> arguments,
                 std::string_view after);
std::string call(std::string_view before, std::string_view open, std::initializer_list<std::string> arguments,
                 std::string_view after);
// "before{a, b}after" on one line if it fits, else one element per line.
std::string list(std::string_view indent, std::string_view before, std::span<const std::string> elements,
                 std::string_view after, bool is_always_long = false);
// Eight digits that depend only on the text.
std::string hash_of(std::string_view text);

}  // namespace keel::gen
