// keel/db/postgres/migrations.h — applies a folder of migrations (db/migrations.h) to a PostgreSQL database.
//
// Each file and its row in keel_migrations are written in one transaction, so that a file is applied either completely
// or not at all. An advisory lock makes processes that start at the same time apply migrations one after the other. The
// errors are those of db/migrations.h and those of the database. A file that begins or ends a transaction is rejected.
//
// A statement that PostgreSQL does not allow in a transaction, such as create index concurrently, belongs in a file
// that begins with `-- keel: no transaction`; every other statement of such a file runs in its own transaction. The
// table keel_migration_steps records how many statements of the file have run. If the process is killed, the statement
// that was running is run again. A file without a transaction must therefore create indexes `if not exists` and drop
// them `if exists`, or the file is rejected; an index that an interrupted run left invalid is dropped first. A file
// without a transaction needs one session for all of its statements, so the file is rejected with FailedPrecondition,
// before any statement runs, if the option `pooler` is set.
//
// Other processes wait for the lock without an open transaction, because create index concurrently waits until all open
// transactions have ended. A process that has waited for `lock_max` fails with Unavailable.
//
// The option `migrations` names the folder; the options hold_max and statement_timeout do not apply. Connects once.
//
// Threads: any thread that runs no loop. Blocks.

#pragma once

#include <string>
#include <vector>

#include "keel/base/time.h"
#include "keel/db/migrations.h"
#include "keel/db/postgres/database.h"

namespace keel::db::postgres {

// How long a process waits for another process that migrates the same database.
inline constexpr Duration migration_lock_max = Duration::minutes(60);

// Applies the files that have not been applied yet, up to number `last`; if that is 0, applies all of them.
Result<Migrated> migrate(DatabaseOptions options, int last = 0, Duration lock_max = migration_lock_max);
// Undoes the last `count` applied files.
Result<Migrated> migrate_down(DatabaseOptions options, int count = 1, Duration lock_max = migration_lock_max);
// Undoes the last applied file and applies it again.
Result<Migrated> migrate_redo(DatabaseOptions options, Duration lock_max = migration_lock_max);
// Returns the files, and tells for each file whether and when it was applied.
Result<std::vector<MigrationStatus>> migration_status(DatabaseOptions options, Duration lock_max = migration_lock_max);

}  // namespace keel::db::postgres
