// Finds the SQL statements in C++ sources, and the place of each of their bytes.
//
// A statement is the first argument of a member call of db::Session and db::Transaction (db/session.h): query,
// query_one, query_optional, query_many, execute, stream; and of copy_out of db::postgres::Database, after the
// transaction if it has one. It consists of string literals and macros that expand to some, or is a constant that any
// of the sources initializes with them; if several constants have the same name, the one in the call's own source
// counts.
//
// Calls of these names without an object, or with a lambda or nothing as the first argument, are other functions; so
// are stream and copy_out without a type in angle brackets. A call is skipped if a comment on its line or on the line
// before says "keel sql: skip"; "keel sql: sqlite" and "keel sql: postgres" say which database the statement is for.

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
  std::size_t source = 0;  // The number of the source, in the order in which they were added.
  std::size_t offset = 0;
};

struct Statement {
  std::string text;
  std::vector<Place> origin;  // The place of each byte, and of the closing quote.
  std::string_view call;      // "query_one".
  std::string read_as;        // The text between the call's angle brackets, without blanks.
  // The only database that the statement is for, "sqlite" or "postgres"; "": all databases of the program.
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
  // The statements of all added sources, in their order.
  Found find() const;

  std::size_t count() const noexcept { return files_.size(); }
  // "users.cc:12:30": line and column count from 1, the column in bytes.
  std::string describe(const Place& place) const;

 private:
  struct Text {
    std::string value;
    std::vector<Place> origin;
    bool is_ambiguous = false;  // Whether several constants have that name.
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

  std::deque<File> files_;  // Tokens are views into their file, which must not move.
};

}  // namespace keel::sql
