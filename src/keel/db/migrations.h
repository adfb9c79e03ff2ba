// keel/db/migrations.h — the schema's history: `NNNN_name.sql` files, applied in order, each once.
//
// A folder holds 0001_users.sql, 0002_orders.sql, …, numbered from 1 without gaps. Each is applied in a transaction of
// its own under the database's write lock, so that processes that start together do not meet, and is remembered with
// its checksum in the table keel_migrations(version, name, checksum, applied_at). A file that was applied is never
// edited: write the next one. A back end takes files by implementing MigrationTarget.
//
// The checksum is SHA-256 in 64 hexadecimal digits. One of 16 digits is of an earlier version of this library (64-bit
// FNV-1a): a file that still has it is one that has not changed, and its row gets the new checksum.
//
// Result:   how many were applied now, and the version reached.
// Errors:   FailedPrecondition: a file that was applied is missing or has changed, or the database is newer than the
//           folder. InvalidArgument: a badly named file, a gap, a number used twice, wrong SQL ("0002_orders.sql:7:
//           near …"), transaction control or a pragma in a file. NotFound: no folder. What was committed before an
//           error stays.
// Threads:  the target's. Blocks: call it before serving.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/function.h"
#include "keel/base/result.h"

namespace keel::db {

struct Migrated {
  int applied = 0;  // By this call.
  int version = 0;  // Reached.
};

struct Migration {
  int version = 0;
  std::string name;  // The file's.
  std::string text;
  std::string checksum;  // SHA-256, in lower-case hexadecimal digits.
};

// A database that files are applied to, on one connection. migrate() calls prepare(), then for each file begin(),
// for_each_applied(), set_checksum() for rows that have an old one, run(), record(), commit() and roll_back(), and at
// last finish(). After an error of begin() to
// commit() it goes on with roll_back() and finish().
class MigrationTarget {
 public:
  virtual ~MigrationTarget();

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
  // Adds it to the table; `applied_at` is in seconds since 1970.
  virtual Result<> record(const Migration& migration, std::int64_t applied_at) = 0;
};

Result<Migrated> migrate(MigrationTarget& target, const std::string& folder);

}  // namespace keel::db
