// keel/db/migrations.h — applies the migrations of a schema: `NNNN_name.sql` files, applied in order, each once.
//
// A folder holds 0001_users.sql, 0002_orders.sql, …, numbered from 1 without gaps. Each is applied in its own
// transaction under the database's write lock, so that processes that start at the same time do not collide, and is
// recorded with its checksum in the table keel_migrations(version, name, checksum, applied_at). Never edit a file that
// was applied: write the next one. A back end supports migrations by implementing MigrationTarget.
//
// Next to 0002_orders.sql there may be a 0002_orders.down.sql, which undoes 0002_orders.sql in one transaction. Its
// checksum is not recorded: the file may be added and corrected later.
//
// If databases differ, PostgreSQL gets 0001_users.postgres.sql instead of 0001_users.sql, and SQLite gets
// 0001_users.sqlite.sql; 0001_users.postgres.down.sql undoes the file for PostgreSQL. Every number must exist for each
// database.
//
// A file whose first line is `-- keel: no transaction` runs its statements one after the other, each in its own
// transaction together with the record that it has run; a statement that cannot be in a transaction (`vacuum`) is
// recorded after it has run, and may run twice. If the process is killed, the file is half applied, and the next
// migrate() continues with the next missing statement. If the file was edited between these runs, it is rejected.
//
// The checksum is SHA-256 in 64 hexadecimal digits. A checksum of 16 digits comes from an earlier version of this
// library (64-bit FNV-1a): if it still is the FNV-1a of the file, the file is unchanged, and its row gets the new
// checksum.
//
// Result:   the number of files that this call applied or undid, and the version reached.
// Errors:   FailedPrecondition: a file that was applied is missing or has changed, or the database is newer than the
//           folder; a file that is to be undone has no .down.sql. InvalidArgument: a badly named file, a gap, a number
//           used twice, wrong SQL ("0002_orders.sql:7: near …"), transaction control or a pragma in a file. NotFound:
//           no folder. Unavailable: another process holds the lock for too long. Unsupported: the back end does not
//           have the operation. Each error names the files and says how to fix the problem. Files committed before the
//           error stay applied.
// Threads:  as for the target. Blocks: call it before serving.

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
  int applied = 0;  // Files applied, or undone, by this call.
  int version = 0;  // The version reached.
};

// A file of the folder: its number, name and text.
struct Migration {
  int version = 0;
  std::string name;  // The part `name` of NNNN_name.sql.
  std::string text;
  std::string checksum;         // SHA-256, in lower-case hexadecimal digits.
  std::string down_name;        // "0002_orders.down.sql"; empty when there is none.
  std::string down_text;        //
  bool has_transaction = true;  // False if it begins with `-- keel: no transaction`.
};

// A file, and whether it has been applied.
struct MigrationStatus {
  int version = 0;
  std::string name;
  bool is_applied = false;
  std::int64_t applied_at = 0;  // Seconds since 1970; 0 if the file is not applied.
  bool has_down = false;
  // For a half-applied file without a transaction: the number of its statements that have run.
  int steps_done = 0;
};

// A database to which files are applied, on one connection. migrate() calls prepare(), then for each file begin(),
// for_each_applied(), set_checksum() for rows with an old one, run(), record(), commit() and roll_back(), and finally
// finish(). After an error in begin() to commit() it continues with roll_back() and finish(). For a file without a
// transaction it calls run_step(), outside of a transaction, until that returns false, instead of run().
class MigrationTarget {
 public:
  virtual ~MigrationTarget();

  // The name of the database, as "sqlite" or "postgres": files that are only for this database are used as well. Empty:
  // no such files are used.
  virtual std::string_view database() const;

  virtual Result<> prepare() = 0;
  virtual Result<> finish() = 0;

  // Begins a transaction that keeps other writers out, and creates the table keel_migrations if it does not exist.
  virtual Result<> begin() = 0;
  virtual Result<> commit() = 0;
  // Succeeds also when there is no transaction.
  virtual Result<> roll_back() = 0;

  // Reports the rows of the table, in order of version.
  using OnApplied = FunctionRef<void(int version, std::string_view name, std::string_view checksum)>;
  virtual Result<> for_each_applied(OnApplied on_applied) = 0;
  // Sets the checksum in the existing row of `migration` to migration.checksum.
  virtual Result<> set_checksum(const Migration& migration) = 0;
  // Runs the file's statements. After an error, `line` is the line of the mistake, counted from 1, or 0 if the error is
  // about the file as a whole.
  virtual Result<> run(const Migration& migration, int& line) = 0;
  // Adds the migration to the table; `applied_at` is in seconds since 1970. Also removes the record of its steps.
  virtual Result<> record(const Migration& migration, std::int64_t applied_at) = 0;

  // A back end need not override the functions below, which then return Unsupported.

  // Removes the migration from the table.
  virtual Result<> forget(const Migration& migration);
  // Returns 0 when the time is unknown.
  virtual Result<std::int64_t> applied_at(const Migration& migration);
  // Runs the next statement of a file without a transaction, and records that it has run. False: all statements have
  // run, or another process has applied the file. FailedPrecondition: the file has changed since its first statement
  // ran.
  virtual Result<bool> run_step(const Migration& migration, int& line);
  // Returns the number of the migration's statements that have run. Call it between begin() and commit().
  virtual Result<int> steps_done(const Migration& migration);
};

// Applies the files up to number `last`; with 0, all files.
Result<Migrated> migrate(MigrationTarget& target, const std::string& folder, int last = 0);

// Undoes the last `count` applied files, the latest first; if fewer are applied, all of them.
Result<Migrated> migrate_down(MigrationTarget& target, const std::string& folder, int count = 1);

// Undoes the last applied file and applies it again; the file may have changed since it was applied. Both happen in one
// transaction, so that after an error the file is still applied as it was. A file without a transaction is undone
// first; after an error migrate() applies it.
Result<Migrated> migrate_redo(MigrationTarget& target, const std::string& folder);

// All files, in order. The database is not changed.
Result<std::vector<MigrationStatus>> migration_status(MigrationTarget& target, const std::string& folder);

// The files of the folder that are for `database` ("sqlite", "postgres"), in order; needs no connection to a database.
Result<std::vector<Migration>> read_migrations(const std::string& folder, std::string_view database);

// Checks the names of the files, without a connection to a database: returns the number of files, or an error.
Result<int> count_migrations(const std::string& folder);

// Creates the next file, NNNN_name.sql, and with `has_down` also NNNN_name.down.sql, and returns the path of the first.
// The folder is created if it does not exist. InvalidArgument: the name has characters other than a-z, 0-9 and '_'.
Result<std::string> new_migration(const std::string& folder, std::string_view name, bool has_down);

}  // namespace keel::db
