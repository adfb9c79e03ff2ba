// Lets a PostgreSQL server check a statement before the statement runs: the server parses and describes the statement
// in a temporary database with the migrations applied.
//
// The types of parameters and columns are those that the server reports. A column counts as nullable, with two
// exceptions: a table column that is `not null` and not on the optional side of an outer join, and an expression for
// which sql/inference.h finds that it is never null. The definitions of the schema's views are analyzed by the same
// rules.

#pragma once

#include <memory>
#include <string>

#include "keel/base/result.h"
#include "sql/checker.h"

namespace keel::sql {

// `server`: see postgres/scratch.h. Fails with the error of db::migrate, or with an error that says that no server is
// available.
Result<std::unique_ptr<Checker>> make_postgres_checker(const std::string& migrations, const std::string& server);

}  // namespace keel::sql
