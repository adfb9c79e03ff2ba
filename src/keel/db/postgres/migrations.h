// keel/db/postgres/migrations.h — applies a folder of migrations (db/migrations.h) to a PostgreSQL database.
//
// Each file is one transaction with its row in keel_migrations, so that a file is applied whole or not at all, and an
// advisory lock makes programs that start together take turns. Besides the errors of db/migrations.h, those of the
// database. A file that begins or ends a transaction is rejected.
//
// Statements that PostgreSQL cannot run within a transaction, such as create index concurrently, belong in a file that
// begins with `-- keel: no transaction`; every other statement of such a file runs in its own transaction. The table
// keel_migration_steps records how far it has come. If a process is killed, its current statement may have run, so it
// is run again: an index must be created `if not exists` and dropped `if exists`, or the file is rejected; an index
// that was left invalid is dropped first.
//
// Other processes wait for the lock without a transaction, because create index concurrently would wait for that: at
// most `lock_max`, then it is Unavailable.
//
// Of the options `migrations` is the folder; hold_max and statement_timeout do not apply. Connects once.
//
// Threads: any that does not run a loop. Blocks.

#pragma once

#include <string>
#include <vector>

#include "keel/base/time.h"
#include "keel/db/migrations.h"
#include "keel/db/postgres/database.h"

namespace keel::db::postgres {

// How long a process waits for another one that migrates the same database.
inline constexpr Duration migration_lock_max = Duration::minutes(60);

// Applies the files that are not applied yet, up to `last`; 0: all.
Result<Migrated> migrate(DatabaseOptions options, int last = 0, Duration lock_max = migration_lock_max);
// Undoes the last `count`.
Result<Migrated> migrate_down(DatabaseOptions options, int count = 1, Duration lock_max = migration_lock_max);
// Undoes the last one and applies it again.
Result<Migrated> migrate_redo(DatabaseOptions options, Duration lock_max = migration_lock_max);
// Which files are applied, and which are not.
Result<std::vector<MigrationStatus>> migration_status(DatabaseOptions options, Duration lock_max = migration_lock_max);

}  // namespace keel::db::postgres
