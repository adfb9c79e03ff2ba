// The SQL statements of C++ sources, and where each byte of them stands.
//
// A statement is the first argument of a member call of db::Queries (db/session.h): query, query_one, query_optional,
// query_many, execute. It is one or several string literals, macros of such, or a constant that is initialised with
// them in any of the sources; of constants that have the same name, that of the call's own source.
//
// Calls of these names without an object, or with a lambda or nothing as the first argument, are other functions. So is
// any call on whose line, or the line before, a comment says "keel sql: skip".

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
  std::size_t source = 0;  // By the order in which they were added.
  std::size_t offset = 0;
};

struct Statement {
  std::string text;
  std::vector<Place> origin;  // Of each byte, and of the closing quote.
  std::string_view call;      // "query_one".
  std::string read_as;        // What stands between the call's angle brackets, blanks left out.
};

// A call whose first argument is not known here.
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
  // Of all sources that were added, in their order.
  Found find() const;

  std::size_t count() const noexcept { return files_.size(); }
  // "users.cc:12:30": line and column count from 1, the column in bytes.
  std::string describe(const Place& place) const;

 private:
  struct Text {
    std::string value;
    std::vector<Place> origin;
    bool is_ambiguous = false;  // The name has several.
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
  bool is_skipped(const File& file, std::size_t offset) const noexcept;

  std::deque<File> files_;  // Tokens are views into their file, which does not move.
};

}  // namespace keel::sql
