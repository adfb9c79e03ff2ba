// keel/db/postgres/migrations.h — applies a folder of migrations (db/migrations.h) to a PostgreSQL database.
//
// Each file and its row in keel_migrations are one transaction, so that a file is applied whole or not at all. An
// advisory lock makes programs that start at the same time take turns. The errors are those of db/migrations.h and of
// the database. A file that begins or ends a transaction is rejected.
//
// A statement that PostgreSQL does not allow in a transaction, such as create index concurrently, belongs in a file
// that begins with `-- keel: no transaction`; each other statement of such a file runs in its own transaction. The
// table keel_migration_steps records the number of statements that have run. If the process is killed, the statement
// that was running is run again. Such a file must therefore create indexes `if not exists` and drop them `if exists`,
// or it is rejected; an index that was left invalid is dropped first. Such a file needs one session for all of its
// statements: with the option `pooler` it is rejected with FailedPrecondition before any statement runs.
//
// Other processes wait for the lock outside of a transaction, because create index concurrently waits for all open
// transactions to end. They fail with Unavailable after `lock_max`.
//
// The option `migrations` is the folder; hold_max and statement_timeout do not apply. Connects once.
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

// Applies the files that have not been applied, up to number `last`; with 0, all of them.
Result<Migrated> migrate(DatabaseOptions options, int last = 0, Duration lock_max = migration_lock_max);
// Undoes the last `count` applied files.
Result<Migrated> migrate_down(DatabaseOptions options, int count = 1, Duration lock_max = migration_lock_max);
// Undoes the last applied file and applies it again.
Result<Migrated> migrate_redo(DatabaseOptions options, Duration lock_max = migration_lock_max);
// The files, and whether each has been applied.
Result<std::vector<MigrationStatus>> migration_status(DatabaseOptions options, Duration lock_max = migration_lock_max);

}  // namespace keel::db::postgres
