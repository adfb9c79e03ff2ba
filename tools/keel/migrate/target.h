// The database that `keel migrate` changes.
//
// Errors:  those of db/migrations.h, and of the database.
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

  // The name in messages: the file, or "app@db.example:5432/shop".
  virtual std::string name() const = 0;
  virtual bool exists() const = 0;

  // Creates the database if it is a file that does not exist.
  virtual Result<db::Migrated> up(const std::string& folder, int last) = 0;
  virtual Result<db::Migrated> down(const std::string& folder, int count) = 0;
  virtual Result<db::Migrated> redo(const std::string& folder) = 0;
  // If the database does not exist, the status is that of an empty database.
  virtual Result<std::vector<db::MigrationStatus>> status(const std::string& folder) = 0;

  // Applies all files to a temporary database, undoes the last ones that can be undone, and applies them again.
  virtual Result<> rehearse(const std::string& folder) = 0;
};

// `where`: a path, or a URL of PostgreSQL; if `is_postgres`, a URL or key=value pairs. `lock_max`: how long to wait for
// another process's lock. `has_pooler`: whether the URL is that of a pooler (postgres/database.h).
Result<std::unique_ptr<Target>> make_target(const std::string& where, bool is_postgres, Duration lock_max,
                                            bool has_pooler);

}  // namespace keel::migrate
