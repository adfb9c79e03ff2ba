// keel/db/sqlite/migrations.h — applies migrations (db/migrations.h) to an SQLite database.
//
// Foreign keys are not enforced while a file runs, so that the file can rebuild a table to which other tables refer;
// all foreign keys are checked before the file is committed. If rows refer to missing rows, the error is
// InvalidArgument: "0002_x.sql: leaves rows in b that refer to no row of a".
//
// Processes that start at the same time wait for the write lock for at most the connection's busy_timeout, and then
// fail with Unavailable.
//
// A file without a transaction may contain `vacuum`; each statement of the file that is not `vacuum` runs in its own
// transaction. The table keel_migration_steps records how many statements of a file without a transaction have run.
//
// Threads: as for the connection. The functions block: call them before the service starts to serve.

#pragma once

#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/db/migrations.h"

namespace keel::db::sqlite {

class Connection;

// The operations of db/migrations.h, on an SQLite connection.
Result<Migrated> migrate(Connection& connection, const std::string& folder, int last = 0);
Result<Migrated> migrate_down(Connection& connection, const std::string& folder, int count = 1);
Result<Migrated> migrate_redo(Connection& connection, const std::string& folder);
Result<std::vector<MigrationStatus>> migration_status(Connection& connection, const std::string& folder);

}  // namespace keel::db::sqlite
