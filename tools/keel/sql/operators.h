// The operators of SQL's expressions, and the words that no alias is.

#pragma once

#include "sql/lexemes.h"

namespace keel::sql {

// How strongly an operator binds; 0: it is none.
int strength_of(const Lexeme& lexeme, const Lexeme& next);

// Words that end an item, a table or an expression, and so are no alias without `as`.
bool is_reserved(const Lexeme& lexeme);

}  // namespace keel::sql
