// SQLite's check of a statement before it runs.

#pragma once

#include <memory>
#include <string>

#include "keel/base/result.h"
#include "sql/checker.h"

namespace keel::sql {

// A database in memory, with the files of `migrations` applied. The error is that of db::migrate.
Result<std::unique_ptr<Checker>> make_sqlite_checker(const std::string& migrations);

}  // namespace keel::sql
