// Lets SQLite check a statement before the statement runs.

#pragma once

#include <memory>
#include <string>

#include "keel/base/result.h"
#include "sql/checker.h"

namespace keel::sql {

// Makes a checker with a database in memory, to which the files of `migrations` are applied. Fails with the error of
// db::migrate.
Result<std::unique_ptr<Checker>> make_sqlite_checker(const std::string& migrations);

}  // namespace keel::sql
