// Splits SQL into tokens, for any dialect that quotes like SQLite and PostgreSQL. Comments and blanks are left out.
//
// All bytes belong to tokens of some kind, so there are no errors.
//
// Lifetime: tokens are views into the text.
// Cost:     linear.

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
    Text,       // A string: 'a string', $$a string$$, e'a \'string\''
    Blob,       // x'00ff'
    Parameter,  // $1, $name
    Symbol,     // One operator.
    End,        // Of the text.
  };
  Kind kind = Kind::End;
  std::string_view text;  // The text as written, with quotes.
  std::size_t offset = 0;

  // Whether the token is this keyword, ignoring case; `word` must be in lower case.
  bool is(std::string_view word) const noexcept;
  bool is_symbol(std::string_view symbol) const noexcept { return kind == Kind::Symbol && text == symbol; }
  // The name, or the bytes of the string, without quotes. If an e'…' continues on other lines, returns only the first
  // part.
  std::string value() const;
};

// The last token has Kind::End.
std::vector<Lexeme> lexemes_of(std::string_view text);

// The end of the comment that begins at `at`; `at` itself if no comment begins there (db/sql.h).
std::size_t skip_comment(std::string_view text, std::size_t at) noexcept;

}  // namespace keel::sql
