// The operators of SQL's expressions, and the words that cannot be an alias.

#pragma once

#include "sql/lexemes.h"

namespace keel::sql {

// The precedence of an operator; 0 if the token is not an operator.
int strength_of(const Lexeme& lexeme, const Lexeme& next);

// Whether the token is a word that ends an item, a table or an expression, and so cannot be an alias without `as`.
bool is_reserved(const Lexeme& lexeme);

}  // namespace keel::sql
