// What a PostgreSQL server says of a statement before it runs: it is parsed and described in a scratch database that
// has the migrations.
//
// Types are the server's. A column may be null unless it is a column of a table that is `not null` and not on the side
// of an outer join that may be missing, or an expression that sql/inference.h knows; the views of a schema are looked
// into.

#pragma once

#include <memory>
#include <string>

#include "keel/base/result.h"
#include "sql/checker.h"

namespace keel::sql {

// `server`: see postgres/scratch.h. The error is that of db::migrate, or says that no server can be had.
Result<std::unique_ptr<Checker>> make_postgres_checker(const std::string& migrations, const std::string& server);

}  // namespace keel::sql
