// C++ source as tokens: as much of the language as finding SQL in it takes.
//
// The preprocessor is not run: what stands between #if and #endif is there, macros are names, and the lines of
// #include, #pragma, #line, #error and #warning are left out. Any bytes are tokens of some kind; nothing is an error.
//
// Lifetime: tokens are views into the source.  Cost: linear.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::sql {

struct Token {
  enum class Kind : std::uint8_t {
    Name,         // An identifier or a keyword.
    Define,       // The name behind #define. Its text follows as tokens, and then EndOfLine.
    Number,       // With its suffix.
    Text,         // A string literal.
    Character,    // A character literal.
    Punctuation,  // One byte, or `->` or `::`.
    EndOfLine,    // Of a preprocessor directive.
  };
  Kind kind;
  std::string_view text;  // As it is written; prefix, quotes and all.
  std::size_t offset;     // In the source.
  // Of Text: the bytes that it stands for, and where in the source each of them, and then the closing quote, is.
  std::string value = {};
  std::vector<std::uint32_t> origin = {};

  bool is(std::string_view punctuation) const noexcept { return kind == Kind::Punctuation && text == punctuation; }
};

// Of at most 4 GiB.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace keel::sql
