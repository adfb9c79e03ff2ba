// keel/db/migrations.h — the schema's history: `NNNN_name.sql` files, applied in order, each once.
//
// A folder holds 0001_users.sql, 0002_orders.sql, …, numbered from 1 without gaps. Each is applied in a transaction of
// its own under the data base's write lock, so that processes that start together do not meet, and is remembered with
// its checksum (64-bit FNV-1a) in the table keel_migrations(version, name, checksum, applied_at). A file that was
// applied is never edited: write the next one. Foreign keys are not enforced while a file runs, and all of them are
// checked before it is committed.
//
// Result:   how many were applied now, and the version reached.
// Errors:   FailedPrecondition: a file that was applied is missing or has changed, or the data base is newer than the
//           folder. InvalidArgument: a badly named file, a gap, a number used twice, wrong SQL ("0002_orders.sql:7:
//           near …"), transaction control or a pragma in a file. NotFound: no folder. What was committed before an
//           error stays.
// Threads:  the connection's. Blocks: call it before serving.

#pragma once

#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel::db {

namespace sqlite {
class Connection;
}

struct Migrated {
  int applied = 0;  // By this call.
  int version = 0;  // Reached.
};

Result<Migrated> migrate(sqlite::Connection& connection, const std::string& folder);

}  // namespace keel::db
