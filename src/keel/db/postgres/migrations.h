// keel/db/postgres/migrations.h — applies a folder of migrations (db/migrations.h) to a PostgreSQL database.
//
// Each file is one transaction with its row in keel_migrations, so that a file is applied whole or not at all, and an
// advisory lock makes programs that start together take turns. Besides the errors of db/migrations.h, those of the
// database. A file that begins or ends a transaction is rejected; what PostgreSQL does not do within one, as create
// index concurrently or create database, is done by hand.
//
// Threads: any that runs no loop. Blocks.

#pragma once

#include <string>

#include "keel/db/migrations.h"
#include "keel/db/postgres/database.h"

namespace keel::db::postgres {

// Connects once. `options.migrations` is the folder; hold_max and statement_timeout do not count.
Result<Migrated> migrate(DatabaseOptions options);

}  // namespace keel::db::postgres
