// gen/cpp.h — the text of C++, in lines of at most 120 characters, as clang-format leaves it.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace keel::gen {

inline constexpr std::size_t width = 120;

// A literal in quotes, which a compiler reads as these bytes. Controls of bidirectional text are escaped in it, and
// left out of a comment: they would show a reader another text than the compiler's.
std::string literal(std::string_view text);
// The same behind `before`, at whose end it begins; broken at blanks into several where the line would be too long.
// `after` follows it: `  return "…";`.
std::string literal_line(std::string_view before, std::string_view text, std::string_view after);
// A comment of a description: its first paragraph, at most about 300 characters. "" when there is none.
std::string comment(std::string_view indent, std::string_view description);
// "before(a, b, c)after", on as few lines as there can be.
std::string call(std::string_view before, std::string_view open, std::span<const std::string> arguments,
                 std::string_view after);
std::string call(std::string_view before, std::string_view open, std::initializer_list<std::string> arguments,
                 std::string_view after);
// "before{a, b}after" where it fits, else an element a line.
std::string list(std::string_view indent, std::string_view before, std::span<const std::string> elements,
                 std::string_view after, bool is_always_long = false);
// Eight digits that depend on nothing but the text.
std::string hash_of(std::string_view text);

}  // namespace keel::gen
