// Infers the types of a statement's columns and parameters, and which of them may be null, by the rules of SQLite.
//
// SQLite itself reports the origin of a column only if the column is selected unchanged. This module infers the other
// facts from the statement's text. For columns, the module considers the null side of outer joins, aggregates over no
// rows, functions, subqueries and views. For a parameter, the module considers the values with which the parameter is
// compared or to which it is assigned.
//
// "" is an unknown type. A value counts as nullable unless the statement shows that it cannot be null.

#pragma once

#include <optional>

#include "sql/described.h"
#include "sql/schema.h"
#include "sql/syntax.h"

namespace keel::sql {

// Returns nothing if the statement contains syntax that the parser does not understand.
std::optional<Described> infer(const Schema& schema, const StatementTree& statement);

}  // namespace keel::sql
