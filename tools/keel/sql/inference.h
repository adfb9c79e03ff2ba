// The types of a statement's columns and parameters, and which of them may be null, as SQLite computes them.
//
// SQLite says no more than where a column that is taken as it is comes from. Here is what follows from the text: the
// null side of outer joins, aggregates over no rows, functions, subqueries, views; and of a parameter, what it is
// compared with, or goes into.
//
// "" is a type that is not known, and what is not known to be there may be null.

#pragma once

#include <optional>

#include "sql/described.h"
#include "sql/schema.h"
#include "sql/syntax.h"

namespace keel::sql {

// Nothing: the statement has something that is not understood.
std::optional<Described> infer(const Schema& schema, const StatementTree& statement);

}  // namespace keel::sql
