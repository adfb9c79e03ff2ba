// SQL as tokens, of any dialect that quotes as SQLite and PostgreSQL do. Comments and blanks are left out.
//
// Any bytes are tokens of some kind; nothing is an error.
//
// Lifetime: tokens are views into the text.  Cost: linear.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace keel::sql {

struct Lexeme {
  enum class Kind : std::uint8_t {
    Word,       // A name or a keyword.
    Quoted,     // A name in quotes, backticks or brackets.
    Number,     //
    Text,       // 'a string'
    Blob,       // x'00ff'
    Parameter,  // $1, $name
    Symbol,     // One operator.
    End,        // Of the text.
  };
  Kind kind = Kind::End;
  std::string_view text;  // As it is written.
  std::size_t offset = 0;

  // A keyword, whatever its case; `word` is in lower case.
  bool is(std::string_view word) const noexcept;
  bool is_symbol(std::string_view symbol) const noexcept { return kind == Kind::Symbol && text == symbol; }
  // The name, or the bytes of the string, without its quotes.
  std::string value() const;
};

// Ends with one of Kind::End.
std::vector<Lexeme> lexemes_of(std::string_view text);

// Where the comment that begins at `at` ends; `at` itself where none begins. One of two dashes ends before its newline.
std::size_t skip_comment(std::string_view text, std::size_t at) noexcept;

}  // namespace keel::sql
