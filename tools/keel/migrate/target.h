// The database that `keel migrate` works on.
//
// Errors: those of db/migrations.h, and of the database.  Threads: one. Blocks.

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

  // For messages: the file, or "app@db.example:5432/shop".
  virtual std::string name() const = 0;
  virtual bool exists() const = 0;

  // Makes a database that is a file and is not there.
  virtual Result<db::Migrated> up(const std::string& folder, int last) = 0;
  virtual Result<db::Migrated> down(const std::string& folder, int count) = 0;
  virtual Result<db::Migrated> redo(const std::string& folder) = 0;
  // As an empty database has it, where there is none.
  virtual Result<std::vector<db::MigrationStatus>> status(const std::string& folder) = 0;

  // Applies all files to another database, which is gone afterwards, undoes those at the end that can be undone, and
  // applies them again.
  virtual Result<> rehearse(const std::string& folder) = 0;
};

// `where`: a path, or a URL of PostgreSQL. `lock_max`: how long another process may keep it waiting.
Result<std::unique_ptr<Target>> make_target(const std::string& where, Duration lock_max);

}  // namespace keel::migrate
