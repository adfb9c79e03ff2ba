// Splits SQL into tokens, for any dialect that quotes like SQLite and PostgreSQL. Comments and blanks are left out.
//
// Any bytes are tokens of some kind; there are no errors.
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
    Text,       // 'a string', $$a string$$, e'a \'string\''
    Blob,       // x'00ff'
    Parameter,  // $1, $name
    Symbol,     // One operator.
    End,        // Of the text.
  };
  Kind kind = Kind::End;
  std::string_view text;  // The text as it is written.
  std::size_t offset = 0;

  // Whether it is this keyword, ignoring case; `word` is in lower case.
  bool is(std::string_view word) const noexcept;
  bool is_symbol(std::string_view symbol) const noexcept { return kind == Kind::Symbol && text == symbol; }
  // The name, or the bytes of the string, without quotes. For an e'…' that continues on other lines: the first part.
  std::string value() const;
};

// The last one has Kind::End.
std::vector<Lexeme> lexemes_of(std::string_view text);

// The end of the comment that begins at `at`; `at` itself if there is none (db/sql.h).
std::size_t skip_comment(std::string_view text, std::size_t at) noexcept;

}  // namespace keel::sql
