// The database that `keel migrate` changes.
//
// Errors:  the errors of db/migrations.h, and of the database.
// Threads: one. Blocks.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/db/migrations.h"

namespace keel::migrate {

class Target {
 public:
  virtual ~Target() = default;

  // The name of the database in messages: the path of the file, or "app@db.example:5432/shop".
  virtual std::string name() const = 0;
  virtual bool exists() const = 0;

  // If the database is a file and does not exist, creates it.
  virtual Result<db::Migrated> up(const std::string& folder, int last) = 0;
  virtual Result<db::Migrated> down(const std::string& folder, int count) = 0;
  virtual Result<db::Migrated> redo(const std::string& folder) = 0;
  // If the database does not exist, the status is that of an empty database.
  virtual Result<std::vector<db::MigrationStatus>> status(const std::string& folder) = 0;

  // Applies all files to a temporary database, undoes the last migrations as far as they can be undone, and applies
  // them again.
  virtual Result<> rehearse(const std::string& folder) = 0;
};

// If `is_postgres`, `where` is a URL or key=value pairs; otherwise, `where` is a path or a PostgreSQL URL. `lock_max`
// is the longest time to wait for another process's lock. `has_pooler` says whether the URL leads to a connection
// pooler (postgres/database.h).
Result<std::unique_ptr<Target>> make_target(const std::string& where, bool is_postgres, Duration lock_max,
                                            bool has_pooler);

}  // namespace keel::migrate
