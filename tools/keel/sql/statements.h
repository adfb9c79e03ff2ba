// Finds the SQL statements in C++ sources, and the place of each of their bytes.
//
// A statement is the first argument of a call of one of these members of db::Session and db::Transaction
// (db/session.h): query, query_one, query_optional, query_many, execute, stream. In a call of copy_out of
// db::postgres::Database, the statement is the first argument, or the second argument if the first is a transaction.
// The argument consists of string literals and of macros that expand to string literals, or is a constant that one of
// the sources initializes with them; if several constants have the same name, the constant in the call's own source is
// used.
//
// Calls of other functions are ignored: these are calls without an object, without arguments, or with a lambda as the
// first argument, and calls of stream and copy_out without a type in angle brackets. A call is skipped if a comment on
// its line or on the line before says "keel sql: skip"; "keel sql: sqlite" and "keel sql: postgres" name the database
// that the statement is for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sql/tokens.h"

namespace keel::sql {

// A byte of a source.
struct Place {
  std::size_t source = 0;  // The number of the source, in the order in which the sources were added.
  std::size_t offset = 0;
};

struct Statement {
  std::string text;
  std::vector<Place> origin;  // The place of each byte of `text`, and of the closing quote.
  std::string_view call;      // "query_one".
  std::string read_as;        // The text between the angle brackets of the call, without blanks.
  // The only database that the statement is for, "sqlite" or "postgres"; "" if it is for all databases of the program.
  std::string database = {};
};

// A call whose first argument cannot be determined.
struct Unknown {
  Place place;
  std::string argument;
};

class Sources {
 public:
  Sources() = default;
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  void add(std::string path, std::string text);

  struct Found {
    std::vector<Statement> statements;
    std::vector<Unknown> unknown;
  };
  // Finds the statements of all added sources, in the order of the sources.
  Found find() const;

  std::size_t count() const noexcept { return files_.size(); }
  // The place as "users.cc:12:30". The line and the column are counted from 1; the column is counted in bytes.
  std::string describe(const Place& place) const;

 private:
  struct Text {
    std::string value;
    std::vector<Place> origin;
    bool is_ambiguous = false;  // Whether several constants have the same name.
  };
  using Texts = std::map<std::string, Text, std::less<>>;
  struct File {
    std::string path;
    std::string text;
    std::vector<Token> tokens;
    Texts constants;
  };
  using Tokens = std::vector<Token>;

  static Texts constants_of(std::size_t source, const Tokens& tokens);
  static void add_constant(Texts& texts, std::string_view name, Text text);
  static Text text_of(std::size_t source, const Token* first, const Token* last);
  const Text* constant(std::size_t source, std::string_view name) const;
  std::optional<Text> evaluate(std::size_t source, const Token* first, const Token* last) const;
  void find_in(std::size_t source, Found& found) const;
  static std::string_view mark_at(const File& file, std::size_t offset) noexcept;

  std::deque<File> files_;  // A deque does not move its elements, which are files; tokens are views into these files.
};

}  // namespace keel::sql
