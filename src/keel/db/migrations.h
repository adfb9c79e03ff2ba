// keel/db/migrations.h — the schema's history: `NNNN_name.sql` files, applied in order, each once.
//
// A folder holds 0001_users.sql, 0002_orders.sql, …, numbered from 1 without gaps. Each is applied in a transaction of
// its own under the database's write lock, so that processes that start together do not meet, and is remembered with
// its checksum in the table keel_migrations(version, name, checksum, applied_at). A file that was applied is never
// edited: write the next one. A back end takes files by implementing MigrationTarget.
//
// Beside 0002_orders.sql there may be 0002_orders.down.sql, which undoes it, in one transaction too. It has no
// checksum: it may be written and mended later.
//
// Where databases differ, 0001_users.postgres.sql is applied to PostgreSQL in the place of 0001_users.sql, and
// 0001_users.sqlite.sql to SQLite; 0001_users.postgres.down.sql undoes it. The number is there for each of them.
//
// A file whose first line is `-- keel: no transaction` runs one statement after the other, each in a transaction of its
// own with the note that it has run; one that takes none (`vacuum`) is noted behind it, and may run twice. A process
// that was killed leaves it half applied, and the next migrate() continues with the statement that is missing. Edited
// in between, it is rejected.
//
// The checksum is SHA-256 in 64 hexadecimal digits. One of 16 digits is of an earlier version of this library (64-bit
// FNV-1a): a file that still has it is one that has not changed, and its row gets the new checksum.
//
// Result:   how many were applied or undone now, and the version reached.
// Errors:   FailedPrecondition: a file that was applied is missing or has changed, or the database is newer than the
//           folder; a file that is to be undone has no .down.sql. InvalidArgument: a badly named file, a gap, a number
//           used twice, wrong SQL ("0002_orders.sql:7: near …"), transaction control or a pragma in a file. NotFound:
//           no folder. Unavailable: another process holds the lock for too long. Unsupported: what a back end has not.
//           Each names the files and what mends them. What was committed before an error stays.
// Threads:  the target's. Blocks: call it before serving.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"

namespace keel::db {

// What a call has done: the number of files, and the version that is reached.
struct Migrated {
  int applied = 0;  // By this call, or undone.
  int version = 0;  // Reached.
};

// A file of the folder: its number, name and text.
struct Migration {
  int version = 0;
  std::string name;  // The file's.
  std::string text;
  std::string checksum;         // SHA-256, in lower-case hexadecimal digits.
  std::string down_name;        // "0002_orders.down.sql"; empty: there is none.
  std::string down_text;        //
  bool has_transaction = true;  // False: it begins with `-- keel: no transaction`.
};

// A file, and whether it is applied.
struct MigrationStatus {
  int version = 0;
  std::string name;
  bool is_applied = false;
  std::int64_t applied_at = 0;  // In seconds since 1970; 0: not applied.
  bool has_down = false;
  int steps_done = 0;  // Of one without a transaction that is not applied: statements that have run.
};

// A database that files are applied to, on one connection. migrate() calls prepare(), then for each file begin(),
// for_each_applied(), set_checksum() for rows that have an old one, run(), record(), commit() and roll_back(), and at
// last finish(). After an error of begin() to
// commit() it goes on with roll_back() and finish(). Of a file without a transaction run_step() is called until it
// gives false, outside of a transaction, instead of run().
class MigrationTarget {
 public:
  virtual ~MigrationTarget();

  // "sqlite", "postgres": takes the files that are for this database alone. Empty: none of them.
  virtual std::string_view database() const;

  virtual Result<> prepare() = 0;
  virtual Result<> finish() = 0;

  // Begins a transaction that keeps other writers out, and makes the table keel_migrations when it is not there.
  virtual Result<> begin() = 0;
  virtual Result<> commit() = 0;
  // Success when there is no transaction.
  virtual Result<> roll_back() = 0;

  // What the table holds, in order of version.
  using OnApplied = FunctionRef<void(int version, std::string_view name, std::string_view checksum)>;
  virtual Result<> for_each_applied(OnApplied on_applied) = 0;
  // Replaces the checksum in the row of `migration`, which is in the table, by migration.checksum.
  virtual Result<> set_checksum(const Migration& migration) = 0;
  // Runs the file's statements. On an error `line` becomes the line, from 1, of the mistake; 0: the file's as a whole.
  virtual Result<> run(const Migration& migration, int& line) = 0;
  // Adds it to the table; `applied_at` is in seconds since 1970. Forgets its steps.
  virtual Result<> record(const Migration& migration, std::int64_t applied_at) = 0;

  // What follows may be missing in a back end: Unsupported.

  // Takes it out of the table.
  virtual Result<> forget(const Migration& migration);
  // 0: it is not known.
  virtual Result<std::int64_t> applied_at(const Migration& migration);
  // Runs the next statement of a file without a transaction, and notes that. False: all have run, or another process
  // has applied it. FailedPrecondition: the file has changed since its first statement ran.
  virtual Result<bool> run_step(const Migration& migration, int& line);
  // Within begin() and commit(): how many have run.
  virtual Result<int> steps_done(const Migration& migration);
};

// Applies the files up to number `last`; 0: all.
Result<Migrated> migrate(MigrationTarget& target, const std::string& folder, int last = 0);

// Undoes the last `count` files that were applied, the latest first; fewer when there are not so many.
Result<Migrated> migrate_down(MigrationTarget& target, const std::string& folder, int count = 1);

// Undoes the last file that was applied and applies it again; it may have changed meanwhile.
Result<Migrated> migrate_redo(MigrationTarget& target, const std::string& folder);

// All files, in order. The database is not changed.
Result<std::vector<MigrationStatus>> migration_status(MigrationTarget& target, const std::string& folder);

// The files of the folder that are for `database` ("sqlite", "postgres"), in order, without a database.
Result<std::vector<Migration>> read_migrations(const std::string& folder, std::string_view database);

// The files of the folder, without a database: how many there are, or what is wrong with their names.
Result<int> count_migrations(const std::string& folder);

// Makes the next file, NNNN_name.sql, and where `has_down` NNNN_name.down.sql, and gives its path. The folder is made
// when it is not there. InvalidArgument: a name that is not of a-z, 0-9 and '_'.
Result<std::string> new_migration(const std::string& folder, std::string_view name, bool has_down);

}  // namespace keel::db
