// Splits C++ source into tokens: as much of the language as is needed to find SQL in it.
//
// The preprocessor is not run: text between #if and #endif is included, macros are names, and the lines of #include,
// #pragma, #line, #error and #warning are left out. All bytes belong to tokens of some kind, so there are no errors.
//
// Lifetime: tokens are views into the source.
// Cost:     linear.

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
    Define,       // The name after #define. The next tokens are the macro's text, up to an EndOfLine.
    Number,       // With its suffix.
    Text,         // A string literal.
    Character,    // A character literal.
    Punctuation,  // One byte, or `->` or `::`.
    EndOfLine,    // The end of a preprocessor directive.
  };
  Kind kind;
  std::string_view text;  // The text as written, with prefix and quotes.
  std::size_t offset;     // The offset in the source.
  // For Text: the bytes that the literal represents, and the place in the source of each byte and of the closing quote.
  std::string value = {};
  std::vector<std::uint32_t> origin = {};

  bool is(std::string_view punctuation) const noexcept { return kind == Kind::Punctuation && text == punctuation; }
};

// The source must be at most 4 GiB.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace keel::sql
