// keel/db/postgres/migrations.h — applies a folder of migrations (db/migrations.h) to a PostgreSQL database.
//
// Each file is one transaction with its row in keel_migrations, so that a file is applied whole or not at all, and an
// advisory lock makes programs that start together take turns. Besides the errors of db/migrations.h, those of the
// database. A file that begins or ends a transaction is rejected.
//
// What PostgreSQL does not do within a transaction, as create index concurrently, stands in a file that begins with
// `-- keel: no transaction`; all other statements of such a file run each in a transaction of its own. The table
// keel_migration_steps has how far it has come. A process that is killed may have run the statement it was at, so it is
// run again: an index is created `if not exists` and dropped `if exists`, or the file is rejected; and one that was
// left invalid is dropped first.
//
// Others wait for the lock without a transaction, which create index concurrently would wait for: at most `lock_max`,
// then it is Unavailable.
//
// Of the options `migrations` is the folder; hold_max and statement_timeout do not count. Connects once.
//
// Threads: any that runs no loop. Blocks.

#pragma once

#include <string>
#include <vector>

#include "keel/base/time.h"
#include "keel/db/migrations.h"
#include "keel/db/postgres/database.h"

namespace keel::db::postgres {

// How long a process waits for another one that migrates the same database.
inline constexpr Duration migration_lock_max = Duration::minutes(60);

// Applies what has not been applied, up to `last`; 0: all.
Result<Migrated> migrate(DatabaseOptions options, int last = 0, Duration lock_max = migration_lock_max);
// Undoes the last `count`.
Result<Migrated> migrate_down(DatabaseOptions options, int count = 1, Duration lock_max = migration_lock_max);
// Undoes the last one and applies it again.
Result<Migrated> migrate_redo(DatabaseOptions options, Duration lock_max = migration_lock_max);
// What is applied, and what is not.
Result<std::vector<MigrationStatus>> migration_status(DatabaseOptions options, Duration lock_max = migration_lock_max);

}  // namespace keel::db::postgres
