// keel/db/sqlite/migrations.h — migrations (db/migrations.h) of an SQLite database.
//
// Foreign keys are not enforced while a file runs, and all of them are checked before it is committed: a file may build
// a table anew that others refer to. Rows that refer to none are InvalidArgument, "0002_x.sql: leaves rows in b that
// refer to none in a".
//
// Threads: the connection's. Blocks: call it before serving.

#pragma once

#include <string>

#include "keel/base/result.h"
#include "keel/db/migrations.h"

namespace keel::db::sqlite {

class Connection;

Result<Migrated> migrate(Connection& connection, const std::string& folder);

}  // namespace keel::db::sqlite
