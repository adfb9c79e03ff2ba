// A PostgreSQL server's check of a statement before it runs: the server parses and describes it in a temporary database
// with the migrations applied.
//
// Types are the server's. A column may be null, with two exceptions: a table column that is `not null` and not on the
// optional side of an outer join, and an expression that sql/inference.h knows not to be null. The views of a schema
// are analyzed, too.

#pragma once

#include <memory>
#include <string>

#include "keel/base/result.h"
#include "sql/checker.h"

namespace keel::sql {

// `server`: see postgres/scratch.h. The error is that of db::migrate, or says that no server is available.
Result<std::unique_ptr<Checker>> make_postgres_checker(const std::string& migrations, const std::string& server);

}  // namespace keel::sql
