// keel/db/sqlite/migrations.h — migrations (db/migrations.h) of an SQLite database.
//
// Foreign keys are not enforced while a file runs, and all of them are checked before it is committed: a file may build
// a table anew that others refer to. Rows that refer to none are InvalidArgument, "0002_x.sql: leaves rows in b that
// refer to none in a".
//
// The write lock is what starters wait for, at most for the connection's busy_timeout; then it is Unavailable.
//
// In a file without a transaction `vacuum` may stand; all other statements run each in a transaction of its own. The
// table keel_migration_steps has how far such a file has come.
//
// Threads: the connection's. Blocks: call it before serving.

#pragma once

#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/db/migrations.h"

namespace keel::db::sqlite {

class Connection;

// The operations of db/migrations.h on a connection.
Result<Migrated> migrate(Connection& connection, const std::string& folder, int last = 0);
Result<Migrated> migrate_down(Connection& connection, const std::string& folder, int count = 1);
Result<Migrated> migrate_redo(Connection& connection, const std::string& folder);
Result<std::vector<MigrationStatus>> migration_status(Connection& connection, const std::string& folder);

}  // namespace keel::db::sqlite
