// keel/db/migrations.h — applies migrations to the schema of a database. The migrations are `NNNN_name.sql` files,
// which are applied in order, each once.
//
// A folder contains 0001_users.sql, 0002_orders.sql, …, which are numbered from 1 without gaps. Each file is applied in
// its own transaction under the database's write lock, so that processes that start at the same time do not collide.
// The same transaction records the file with its checksum in the table keel_migrations(version, name, checksum,
// applied_at). Never edit a file that has been applied: write a new file instead. A back end supports migrations by
// implementing MigrationTarget.
//
// Next to 0002_orders.sql there may be a 0002_orders.down.sql, which undoes 0002_orders.sql in one transaction. The
// checksum of the .down.sql file is not recorded, so the .down.sql file may be added and corrected later.
//
// If databases differ, PostgreSQL gets 0001_users.postgres.sql instead of 0001_users.sql, and SQLite gets
// 0001_users.sqlite.sql; 0001_users.postgres.down.sql undoes the file for PostgreSQL. For each database, every number
// must have a file.
//
// A file whose first line is `-- keel: no transaction` runs its statements one after the other. Each statement runs in
// its own transaction, together with the record that it has run; but a statement that cannot be in a transaction
// (`vacuum`) is recorded after it has run, so it may run twice. If the process is killed, the file is half applied, and
// the next migrate() continues with the first statement that has not run. A file that was edited after its first
// statement ran is rejected.
//
// The checksum is SHA-256 in 64 hexadecimal digits. A checksum of 16 digits comes from an earlier version of this
// library (64-bit FNV-1a): if the file still has this FNV-1a, the file is unchanged, and its row gets the new checksum.
//
// Result:   the number of files that this call applied or undid, and the version reached.
// Errors:   FailedPrecondition if an applied file is missing or has changed, if the database is newer than the folder,
//           or if a file to be undone has no .down.sql. InvalidArgument: a badly named file, a gap in the numbers, a
//           number that is used twice, wrong SQL ("0002_orders.sql:7: near …"), or transaction control or a pragma in a
//           file. NotFound: no folder. Unavailable: another process holds the lock for too long. Unsupported: the back
//           end does not support the operation. Each error names the files and says how to fix the problem. Files
//           committed before the error stay applied.
// Threads:  those of the MigrationTarget. Blocks: call it before the service starts to serve.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"

namespace keel::db {

// The result of a call: the number of files, and the version reached.
struct Migrated {
  int applied = 0;  // Files that this call applied or undid.
  int version = 0;  // The version reached.
};

// A file of the folder: its number, name and text.
struct Migration {
  int version = 0;
  std::string name;  // The part `name` of NNNN_name.sql.
  std::string text;
  std::string checksum;  // SHA-256, in lower-case hexadecimal digits.
  // The name of the file that undoes this file, such as "0002_orders.down.sql"; empty when there is none.
  std::string down_name;
  std::string down_text;        //
  bool has_transaction = true;  // False if the file begins with `-- keel: no transaction`.
};

// A file, and whether and when it was applied.
struct MigrationStatus {
  int version = 0;
  std::string name;
  bool is_applied = false;
  std::int64_t applied_at = 0;  // The time in seconds since 1970; 0 if the file is not applied.
  bool has_down = false;
  // For a half-applied file that runs without a transaction: how many of its statements have run.
  int steps_done = 0;
};

// A database to which files are applied, through one connection. migrate() calls prepare(), then for each file begin(),
// for_each_applied(), set_checksum() for rows with an old checksum, run(), record(), commit() and roll_back(), and
// finally finish(). If one of the calls from begin() to commit() fails, migrate() continues with roll_back() and
// finish(). For a file that runs without a transaction, migrate() calls run_step() outside of a transaction, instead of
// run(), until run_step() returns false.
class MigrationTarget {
 public:
  virtual ~MigrationTarget();

  // The name of the database in file names, such as "sqlite" or "postgres": files that are only for this database are
  // applied, too. If the name is empty, files that are only for one database are not applied.
  virtual std::string_view database() const;

  virtual Result<> prepare() = 0;
  virtual Result<> finish() = 0;

  // Begins a transaction that keeps other writers out, and creates the table keel_migrations if it does not exist.
  virtual Result<> begin() = 0;
  virtual Result<> commit() = 0;
  // Also succeeds if there is no transaction.
  virtual Result<> roll_back() = 0;

  // Calls `on_applied` for each row of the table, in order of version.
  using OnApplied = FunctionRef<void(int version, std::string_view name, std::string_view checksum)>;
  virtual Result<> for_each_applied(OnApplied on_applied) = 0;
  // Writes migration.checksum into the existing row of `migration`.
  virtual Result<> set_checksum(const Migration& migration) = 0;
  // Runs the file's statements. After an error, `line` is the line of the mistake in the file, counted from 1; it is 0
  // if the error is not about a line.
  virtual Result<> run(const Migration& migration, int& line) = 0;
  // Adds the migration to the table; `applied_at` is in seconds since 1970. Also removes the record of the statements
  // that have run (run_step()).
  virtual Result<> record(const Migration& migration, std::int64_t applied_at) = 0;

  // The functions below are optional: by default they return Unsupported.

  // Removes the migration from the table.
  virtual Result<> forget(const Migration& migration);
  // Returns the time at which the migration was applied, in seconds since 1970; 0 if it is unknown.
  virtual Result<std::int64_t> applied_at(const Migration& migration);
  // For a file that runs without a transaction: runs its next statement, and records that this statement has run.
  // Returns false if all statements have run, or another process has applied the file. FailedPrecondition: the file has
  // changed since its first statement ran.
  virtual Result<bool> run_step(const Migration& migration, int& line);
  // Returns how many statements of the migration have run. Call it between begin() and commit().
  virtual Result<int> steps_done(const Migration& migration);
};

// Applies the files up to number `last`; with 0, all files.
Result<Migrated> migrate(MigrationTarget& target, const std::string& folder, int last = 0);

// Undoes the last `count` applied files, the latest first; if fewer are applied, undoes all of them.
Result<Migrated> migrate_down(MigrationTarget& target, const std::string& folder, int count = 1);

// Undoes the last applied file and applies it again; the file may have changed since it was applied. The file is undone
// and applied in one transaction, so that after an error it is still applied in its old form. For a file that runs
// without a transaction, undoing and applying are separate: after an error the file is undone, and migrate() applies it
// again.
Result<Migrated> migrate_redo(MigrationTarget& target, const std::string& folder);

// Returns all files, in order. The database is not changed.
Result<std::vector<MigrationStatus>> migration_status(MigrationTarget& target, const std::string& folder);

// Returns the files of the folder that are for `database` ("sqlite", "postgres"), in order, without a connection to a
// database.
Result<std::vector<Migration>> read_migrations(const std::string& folder, std::string_view database);

// Checks the names of the files, without a connection to a database; returns the number of files.
Result<int> count_migrations(const std::string& folder);

// Creates the next file, NNNN_name.sql, and with `has_down` also NNNN_name.down.sql; returns the path of the .sql file.
// The folder is created if it does not exist. InvalidArgument: the name has characters other than a-z, 0-9 and '_'.
Result<std::string> new_migration(const std::string& folder, std::string_view name, bool has_down);

}  // namespace keel::db
