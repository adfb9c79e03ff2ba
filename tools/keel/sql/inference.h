// Infers the types of a statement's columns and parameters, and which of them may be null, by the rules of SQLite.
//
// SQLite itself only reports the origin of a column that is selected unchanged. The rest is inferred here from the
// text: the null side of outer joins, aggregates over no rows, functions, subqueries, views; and, for a parameter, the
// values that it is compared with or assigned to.
//
// "" stands for an unknown type, and a value may be null unless it is known not to be.

#pragma once

#include <optional>

#include "sql/described.h"
#include "sql/schema.h"
#include "sql/syntax.h"

namespace keel::sql {

// Nothing: the statement contains something that is not understood.
std::optional<Described> infer(const Schema& schema, const StatementTree& statement);

}  // namespace keel::sql
