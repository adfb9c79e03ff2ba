#include "sql/operators.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace keel::sql {

int strength_of(const Lexeme& lexeme, const Lexeme& next) {
  if (lexeme.kind == Lexeme::Kind::Symbol) {
    static constexpr std::pair<std::string_view, int> operators[] = {
        {"=", 4},  {"==", 4}, {"<>", 4}, {"!=", 4}, {"<", 5}, {">", 5}, {"<=", 5}, {">=", 5}, {"&", 6},  {"|", 6},
        {"<<", 6}, {">>", 6}, {"+", 7},  {"-", 7},  {"*", 8}, {"/", 8}, {"%", 8},  {"||", 9}, {"->", 9}, {"->>", 9}};
    for (const auto& [symbol, strength] : operators) {
      if (lexeme.text == symbol) return strength;
    }
    return lexeme.text == "::" ? 11 : 0;
  }
  if (lexeme.is("or")) return 1;
  if (lexeme.is("and")) return 2;
  for (const std::string_view word :
       {"is", "in", "like", "ilike", "glob", "match", "regexp", "between", "isnull", "notnull"}) {
    if (lexeme.is(word)) return 4;
  }
  if (lexeme.is("not")) {
    for (const std::string_view word : {"in", "like", "ilike", "glob", "match", "regexp", "between", "null"}) {
      if (next.is(word)) return 4;
    }
  }
  return lexeme.is("collate") ? 10 : 0;
}

bool is_reserved(const Lexeme& lexeme) {
  static constexpr std::string_view words[] = {
      "from",   "where",   "group",  "having",  "order",     "limit",   "offset",  "union",  "intersect",
      "except", "window",  "on",     "using",   "join",      "left",    "right",   "full",   "inner",
      "cross",  "natural", "set",    "values",  "select",    "as",      "and",     "or",     "not",
      "is",     "in",      "like",   "between", "then",      "when",    "else",    "end",    "asc",
      "desc",   "nulls",   "do",     "default", "returning", "collate", "indexed", "isnull", "notnull",
      "glob",   "match",   "regexp", "filter",  "over",      "escape",  "outer",   "ilike"};
  return std::ranges::any_of(words, [&](std::string_view word) { return lexeme.is(word); });
}

}  // namespace keel::sql
